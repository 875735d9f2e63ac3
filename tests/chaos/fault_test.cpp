// SPDX-License-Identifier: Apache-2.0
#include "chaos/fault.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;

TEST(FaultPlan, SameSeed_GivesSamePlan) {
  FaultPlan one(FaultPlan::of_clients(), 1s, 7);
  FaultPlan same(FaultPlan::of_clients(), 1s, 7);
  FaultPlan other(FaultPlan::of_clients(), 1s, 8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const PlannedFault planned = one.next();
    const PlannedFault again = same.next();
    EXPECT_EQ(planned.fault, again.fault);
    EXPECT_EQ(planned.choice, again.choice);
    EXPECT_EQ(planned.length, again.length);
    EXPECT_EQ(planned.pause, again.pause);
    differs = other.next().fault != planned.fault || differs;
  }
  EXPECT_TRUE(differs);
}

TEST(FaultPlan, EachRound_HasEveryFaultOnce) {
  const auto classes = FaultPlan::of_clients();
  FaultPlan plan(classes, 1s, 7);
  for (int round = 0; round < 3; ++round) {
    std::vector<Fault> seen;
    for (std::size_t i = 0; i < classes.size(); ++i) seen.push_back(plan.next().fault);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, classes);
  }
}

TEST(FaultPlan, EveryFault_IsPlannedAndNamed) {
  std::size_t planned = 0;
  for (const auto& classes :
       {FaultPlan::of_clients(), FaultPlan::of_servers(), FaultPlan::of_nodes()}) {
    for (const Fault fault : classes) EXPECT_NE(name_of(fault), "?");
    planned += classes.size();
  }
  EXPECT_EQ(planned, kFaults);
}

}  // namespace
}  // namespace zklock::chaos
