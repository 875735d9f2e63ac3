// SPDX-License-Identifier: Apache-2.0
// Leaders that proclaim values, and observers, on the simulated ensemble with faults at any moment.
// A value is never attributed to another leader, and an observer's states never go back.
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"
#include "zklock/core/proclamation.h"
#include "zklock/recipes/election/candidate.h"
#include "zklock/recipes/election/proclamation_writer.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using detail::QueueView;
using detail::Sight;
using Kind = OperationKind;

// A candidate that leads until its leadership is lost.
class TestCandidate final : public detail::Candidate {
 public:
  explicit TestCandidate(detail::ClientCore& core, bool until_finished = false)
      : Candidate(core, LockWorld::path,
                  {.again = true,
                   .until_finished = until_finished,
                   .retry_delay_min = 10ms,
                   .retry_delay_max = 20ms}) {}

 private:
  void began(const std::shared_ptr<detail::LeadershipState>&) noexcept override {}
  void ended(const std::shared_ptr<detail::LeadershipState>&) noexcept override {}
};

// The result of one proclamation.
struct Verdict {
  FencingToken leader;
  std::string value;
  int outcomes = 0;
  std::optional<Errc> code;
};

// Clients 0 and 1 are candidates. Client 2 observes.
class Polls {
 public:
  static constexpr std::size_t kObserver = 2;

  explicit Polls(Sight sight = Sight::leadership) : sight_(sight) {
    lock.connect_all();
    for (std::size_t c = 0; c < 2; ++c) {
      candidates.push_back(std::make_shared<TestCandidate>(lock.core(c)));
      candidates[c]->want();
      lock.world().run_all();
    }
    observe();
    lock.world().run_all();
  }
  ~Polls() {
    subscription.cancel();
    observer->stop();
    for (const auto& candidate : candidates) candidate->close();
    lock.world().run_all();
  }
  Polls(const Polls&) = delete;
  Polls& operator=(const Polls&) = delete;

  World& world() { return lock.world(); }
  SimEnsemble& ensemble() { return world().ensemble(); }
  Leadership leadership(std::size_t c) {
    const auto leadership_state = candidates[c]->leadership_state();
    return leadership_state ? leadership_state->leadership() : Leadership();
  }
  static std::string proclamation_writer(const Leadership& leader) {
    const std::string node = leader.node();
    const auto name = core::ZnodeName::parse(node.substr(node.rfind('/') + 1));
    return LockWorld::path + ("/" + core::proclamation_node(name->sequence));
  }

  // Has no effect if there is no leader.
  void proclaim(const Leadership& leader, const std::string& value,
                Deadline deadline = Deadline::never()) {
    const auto verdict =
        std::make_shared<Verdict>(Verdict{.leader = leader.token(), .value = value, .code = {}});
    verdicts.push_back(verdict);
    meant_.insert({leader.token().zxid, value});
    const auto told = [verdict](const std::exception_ptr& error) {
      ++verdict->outcomes;
      try {
        if (error) std::rethrow_exception(error);
      } catch (const Error& e) {
        verdict->code = e.errc();
      }
    };
    try {
      leader.async_proclaim(value, deadline, told);
    } catch (const Error& e) {
      ++verdict->outcomes;
      verdict->code = e.errc();
    }
  }

  const QueueView& view() const { return views.back(); }
  FencingToken leader_in_view() const {
    return views.empty() || view().holders.empty() ? FencingToken{} : view().holders.front().token;
  }
  // Returns the stored value of that leader.
  std::optional<std::string> written(const Leadership& leader) {
    const Node* const node = ensemble().find(proclamation_writer(leader));
    const auto said = node == nullptr ? std::nullopt : core::Proclamation::parse(node->data);
    if (!said || said->leader != leader.token()) return std::nullopt;
    return said->value;
  }
  void observe() {
    observer =
        std::make_shared<detail::QueueObserver>(lock.path_lock(kObserver), sight_, Executor());
    subscription = observer->add([this](const QueueView& each) {
      views.push_back(each);
      judge(each);
    });
  }

  LockWorld lock{3};
  std::vector<std::shared_ptr<TestCandidate>> candidates;
  std::shared_ptr<detail::QueueObserver> observer;
  Subscription subscription;
  std::vector<QueueView> views;
  std::vector<std::shared_ptr<Verdict>> verdicts;
  bool values_are_deleted = false;  // by hand
  std::string violation;            // of the promises to an observer

 private:
  void judge(const QueueView& each) {
    if (sight_ != Sight::leadership) return;
    if (each.holders.empty()) {
      if (each.proclaimed) violation = "a value of nobody";
      return;
    }
    const FencingToken leader = each.holders.front().token;
    if (leader < highest_) violation = "back to a former leader";
    if (leader == highest_ && said_ && !each.proclaimed && !values_are_deleted) {
      violation = "back to before the first value";
    }
    highest_ = leader;
    said_ = each.proclaimed.has_value();
    if (each.proclaimed && !meant_.contains({leader.zxid, *each.proclaimed})) {
      violation = "a value that this leader has not proclaimed: " + *each.proclaimed;
    }
  }

  const Sight sight_;
  FencingToken highest_;
  bool said_ = false;
  std::set<std::pair<std::int64_t, std::string>> meant_;
};

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

// ---- faults ------------------------------------------------------------------------------------

enum class Fault { drop, linger, expire, lose_reply, lose_request, isolate };
constexpr std::array<Fault, 6> kFaults{Fault::drop,       Fault::linger,       Fault::expire,
                                       Fault::lose_reply, Fault::lose_request, Fault::isolate};

void inject(World& world, std::size_t c, Fault fault) {
  switch (fault) {
    case Fault::drop: return world.disconnect(c);
    case Fault::linger: return world.disconnect(c, OnTheWay::linger);
    case Fault::expire: return world.expire(c);
    case Fault::lose_reply: return world.lose_reply(c);
    case Fault::lose_request: return world.lose_request(c);
    case Fault::isolate: return world.isolate(c);
  }
}

void repair(World& world, std::size_t c) {
  world.heal(c);
  world.reconnect(c);
}

// Returns what is wrong with the reported result, or an empty string.
std::string lie_of(const Verdict& verdict, const std::optional<std::string>& written) {
  if (verdict.outcomes != 1) return "told " + std::to_string(verdict.outcomes) + " times";
  if (verdict.code == Errc::outcome_unknown) return {};
  const bool is_there = written == verdict.value;
  if (!verdict.code && !is_there) return "told that it was written, and it was not";
  if (verdict.code && is_there) return "told that it was not written, and it was";
  return {};
}

class ElectionFaults : public ::testing::TestWithParam<Fault> {};

// The fault hits the leader's client at each moment of a proclamation.
TEST_P(ElectionFaults, FaultDuringProclaim_ReportsTrueOutcome) {
  for (std::size_t moment = 0; moment < 14; ++moment) {
    SCOPED_TRACE("at moment " + std::to_string(moment));
    Polls polls;
    const Leadership first = polls.leadership(0);
    polls.proclaim(first, "a");
    for (std::size_t i = 0; i < moment; ++i) {
      const auto steps = polls.world().steps();
      if (!steps.empty() && steps.front().kind != Step::Kind::timer) {
        polls.world().run(steps.front());
      }
    }
    const auto before = polls.written(first);
    inject(polls.world(), 0, GetParam());
    polls.world().run_all();
    // Checked while the znode exists. The znode is deleted with its session.
    if (const auto now = polls.written(first); before || now) {
      const Verdict& verdict = *polls.verdicts.back();
      if (verdict.outcomes > 0) {
        EXPECT_EQ(lie_of(verdict, now ? now : before), "");
      }
    }
    repair(polls.world(), 0);
    polls.world().run_for(30s);
    const Verdict& verdict = *polls.verdicts.back();
    EXPECT_EQ(verdict.outcomes, 1);
    EXPECT_EQ(polls.violation, "");
    const std::size_t leads = polls.leadership(0).state() == HoldState::held ? 0 : 1;
    const Leadership now = polls.leadership(leads);
    ASSERT_EQ(now.state(), HoldState::held);
    EXPECT_EQ(polls.leader_in_view(), now.token());
    if (now.token() == first.token()) {
      EXPECT_EQ(lie_of(verdict, polls.written(first)), "");
    }
    polls.proclaim(now, "b");
    polls.world().run_for(5s);
    EXPECT_EQ(polls.verdicts.back()->code, std::nullopt);
    EXPECT_EQ(polls.view().proclaimed, "b");
  }
}

// The fault hits the observer's client at each moment of a change of leader.
TEST_P(ElectionFaults, FaultDuringLeaderChange_NextLeaderIsObserved) {
  for (std::size_t moment = 0; moment < 40; moment += 3) {
    SCOPED_TRACE("at moment " + std::to_string(moment));
    Polls polls;
    polls.proclaim(polls.leadership(0), "a");
    polls.world().run_for(1s);
    ASSERT_EQ(polls.view().proclaimed, "a");
    polls.world().expire(0);
    for (std::size_t i = 0; i < moment; ++i) {
      const auto steps = polls.world().steps();
      if (!steps.empty() && steps.front().kind != Step::Kind::timer) {
        polls.world().run(steps.front());
      }
    }
    inject(polls.world(), Polls::kObserver, GetParam());
    polls.world().run_for(1s);
    ASSERT_EQ(polls.leadership(1).state(), HoldState::held);
    polls.proclaim(polls.leadership(1), "b");
    polls.world().run_for(1s);
    repair(polls.world(), Polls::kObserver);
    polls.world().run_for(20s);
    EXPECT_EQ(polls.leader_in_view(), polls.leadership(1).token());
    EXPECT_EQ(polls.view().proclaimed, "b");
    EXPECT_EQ(polls.violation, "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, ElectionFaults, ::testing::ValuesIn(kFaults));

TEST(ElectionModel, RandomEvents_LastValueIsObserved) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Polls polls;
    std::minstd_rand random(seed + 1);
    const auto below = [&](std::size_t n) { return random() % n; };
    for (int i = 0; i < 400; ++i) {
      const std::size_t c = below(3);
      switch (below(40)) {
        case 0: inject(polls.world(), c, kFaults[below(kFaults.size())]); break;
        case 1:
        case 2: repair(polls.world(), c); break;
        case 3:
        case 4: {
          const Leadership leader = polls.leadership(below(2));
          polls.proclaim(leader, std::to_string(i));
          break;
        }
        default: {
          const auto steps = polls.world().steps();
          if (!steps.empty()) polls.world().run(steps[below(steps.size())]);
        }
      }
      ASSERT_EQ(polls.violation, "");
    }
    // Pending faults can still lose replies. Repeat until none is left.
    std::size_t leads = 0;
    for (int round = 0; round < 25; ++round) {
      for (std::size_t c = 0; c < 3; ++c) repair(polls.world(), c);
      polls.world().run_for(10s);
      leads = polls.leadership(0).state() == HoldState::held ? 0 : 1;
      polls.proclaim(polls.leadership(leads), "last");
      for (std::size_t c = 0; c < 3; ++c) repair(polls.world(), c);
      polls.world().run_for(10s);
    }
    EXPECT_EQ(polls.verdicts.back()->code, std::nullopt);
    ASSERT_EQ(polls.violation, "");
    EXPECT_EQ(polls.leader_in_view(), polls.leadership(leads).token());
    EXPECT_EQ(polls.view().proclaimed, "last");
    for (const auto& verdict : polls.verdicts) ASSERT_EQ(verdict->outcomes, 1);
  }
}

TEST(ElectionModel, NewSessionOnLaggingServer_LeaderIsObserved) {
  Polls polls;
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(30s);  // no more heartbeats, which would catch up
  polls.world().client(Polls::kObserver).lag();
  polls.world().expire(0);
  polls.world().run_for(1s);
  polls.proclaim(polls.leadership(1), "b");
  polls.world().run_for(1s);
  ASSERT_EQ(polls.view().proclaimed, "a") << "its server lags";
  polls.world().expire(Polls::kObserver);
  polls.world().disconnect(Polls::kObserver);
  for (int i = 0; i < 3; ++i) {  // for the session's end, then a new session
    polls.world().reconnect(Polls::kObserver);
    polls.world().run_for(1s);
  }
  EXPECT_EQ(polls.leader_in_view(), polls.leadership(1).token());
  EXPECT_EQ(polls.view().proclaimed, "b");
}

// A recreated path reuses names. That can happen between a list and the reads of its znodes.
TEST(ElectionModel, ListedNameReused_IsNotMistakenForLeader) {
  Polls polls;
  polls.world().run_for(1s);
  polls.observer->stop();
  polls.views.clear();
  const std::string listed = polls.leadership(0).node();
  SimCoordinator& client = polls.world().client(Polls::kObserver);
  client.reset_counts();
  polls.observe();
  for (int i = 0; i < 50 && client.requests(Kind::get) == 0; ++i) {
    polls.world().run(polls.world().steps().front());
  }
  ASSERT_EQ(polls.ensemble().remove(listed), Status::ok);
  const std::string first =
      LockWorld::path +
      ("/" + core::ZnodeName::make("_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-", {0}).text);
  ASSERT_EQ(polls.ensemble().create(first), Status::ok);
  ASSERT_EQ(polls.ensemble().create(listed), Status::ok);
  const FencingToken newer{polls.ensemble().find(listed)->czxid};
  polls.world().run_for(1s);
  ASSERT_FALSE(polls.views.empty());
  for (const QueueView& view : polls.views) EXPECT_NE(view.holders.front().token, newer);
  EXPECT_EQ(polls.leader_in_view(), FencingToken{polls.ensemble().find(first)->czxid});
  EXPECT_EQ(polls.violation, "");
  for (const std::string& node : {listed, first}) {
    ASSERT_EQ(polls.ensemble().remove(node), Status::ok);
  }
  polls.world().run_for(1s);
}

TEST(ElectionModel, LaggingServer_FirstViewIsNotStale) {
  Polls polls;
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(30s);  // no more heartbeats, which would catch up
  polls.world().client(Polls::kObserver).lag();
  polls.proclaim(polls.leadership(0), "b");
  polls.world().run_for(1s);
  polls.observer->stop();
  polls.views.clear();
  polls.observe();
  polls.world().run_for(1s);
  ASSERT_EQ(polls.views.size(), 1U);
  EXPECT_EQ(polls.view().proclaimed, "b");
}

// ---- requests and cleanup ----------------------------------------------------------------------

TEST(ElectionModel, ContenderBehindLeader_CausesNoEvent) {
  Polls polls;
  const auto call = polls.lock.acquire(0);
  polls.world().run_for(1s);
  polls.lock.cancel(call);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.views.size(), 1U);
}

TEST(ElectionModel, ChangeAfterIdleTime_IsReportedAtOnce) {
  Polls polls(Sight::lock);
  polls.world().run_for(1s);
  const Instant before = polls.world().now();
  const auto name = polls.ensemble().create_sequential(LockWorld::path, "lock-");
  ASSERT_TRUE(name);
  polls.world().run_all();
  EXPECT_EQ(polls.world().now(), before);
  EXPECT_EQ(polls.view().waiting, 2U);
}

TEST(ElectionModel, ManyChanges_AtMostFiftyListsPerSecond) {
  for (const Sight sight : {Sight::lock, Sight::leadership}) {
    Polls polls(sight);
    polls.world().run_for(1s);
    SimCoordinator& observer = polls.world().client(Polls::kObserver);
    observer.reset_counts();
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(polls.ensemble().create_sequential(LockWorld::path, "lock-"));
      polls.world().run_for(1ms);
    }
    EXPECT_GE(observer.requests(Kind::list_and_watch), 49U);
    EXPECT_LE(observer.requests(Kind::list_and_watch), 51U);
    EXPECT_EQ(observer.requests(Kind::get), observer.requests(Kind::list_and_watch));
    polls.world().run_for(1s);
    if (sight == Sight::lock) {
      EXPECT_EQ(polls.view().waiting, 1001U);
    }
    EXPECT_LE(observer.requests(Kind::list_and_watch), 51U) << "and at rest not at all";
  }
}

TEST(ElectionModel, AllClosed_NothingIsLeft) {
  Polls polls;
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(1s);
  EXPECT_EQ(polls.world().client(Polls::kObserver).server_watches(), 2U);
  polls.proclaim(polls.leadership(0), "b");  // in flight during close()
  for (const auto& candidate : polls.candidates) candidate->close();
  polls.observer->stop();
  polls.world().run_for(2s);
  EXPECT_EQ(polls.verdicts.back()->outcomes, 1);
  EXPECT_EQ(polls.lock.violation_at_rest(), "");
  EXPECT_EQ(polls.ensemble().find(Polls::proclamation_writer(polls.leadership(0))), nullptr);
  EXPECT_EQ(polls.world().client(0).requests(Kind::remove), 0U) << "it goes with the leader's node";
}

TEST(ElectionModel, Resign_DeletesZnodesInOneTransaction) {
  for (const bool connection_breaks : {false, true}) {
    Polls polls;
    const Leadership leader = polls.leadership(0);
    polls.proclaim(leader, "a");
    polls.world().run_for(1s);
    polls.world().client(0).reset_counts();
    if (connection_breaks) polls.world().lose_reply(0);
    polls.candidates[0]->close();
    bool is_there = true;
    for (int i = 0; i < 200 && !polls.world().steps().empty(); ++i) {
      polls.world().run(polls.world().steps().front());
      is_there = polls.ensemble().find(leader.node()) != nullptr;
      ASSERT_EQ(polls.ensemble().find(Polls::proclamation_writer(leader)) != nullptr, is_there);
    }
    polls.world().run_for(1s);
    EXPECT_FALSE(is_there);
    EXPECT_EQ(polls.violation, "");
    EXPECT_EQ(polls.world().client(0).requests(Kind::get) > 0, connection_breaks) << "it looks";
    if (!connection_breaks) {
      EXPECT_EQ(polls.world().client(0).requests(Kind::transaction), 1U);
      EXPECT_EQ(polls.world().client(0).requests(Kind::remove), 0U);
    }
  }
}

// A repeated create of the value's znode can arrive after the leader's znode was to be deleted.
TEST(ElectionModel, ValueZnodeCreatedDuringResign_IsDeleted) {
  Polls polls;
  const Leadership leader = polls.leadership(0);
  const std::string proclamation_writer = Polls::proclamation_writer(leader);
  polls.proclaim(leader, "a");
  polls.world().run_for(1s);
  ASSERT_EQ(polls.ensemble().remove(proclamation_writer), Status::ok);
  polls.candidates[0]->close();
  const SimCoordinator& client = polls.world().client(0);
  const auto sent_alone = [&client] {
    return client.requests(Kind::remove) + client.requests(Kind::announce_and_delete);
  };
  for (int i = 0; i < 50 && sent_alone() == 0; ++i) {
    polls.world().run(polls.world().steps().front());
  }
  ASSERT_NE(polls.ensemble().find(leader.node()), nullptr) << "not with what is not there";
  ASSERT_EQ(polls.ensemble().create(proclamation_writer, {}, client.session()), Status::ok);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.ensemble().find(leader.node()), nullptr);
  EXPECT_EQ(polls.ensemble().find(proclamation_writer), nullptr);
}

// A check's reply concerns one znode only, not the znodes that are deleted with it.
TEST(ElectionModel, OutcomeUnknown_EachZnodeIsCheckedOnce) {
  Polls polls;
  const Leadership leader = polls.leadership(0);
  polls.proclaim(leader, "a");
  polls.world().run_for(1s);
  polls.world().client(0).reset_counts();
  polls.world().fail_next(0, Kind::transaction, Status::unknown, true);
  polls.candidates[0]->close();
  polls.world().run_all();
  EXPECT_EQ(polls.ensemble().find(leader.node()), nullptr);
  EXPECT_EQ(polls.ensemble().find(Polls::proclamation_writer(leader)), nullptr);
  EXPECT_EQ(polls.world().client(0).requests(Kind::check), 2U) << "of each node once";
}

// The path was recreated while the reply to a release was lost. The next leader's value has the old
// name. It is not deleted with the first leader's value.
TEST(ElectionModel, ValueOfOtherLeaderOfSameName_IsNotDeleted) {
  for (const bool by_hand : {false, true}) {
    SCOPED_TRACE(by_hand ? "by hand" : "a lost answer");
    Polls polls;
    const Leadership leader = polls.leadership(0);
    const std::string proclamation_writer = Polls::proclamation_writer(leader);
    polls.proclaim(leader, "a");
    polls.world().run_for(1s);
    if (by_hand) {
      ASSERT_EQ(polls.ensemble().remove(leader.node()), Status::ok);
      ASSERT_EQ(polls.ensemble().remove(proclamation_writer), Status::ok);
    } else {
      polls.world().lose_reply(0);
      polls.candidates[0]->close();
      polls.world().run({Step::Kind::serve, 0});
      ASSERT_EQ(polls.ensemble().find(leader.node()), nullptr);
    }
    const core::Proclamation next{{leader.token().zxid + 1000}, "another's"};
    ASSERT_EQ(polls.ensemble().create(proclamation_writer, next.encode()), Status::ok);
    polls.world().run_for(5s);
    const Node* const there = polls.ensemble().find(proclamation_writer);
    ASSERT_NE(there, nullptr);
    EXPECT_EQ(there->data, next.encode());
    ASSERT_EQ(polls.ensemble().remove(proclamation_writer), Status::ok);
  }
}

TEST(ElectionModel, LeaderZnodeDeletedByHand_ValueIsDeleted) {
  Polls polls;
  const Leadership leader = polls.leadership(0);
  polls.proclaim(leader, "a");
  polls.world().run_for(1s);
  ASSERT_EQ(polls.ensemble().remove(leader.node()), Status::ok);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.ensemble().find(Polls::proclamation_writer(leader)), nullptr);
}

}  // namespace
}  // namespace zklock::model
