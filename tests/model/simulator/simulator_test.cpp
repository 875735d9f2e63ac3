// SPDX-License-Identifier: Apache-2.0
// Tests of the simulator: runs are repeatable, plans can be written and shrunk, and known failures
// stay fixed.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/simulator/planner.h"
#include "tests/model/simulator/run.h"
#include "tests/model/simulator/shrink.h"

namespace zklock::simulator {
namespace {

using model::Event;

std::vector<std::string> history_of(const Plan& plan) {
  std::vector<std::string> lines;
  static_cast<void>(run(plan, [&](const std::string& line) { lines.push_back(line); }));
  return lines;
}

std::string violation_of(const Plan& plan) {
  const auto violation = run(plan).violation;
  return violation ? violation->invariant + ": " + violation->text : std::string();
}

TEST(Simulator, SameSeed_GivesSameHistory) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Plan plan = make_plan(seed);
    EXPECT_EQ(plan, make_plan(seed));
    EXPECT_EQ(history_of(plan), history_of(plan)) << "seed " << seed;
  }
}

TEST(Simulator, PlanAsText_ParsesToSamePlan) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Plan plan = make_plan(seed);
    const auto read = parse_plan(to_text(plan));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, plan);
  }
  EXPECT_FALSE(parse_plan("step at=1 act=no number"));
  EXPECT_FALSE(parse_plan("step colour=3"));
  EXPECT_FALSE(parse_plan("nonsense"));
  EXPECT_FALSE(parse_plan("object kind=300")) << "there is no such class";
  EXPECT_FALSE(parse_plan("setup slots=0"));
}

TEST(Simulator, FailingPlan_ShrinksToMinimum) {
  const Plan plan = make_plan(7);
  ASSERT_GT(plan.steps.size(), 4U);
  const std::vector<PlanStep> needed{plan.steps[1], plan.steps[4]};
  const auto fails = [&](const Plan& less) {
    std::size_t found = 0;
    for (const PlanStep& step : less.steps) found += step.at == needed[found % 2].at ? 1U : 0U;
    return found >= 2;
  };
  const Plan least = shrink(plan, fails);
  ASSERT_EQ(least.steps.size(), 2U);
  EXPECT_EQ(least.steps[0].at, needed[0].at);
  EXPECT_EQ(least.steps[1].at, needed[1].at);
}

Tally run_seeds(std::uint64_t last) {
  Tally sum;
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    const auto one = run(make_plan(seed));
    if (one.violation) {
      ADD_FAILURE() << "seed " << seed << ": " << one.violation->invariant << ": "
                    << one.violation->text;
      break;
    }
    sum.add(one.tally);
  }
  return sum;
}

TEST(Simulator, RandomSeeds_InvariantsHold) {
  EXPECT_GT(run_seeds(150).grants, 1'000U);
}

// With the label walk.
TEST(SimulatorWalk, RandomSeeds_MeetEveryFault) {
  const Tally sum = run_seeds(5'000);
  EXPECT_GT(sum.grants, 10'000U);
  EXPECT_GT(sum.losses, 500U);
  EXPECT_GT(sum.stale_refused, 100U);
  EXPECT_GT(sum.guarded, 100U);
  for (std::size_t i = 0; i < kFaultClasses; ++i) {
    EXPECT_GT(sum.faults[i], 0U) << name_of(static_cast<Fault>(i));
  }
}

TEST(Simulator, LossWithoutCause_IsDetected) {
  Plan plan;
  plan.steps = {{.act = Act::lead}, {.act = Act::resign}};
  const auto is_excused = [&](const History& history) {
    return !lost_without_cause(plan, history);
  };
  const Event granted{.kind = Event::Kind::granted, .hold = 1};
  const Event notified{.kind = Event::Kind::notified, .hold = 1};
  EXPECT_FALSE(is_excused({granted, notified}));
  EXPECT_FALSE(is_excused({granted, {.kind = Event::Kind::released, .hold = 1}, notified}));
  EXPECT_FALSE(is_excused({granted, {.kind = Event::Kind::resigned, .hold = 2}, notified}));
  EXPECT_FALSE(is_excused({granted, notified, {.kind = Event::Kind::resigned, .hold = 1}}));
  EXPECT_TRUE(is_excused({granted, {.kind = Event::Kind::resigned, .hold = 1}, notified}));
  EXPECT_TRUE(is_excused({granted, {.kind = Event::Kind::healed}, notified}));
}

// ---- known failures -----------------------------------------------------------------------------

Plan plan_of(const std::string& text) {
  const auto plan = parse_plan(text);
  EXPECT_TRUE(plan);
  return plan.value_or(Plan{});
}

// A contender of the client got a negative sequence number. The holder was then notified that its
// path had been recreated, and its znode was left.
TEST(Simulator, NegativeSequenceNumber_HolderIsNotLost) {
  EXPECT_EQ(violation_of(plan_of(R"(
seed 181
setup ensembles=3 latency_us=2000
object kind=6
step at=4515790 slot=1 owner=1 hold=4320000 ending=3 salt=75
step at=7171102 act=1 slot=1 fault=sequence_negative length=4440000 salt=381
step at=10210279 slot=1 hold=3360000 salt=234
)")),
            "");
}

// A majority was acquired. An ensemble that stopped replying late then delayed the call beyond its
// deadline.
TEST(Simulator, SpareEnsembleSilent_DeadlineIsMet) {
  EXPECT_EQ(violation_of(plan_of(R"(
seed 9
setup slots=3 ensembles=3 latency_us=100 drift0=20000 drift1=-41000 drift3=20000
object kind=6
step at=3004657 act=1 slot=2 fault=lost_reply_create length=1980000 salt=116
step at=3019126 slot=2 wait=174363 hold=132441 salt=842
step at=11117382 act=1 fault=lost_reply_parents length=1080000 salt=596
)")),
            "");
}

// The container was recreated. A create in it lost its reply, and another create of this client
// followed. The first was assumed to be deleted with the old container. It enqueued again behind
// its own znode, which was never deleted.
TEST(Simulator, ZnodeInRecreatedContainer_IsNotAssumedDeleted) {
  EXPECT_EQ(violation_of(plan_of(R"(
seed 21226
setup slots=3 session_ms=4000 latency_us=10000
object kind=2
object kind=1
step at=10324756 slot=2 reads=1 wait=0 hold=2280000 salt=464
step at=10839388 act=1 slot=1 fault=sequence_near_end length=2960000 salt=695
step at=10914143 slot=1 object=1 hold=440000 salt=965
step at=12006247 slot=2 wait=0 hold=1059 salt=912
step at=14312517 hold=434 salt=449
step at=14315234 act=1 slot=2 fault=lost_reply_create length=1280000 salt=373
step at=15012232 slot=2 object=1 hold=1366 salt=460
step at=15017655 slot=2 hold=2040000 salt=165
step at=19283076 act=1 slot=1 fault=follower_isolated length=5560000 salt=388
)")),
            "");
}

// A downgrade was not executed, because the request was lost. The path was recreated. The repeated
// transaction deleted the znode of the next holder.
TEST(Simulator, DowngradeAfterReconnect_SparesNextHolder) {
  EXPECT_EQ(violation_of(plan_of(R"(
seed 500003359
setup slots=3 session_ms=4000 latency_us=100
object kind=2
step at=286746 slot=2 owner=1 hold=520000
step at=546746 slot=2 owner=1 reads=1 hold=1760000
step at=805746 act=1 slot=2 fault=lost_request_multi length=400000
step at=849581 act=1 slot=2 fault=parent_deleted
step at=850581 hold=520000
)")),
            "");
}

}  // namespace
}  // namespace zklock::simulator
