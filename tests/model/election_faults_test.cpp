// SPDX-License-Identifier: Apache-2.0
// Faults at any moment of a proclamation and of a leader change. A value is never attributed to
// another leader, and the states of an observer never go back.
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/lock_world.h"

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
std::string wrong_result(const ProclaimResult& result, const std::optional<std::string>& written) {
  if (result.outcomes != 1) return "reported " + std::to_string(result.outcomes) + " times";
  if (result.code == Errc::outcome_unknown) return {};
  const bool is_there = written == result.value;
  if (!result.code && !is_there) return "reported as written, but was not";
  if (result.code && is_there) return "reported as not written, but was";
  return {};
}

class ElectionFaults : public ::testing::TestWithParam<Fault> {};

// The fault hits the leader's client at each moment of a proclamation.
TEST_P(ElectionFaults, FaultDuringProclaim_ReportsTrueOutcome) {
  for (std::size_t moment = 0; moment < 14; ++moment) {
    SCOPED_TRACE("at moment " + std::to_string(moment));
    ElectionWorld election;
    const Leadership first = election.leadership(0);
    election.proclaim(first, "a");
    for (std::size_t i = 0; i < moment; ++i) {
      const auto steps = election.world().steps();
      if (!steps.empty() && steps.front().kind != Step::Kind::timer) {
        election.world().run(steps.front());
      }
    }
    const auto before = election.written(first);
    inject(election.world(), 0, GetParam());
    election.world().run_all();
    // Checked while the znode exists. The znode is deleted with its session.
    if (const auto now = election.written(first); before || now) {
      const ProclaimResult& result = *election.results.back();
      if (result.outcomes > 0) {
        EXPECT_EQ(wrong_result(result, now ? now : before), "");
      }
    }
    repair(election.world(), 0);
    election.world().run_for(30s);
    const ProclaimResult& result = *election.results.back();
    EXPECT_EQ(result.outcomes, 1);
    EXPECT_EQ(election.violation, "");
    const std::size_t leads = election.leadership(0).state() == HoldState::held ? 0 : 1;
    const Leadership now = election.leadership(leads);
    ASSERT_EQ(now.state(), HoldState::held);
    EXPECT_EQ(election.leader_in_view(), now.token());
    if (now.token() == first.token()) {
      EXPECT_EQ(wrong_result(result, election.written(first)), "");
    }
    election.proclaim(now, "b");
    election.world().run_for(5s);
    EXPECT_EQ(election.results.back()->code, std::nullopt);
    EXPECT_EQ(election.view().proclaimed, "b");
  }
}

// The fault hits the observer's client at each moment of a change of leader.
TEST_P(ElectionFaults, FaultDuringLeaderChange_NextLeaderIsObserved) {
  for (std::size_t moment = 0; moment < 40; moment += 3) {
    SCOPED_TRACE("at moment " + std::to_string(moment));
    ElectionWorld election;
    election.proclaim(election.leadership(0), "a");
    election.world().run_for(1s);
    ASSERT_EQ(election.view().proclaimed, "a");
    election.world().expire(0);
    for (std::size_t i = 0; i < moment; ++i) {
      const auto steps = election.world().steps();
      if (!steps.empty() && steps.front().kind != Step::Kind::timer) {
        election.world().run(steps.front());
      }
    }
    inject(election.world(), ElectionWorld::kObserver, GetParam());
    election.world().run_for(1s);
    ASSERT_EQ(election.leadership(1).state(), HoldState::held);
    election.proclaim(election.leadership(1), "b");
    election.world().run_for(1s);
    repair(election.world(), ElectionWorld::kObserver);
    election.world().run_for(20s);
    EXPECT_EQ(election.leader_in_view(), election.leadership(1).token());
    EXPECT_EQ(election.view().proclaimed, "b");
    EXPECT_EQ(election.violation, "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, ElectionFaults, ::testing::ValuesIn(kFaults));

}  // namespace
}  // namespace zklock::model
