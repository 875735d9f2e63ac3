// SPDX-License-Identifier: Apache-2.0
// Leaders that proclaim values, on the simulated ensemble.
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/lock_world.h"
#include "zklock/core/proclamation.h"
#include "zklock/recipes/election/candidate.h"
#include "zklock/recipes/election/proclamation_writer.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST(ElectionModel, Proclaim_IsTwoRequestsAndIsObserved) {
  Polls polls;
  ASSERT_EQ(polls.views.size(), 1U);
  EXPECT_EQ(polls.leader_in_view(), polls.leadership(0).token());
  EXPECT_EQ(polls.view().proclaimed, std::nullopt);
  polls.world().client(0).reset_counts();
  polls.proclaim(polls.leadership(0), "a");
  EXPECT_EQ(polls.world().client(0).requests(), 2U);
  EXPECT_EQ(polls.world().client(0).requests(Kind::transaction), 2U);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.verdicts.back()->outcomes, 1);
  EXPECT_EQ(polls.verdicts.back()->code, std::nullopt);
  ASSERT_EQ(polls.views.size(), 2U);
  EXPECT_EQ(polls.view().proclaimed, "a");
}

// withdraw() is called at each reading of the clock, as by another thread. After it nothing is sent.
TEST(ElectionModel, ValueAbandoned_IsNotSentLater) {
  int withdrawn = 0;
  for (int reading = 1; withdrawn + 1 == reading; ++reading) {
    Polls polls;
    auto& client = polls.world().client(0);
    auto& clock = polls.world().scheduler(0);
    std::weak_ptr<detail::PendingProclamation> proclaiming;
    std::size_t sent = 0;
    int readings = 0;
    clock.when_read = [&] {
      const auto alive = proclaiming.lock();
      if (!alive || ++readings != reading) return;
      ++withdrawn;
      alive->withdraw();
      sent = client.requests(Kind::transaction);
    };
    // The create and the write fail, so both are sent again.
    polls.world().fail_next(0, Kind::transaction, Status::unknown);
    proclaiming = detail::PendingProclamation::start(
        polls.candidates[0]->leadership_state()->proclamation_writer("proclaim"), "a",
        Deadline::never(), [](auto) {});
    polls.world().run_all();
    clock.when_read = nullptr;
    if (withdrawn == reading) {
      EXPECT_EQ(client.requests(Kind::transaction), sent) << "reading " << reading;
    }
  }
  EXPECT_GT(withdrawn, 3);
}

// The function of the election is still running, so the znode stays.
TEST(ElectionModel, EndedDuringFunction_ReportsLoss) {
  using Ending = void (*)(TestCandidate&);
  for (const Ending end : {Ending([](TestCandidate& c) { c.interrupt(); }),
                           Ending([](TestCandidate& c) { c.withdraw(); }),
                           Ending([](TestCandidate& c) { c.close(); })}) {
    LockWorld lock{1};
    lock.connect_all();
    const auto candidate = std::make_shared<TestCandidate>(lock.core(0), true);
    candidate->want();
    lock.world().run_all();
    const auto leadership_state = candidate->leadership_state();
    ASSERT_NE(leadership_state, nullptr);
    const Leadership leadership = leadership_state->leadership();
    ASSERT_EQ(leadership.state(), HoldState::held);
    // The stop callback sees a leadership that has ended.
    std::optional<HoldState> when_told;
    const std::stop_callback on_end(leadership.end_token(),
                                    [&] { when_told = leadership.state(); });

    end(*candidate);
    EXPECT_TRUE(leadership.end_token().stop_requested());
    EXPECT_EQ(when_told, HoldState::lost);
    EXPECT_EQ(leadership.state(), HoldState::lost);
    EXPECT_EQ(leadership.valid_until(), LeaseClock::time_point::min());
    std::optional<Errc> refused;
    try {
      leadership.async_proclaim("late", [](const std::exception_ptr&) {});
    } catch (const Error& e) {
      refused = e.errc();
    }
    EXPECT_EQ(refused, Errc::lock_lost);
    EXPECT_NE(lock.world().ensemble().find(leadership.node()), nullptr) << "the function runs";

    candidate->close();
    candidate->finished(leadership_state->number(), false);
    lock.world().run_all();
    EXPECT_EQ(lock.world().ensemble().find(leadership.node()), nullptr);
  }
}

TEST(ElectionModel, SeveralValues_AreWrittenInCallOrder) {
  Polls polls;
  polls.proclaim(polls.leadership(0), "a");
  polls.proclaim(polls.leadership(0), "b");
  for (int i = 0; i < 3; ++i) polls.world().run({Step::Kind::serve, 0});
  for (int i = 0; i < 20 && polls.verdicts.front()->outcomes == 0; ++i) {
    polls.world().run({Step::Kind::receive, 0});
    polls.world().run({Step::Kind::task, 0});
  }
  polls.proclaim(polls.leadership(0), "c");  // before the reply to "b"
  polls.world().run_all();
  for (const auto& verdict : polls.verdicts) {
    EXPECT_EQ(verdict->outcomes, 1);
    EXPECT_EQ(verdict->code, std::nullopt) << verdict->value;
  }
  EXPECT_EQ(polls.written(polls.leadership(0)), "c");
}

TEST(ElectionModel, LeaderUnawareOfLoss_ProclaimIsRefused) {
  for (const bool said_before : {false, true}) {
    Polls polls;
    const Leadership stale = polls.leadership(0);
    if (said_before) polls.proclaim(stale, "a");
    polls.world().run_all();
    ASSERT_EQ(polls.ensemble().remove(stale.node()), Status::ok);
    ASSERT_EQ(stale.state(), HoldState::held) << "nobody has told it";
    polls.proclaim(stale, "late");
    polls.world().run({Step::Kind::serve, 0});
    polls.world().run({Step::Kind::serve, 0});
    EXPECT_EQ(polls.written(stale), said_before ? std::optional<std::string>("a") : std::nullopt);
    polls.world().run_for(1s);
    EXPECT_EQ(polls.verdicts.back()->code, Errc::lock_lost);
    EXPECT_EQ(polls.leader_in_view(), polls.leadership(1).token());
    EXPECT_EQ(polls.view().proclaimed, std::nullopt);
    EXPECT_EQ(polls.violation, "");
    EXPECT_EQ(polls.ensemble().find(Polls::proclamation_writer(stale)), nullptr)
        << "it is cleared away";
  }
}

// The sequence numbers restart with the path. So the value of another leader can have the name that
// this leader's value would have.
TEST(ElectionModel, ValueOfOtherToken_IsIgnored) {
  Polls polls;
  const Leadership leader = polls.leadership(0);
  const core::Proclamation forged{{leader.token().zxid - 1}, "old"};
  ASSERT_EQ(polls.ensemble().create(Polls::proclamation_writer(leader), forged.encode()),
            Status::ok);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.leader_in_view(), leader.token());
  EXPECT_EQ(polls.view().proclaimed, std::nullopt);
  polls.proclaim(leader, "new");
  polls.world().run_for(1s);
  EXPECT_EQ(polls.verdicts.back()->code, std::nullopt);
  EXPECT_EQ(polls.view().proclaimed, "new");
}

TEST(ElectionModel, UnreadableValue_IsNotReportedAsNone) {
  Polls polls;
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(1s);
  polls.world().fail_next(Polls::kObserver, Kind::get_and_watch, Status::no_auth);
  polls.world().fail_next(Polls::kObserver, Kind::exists_and_watch, Status::no_auth);
  polls.proclaim(polls.leadership(0), "b");
  polls.world().run_for(1s);
  ASSERT_EQ(polls.views.size(), 3U);
  EXPECT_EQ(polls.views[1].proclaimed, "a");
  EXPECT_EQ(polls.views[2].proclaimed, "b") << "when it can be read again";
}

TEST(ElectionModel, UnreadableValueOfNewLeader_LeaderIsReported) {
  Polls polls;
  polls.world().run_for(1s);
  polls.observer->stop();
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(1s);
  polls.views.clear();
  polls.world().fail_next(Polls::kObserver, Kind::get_and_watch, Status::no_auth);
  polls.world().fail_next(Polls::kObserver, Kind::exists_and_watch, Status::no_auth);
  polls.observe();
  polls.world().run_for(1s);
  ASSERT_EQ(polls.views.size(), 2U);
  EXPECT_EQ(polls.views[0].holders.front().token, polls.leadership(0).token());
  EXPECT_EQ(polls.views[0].proclaimed, std::nullopt);
  EXPECT_EQ(polls.views[1].proclaimed, "a");
}

// The counter is beyond its end; see core::Sequence.
TEST(ElectionModel, NegativeSequenceNumber_DoesNotLead) {
  Polls polls;
  const std::string stray = core::ZnodeName::make("lock-", {-2'147'483'000}).text;
  ASSERT_EQ(polls.ensemble().create(LockWorld::path + ("/" + stray)), Status::ok);
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(1s);
  EXPECT_EQ(polls.leader_in_view(), polls.leadership(0).token());
  EXPECT_EQ(polls.view().proclaimed, "a");
  EXPECT_EQ(polls.violation, "");
  ASSERT_EQ(polls.ensemble().remove(LockWorld::path + ("/" + stray)), Status::ok);
  polls.world().run_for(1s);
}

TEST(ElectionModel, ValueDeletedByHand_IsWrittenAgain) {
  Polls polls;
  polls.values_are_deleted = true;
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(1s);
  ASSERT_EQ(polls.ensemble().remove(Polls::proclamation_writer(polls.leadership(0))), Status::ok);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.view().proclaimed, std::nullopt);
  polls.proclaim(polls.leadership(0), "b");
  polls.world().run_for(1s);
  EXPECT_EQ(polls.verdicts.back()->code, std::nullopt);
  EXPECT_EQ(polls.view().proclaimed, "b");

  polls.proclaim(polls.leadership(0), "c");
  polls.world().run({Step::Kind::serve, 0});  // the reply says that the znode exists
  ASSERT_EQ(polls.ensemble().remove(Polls::proclamation_writer(polls.leadership(0))), Status::ok);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.verdicts.back()->code, std::nullopt);
  EXPECT_EQ(polls.view().proclaimed, "c");
}

}  // namespace
}  // namespace zklock::model
