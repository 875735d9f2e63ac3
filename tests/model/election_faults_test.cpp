// SPDX-License-Identifier: Apache-2.0
// Faults at any moment of a proclamation and of a leader change. A value is never attributed to
// another leader, and the states of an observer never go back.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/lock_world.h"
#include "zklock/recipes/election/candidate.h"
#include "zklock/recipes/election/proclamation_writer.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

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

}  // namespace
}  // namespace zklock::model
