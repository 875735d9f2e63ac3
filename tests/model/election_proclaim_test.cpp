// SPDX-License-Identifier: Apache-2.0
// Values that leaders proclaim, and the end of a leadership, with faults.
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/faults.h"
#include "zklock/core/child_nodes.h"
#include "zklock/recipes/election/leadership_state.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

// The create of the first call is lost, so its value is not written. A second attempt of it would
// replace the later value.
TEST(ElectionModel, LaterValueWritten_EarlierIsNotSentAgain) {
  ElectionWorld election;
  election.world().fail_next(0, Kind::transaction, Status::unknown);
  election.proclaim(election.leadership(0), "a");
  election.proclaim(election.leadership(0), "b");
  election.world().run_for(1s);
  ASSERT_EQ(election.results.size(), 2U);
  EXPECT_EQ(election.results.front()->code, Errc::no_node);
  EXPECT_EQ(election.results.back()->code, std::nullopt);
  EXPECT_EQ(election.view().proclaimed, "b");
}

/// Returns the difference between the reported result and the stored value; empty if none.
std::string wrong_result(const ProclaimResult& result, const std::optional<std::string>& written) {
  if (result.outcomes != 1) return "reported " + std::to_string(result.outcomes) + " times";
  if (result.code == Errc::outcome_unknown) return {};
  const bool is_there = written == result.value;
  if (!result.code && !is_there) return "reported as written, but was not";
  if (result.code && is_there) return "reported as not written, but was";
  return {};
}

// The fault hits the leader's client after each number of steps of a proclamation.
TEST(ElectionModel, FaultDuringProclaim_ReportsTrueOutcome) {
  std::size_t retained = 0;
  std::size_t changed = 0;
  for (const auto& [name, fault] : faults_and({
           {"lost request", [](World& w) { w.lose_request(0); }},
           {"lost reply", [](World& w) { w.lose_reply(0); }},
       })) {
    for (int steps = 0; steps < 14; ++steps) {
      SCOPED_TRACE(std::string(name) + " after step " + std::to_string(steps));
      ElectionWorld election;
      const Leadership first = election.leadership(0);
      election.proclaim(first, "a");
      for (int i = 0; i < steps; ++i) {
        const auto next = election.world().steps().front();
        if (next.kind != Step::Kind::timer) election.world().run(next);
      }
      const auto before = election.written(first);
      fault(election.world());
      election.world().run_all();
      const ProclaimResult& result = *election.results.back();
      // The znode is deleted with the session. So the value is known only while the znode exists.
      const auto after = election.written(first);
      if (result.outcomes > 0 && (before || after)) {
        EXPECT_EQ(wrong_result(result, after ? after : before), "");
      }
      election.lock.connect_all();
      election.world().run_for(30s);
      EXPECT_EQ(result.outcomes, 1);
      EXPECT_EQ(election.violation, "");

      const bool is_first = election.leadership(0).state() == HoldState::held;
      const Leadership now = election.leadership(is_first ? 0 : 1);
      ASSERT_EQ(now.state(), HoldState::held);
      EXPECT_EQ(election.leader_in_view(), now.token());
      ++(now.token() == first.token() ? retained : changed);
      if (now.token() == first.token()) {
        EXPECT_EQ(wrong_result(result, election.written(first)), "");
      }
      election.proclaim(now, "b");
      election.world().run_for(5s);
      EXPECT_EQ(election.results.back()->code, std::nullopt);
      EXPECT_EQ(election.view().proclaimed, "b");
    }
  }
  EXPECT_GT(retained, 50U);
  EXPECT_GT(changed, 50U);
}

// withdraw() is called after each number of steps. After it nothing is sent.
TEST(ElectionModel, ValueAbandoned_IsNotSentLater) {
  int withdrawn = 0;
  for (int steps = 0; withdrawn == steps; ++steps) {
    ElectionWorld election;
    const auto& client = election.world().client(0);
    // The create and the write fail, so both are sent again.
    election.world().fail_next(0, Kind::transaction, Status::unknown);
    const auto leadership = election.candidates[0]->leadership_state();
    const std::weak_ptr<detail::PendingProclamation> proclaiming =
        detail::PendingProclamation::start(leadership->leader("proclaim"), leadership, "a",
                                           Deadline::never(), [](auto) {});
    for (int left = steps; left > 0; --left) election.world().run_one();
    const auto alive = proclaiming.lock();
    if (!alive) break;
    ++withdrawn;
    alive->withdraw();
    const std::size_t sent = client.requests(Kind::transaction);
    election.world().run_all();
    EXPECT_EQ(client.requests(Kind::transaction), sent) << "after " << steps << " steps";
  }
  EXPECT_GT(withdrawn, 3);
}

/// Returns the code of the Error that `call` throws.
template <class Call>
std::optional<Errc> thrown_by(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.errc();
  }
  return std::nullopt;
}

/// Expects that both forms of async_proclaim() report the end of the leadership, and send nothing.
void expect_refused(LockWorld& lock, const Leadership& leadership) {
  const std::size_t sent = lock.world().client(0).requests(Kind::transaction);
  std::optional<Errc> refused;
  leadership.async_proclaim("late", [&](const std::exception_ptr& error) {
    refused = thrown_by([&] { std::rethrow_exception(error); });
  });
  EXPECT_EQ(refused, std::nullopt) << "the executor calls the handler";
  auto future = leadership.async_proclaim("late");
  lock.world().run_all();
  EXPECT_EQ(refused, Errc::lock_lost);
  EXPECT_EQ(thrown_by([&] { future.get(); }), Errc::lock_lost);
  EXPECT_EQ(lock.world().client(0).requests(Kind::transaction), sent);
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
    candidate->contend();
    lock.world().run_all();
    const auto leadership_state = candidate->leadership_state();
    ASSERT_NE(leadership_state, nullptr);
    const Leadership leadership = leadership_state->leadership();
    ASSERT_EQ(leadership.state(), HoldState::held);
    // The stop callback sees a leadership that has ended.
    std::optional<HoldState> when_notified;
    const std::stop_callback on_end(leadership.end_token(),
                                    [&] { when_notified = leadership.state(); });

    end(*candidate);
    EXPECT_TRUE(leadership.end_token().stop_requested());
    EXPECT_EQ(when_notified, HoldState::lost);
    EXPECT_EQ(leadership.state(), HoldState::lost);
    EXPECT_EQ(leadership.valid_until(), LeaseClock::time_point::min());
    expect_refused(lock, leadership);
    EXPECT_NE(lock.world().ensemble().find(leadership.node()), nullptr) << "the function runs";

    candidate->close();
    candidate->finished(leadership_state->attempt(), core::LeaderEnd::returned);
    lock.world().run_all();
    EXPECT_EQ(lock.world().ensemble().find(leadership.node()), nullptr);
    expect_refused(lock, leadership);
    lock.core(0).close();
    EXPECT_EQ(thrown_by([&] { leadership.async_proclaim("late", [](const auto&) {}); }),
              Errc::closed)
        << "no thread can call the handler";
  }
}

TEST(ElectionModel, UnreadableValue_IsNotReportedAsNone) {
  ElectionWorld election;
  election.proclaimed_by_leader("a");
  election.world().fail_next(ElectionWorld::kObserver, Kind::get_and_watch, Status::no_auth);
  election.world().fail_next(ElectionWorld::kObserver, Kind::exists_and_watch, Status::no_auth);
  election.proclaim(election.leadership(0), "b");
  election.world().run_for(1s);
  ASSERT_EQ(election.views.size(), 3U);
  EXPECT_EQ(election.views[1].proclaimed, "a");
  EXPECT_EQ(election.views[2].proclaimed, "b") << "when it can be read again";
}

TEST(ElectionModel, ValueDeletedByHand_IsWrittenAgain) {
  ElectionWorld election;
  election.values_are_deleted = true;
  election.proclaimed_by_leader("a");
  ASSERT_EQ(election.ensemble().remove(ElectionWorld::proclaimed_node(election.leadership(0))),
            Status::ok);
  election.world().run_for(1s);
  EXPECT_EQ(election.view().proclaimed, std::nullopt);
  election.proclaim(election.leadership(0), "b");
  election.world().run_for(1s);
  EXPECT_EQ(election.results.back()->code, std::nullopt);
  EXPECT_EQ(election.view().proclaimed, "b");

  election.proclaim(election.leadership(0), "c");
  election.world().run({Step::Kind::serve, 0});  // the reply says that the znode exists
  ASSERT_EQ(election.ensemble().remove(ElectionWorld::proclaimed_node(election.leadership(0))),
            Status::ok);
  election.world().run_for(1s);
  EXPECT_EQ(election.results.back()->code, std::nullopt);
  EXPECT_EQ(election.view().proclaimed, "c");
}

TEST(ElectionModel, AllClosed_NothingIsLeft) {
  ElectionWorld election;
  election.proclaimed_by_leader("a");
  EXPECT_EQ(election.world().client(ElectionWorld::kObserver).server_watches(), 2U);
  election.proclaim(election.leadership(0), "b");  // in flight during close()
  for (const auto& candidate : election.candidates) candidate->close();
  election.observer->stop();
  election.world().run_for(2s);
  EXPECT_EQ(election.results.back()->outcomes, 1);
  EXPECT_EQ(election.lock.violation_at_rest(), "");
  EXPECT_EQ(election.ensemble().find(ElectionWorld::proclaimed_node(election.leadership(0))),
            nullptr);
  EXPECT_EQ(election.world().client(0).requests(Kind::remove), 0U)
      << "it goes with the leader's node";
}

TEST(ElectionModel, Resign_DeletesZnodesInOneTransaction) {
  for (const bool connection_breaks : {false, true}) {
    ElectionWorld election;
    const Leadership leader = election.proclaimed_by_leader("a");
    election.world().client(0).reset_counts();
    if (connection_breaks) election.world().lose_reply(0);
    election.candidates[0]->close();
    bool is_there = true;
    for (int i = 0; i < 200 && !election.world().steps().empty(); ++i) {
      election.world().run(election.world().steps().front());
      is_there = election.ensemble().find(leader.node()) != nullptr;
      ASSERT_EQ(election.ensemble().find(ElectionWorld::proclaimed_node(leader)) != nullptr,
                is_there);
    }
    election.world().run_for(1s);
    EXPECT_FALSE(is_there);
    EXPECT_EQ(election.violation, "");
    EXPECT_EQ(election.world().client(0).requests(Kind::get) > 0, connection_breaks) << "it looks";
    if (!connection_breaks) {
      EXPECT_EQ(election.world().client(0).requests(Kind::transaction), 1U);
      EXPECT_EQ(election.world().client(0).requests(Kind::remove), 0U);
    }
  }
}

// A repeated create of the value's znode can arrive after the leader's znode was to be deleted.
TEST(ElectionModel, ValueZnodeCreatedDuringResign_IsDeleted) {
  ElectionWorld election;
  const Leadership leader = election.proclaimed_by_leader("a");
  const std::string proclamation_writer = ElectionWorld::proclaimed_node(leader);
  ASSERT_EQ(election.ensemble().remove(proclamation_writer), Status::ok);
  election.candidates[0]->close();
  const SimCoordinator& client = election.world().client(0);
  const auto sent_alone = [&client] {
    return client.requests(Kind::remove) + client.requests(Kind::announce_and_delete);
  };
  for (int i = 0; i < 50 && sent_alone() == 0; ++i) {
    election.world().run(election.world().steps().front());
  }
  ASSERT_NE(election.ensemble().find(leader.node()), nullptr) << "not with what is not there";
  ASSERT_EQ(election.ensemble().create(proclamation_writer, {}, client.session()), Status::ok);
  election.world().run_for(1s);
  EXPECT_EQ(election.ensemble().find(leader.node()), nullptr);
  EXPECT_EQ(election.ensemble().find(proclamation_writer), nullptr);
}

// The path was recreated while the reply to a release was lost. The next leader's value has the old
// name. It is not deleted with the first leader's value.
TEST(ElectionModel, ValueOfOtherLeaderOfSameName_IsNotDeleted) {
  for (const bool by_hand : {false, true}) {
    SCOPED_TRACE(by_hand ? "by hand" : "a lost answer");
    ElectionWorld election;
    const Leadership leader = election.proclaimed_by_leader("a");
    const std::string proclamation_writer = ElectionWorld::proclaimed_node(leader);
    if (by_hand) {
      ASSERT_EQ(election.ensemble().remove(leader.node()), Status::ok);
      ASSERT_EQ(election.ensemble().remove(proclamation_writer), Status::ok);
    } else {
      election.world().lose_reply(0);
      election.candidates[0]->close();
      election.world().run({Step::Kind::serve, 0});
      ASSERT_EQ(election.ensemble().find(leader.node()), nullptr);
    }
    const core::Proclamation next{{leader.token().zxid + 1000}, "another's"};
    ASSERT_EQ(election.ensemble().create(proclamation_writer, next.encode()), Status::ok);
    election.world().run_for(5s);
    const Node* const there = election.ensemble().find(proclamation_writer);
    ASSERT_NE(there, nullptr);
    EXPECT_EQ(there->data, next.encode());
    ASSERT_EQ(election.ensemble().remove(proclamation_writer), Status::ok);
  }
}

}  // namespace
}  // namespace zklock::model
