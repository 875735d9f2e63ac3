// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/survey.h"

namespace zklock {
namespace {

// A contender that is blocked in lock().
Participant bound(const std::string& owner, Access access = Access::exclusive) {
  Participant participant;
  participant.owner = owner;
  participant.access = access;
  participant.node = "of " + owner;
  participant.thread_bound = true;
  return participant;
}

// A contender that another thread can release.
Participant loose(const std::string& owner, Access access = Access::exclusive) {
  Participant participant = bound(owner, access);
  participant.thread_bound = false;
  return participant;
}

Participant of_permits(const std::string& owner) {
  return bound(owner, Access::permits);
}

SurveyedLock surveyed(const std::string& path, std::vector<Participant> holders,
                      std::vector<Participant> waiting) {
  SurveyedLock result;
  result.path = path;
  result.state.holders = std::move(holders);
  result.state.waiting = waiting.size();
  result.waiters = std::move(waiting);
  return result;
}

using Locks = std::vector<SurveyedLock>;

// Returns the steps as "waiter>path>blocker ...", and "?" at the end if the cycle is not certain.
std::string text_of(const LockCycle& cycle) {
  std::string text;
  for (const WaitStep& step : cycle.steps) {
    text += step.waiter.owner + ">" + step.path + ">" + step.blocker.owner + " ";
  }
  return text + (cycle.is_certain ? "!" : "?");
}

std::string only_cycle(const Locks& locks) {
  const auto cycles = find_cycles(locks);
  return cycles.size() == 1 ? text_of(cycles.front()) : std::to_string(cycles.size()) + " cycles";
}

TEST(FindCycles, NoLocks_NoCycle) {
  EXPECT_TRUE(find_cycles({}).empty());
  const Locks locks{surveyed("/a", {bound("1")}, {bound("2"), bound("3")}),
                    surveyed("/b", {bound("2")}, {bound("3")})};
  EXPECT_TRUE(find_cycles(locks).empty());
}

// The name behind the number of an owner is ignored. A contender at a gate waits for the holder.
TEST(FindCycles, TwoMutexes_CycleIsCertain) {
  const Locks locks{
      surveyed("/a", {bound("1 request")}, {bound("3"), bound("2", Access::weighted)}),
      surveyed("/b", {bound("2 job")}, {bound("1")})};
  EXPECT_EQ(only_cycle(locks), "2>/a>1 request 1>/b>2 job !");
  EXPECT_EQ(find_cycles(locks).front().steps[0].waiter.node, "of 2");
}

TEST(FindCycles, HoldInCycle_IsOnlyPossible) {
  EXPECT_EQ(only_cycle({surveyed("/a", {loose("1")}, {bound("2")}),
                        surveyed("/b", {bound("2")}, {bound("1")})}),
            "2>/a>1 1>/b>2 ?");
  EXPECT_EQ(only_cycle({surveyed("/a", {bound("1")}, {bound("2")}),
                        surveyed("/b", {bound("2")}, {loose("1")})}),
            "2>/a>1 1>/b>2 ?")
      << "a deadline may end the wait";
}

TEST(FindCycles, OtherLibrary_HasNoEdge) {
  EXPECT_TRUE(find_cycles(Locks{surveyed("/a", {bound("")}, {bound("2")}),
                                surveyed("/b", {bound("2")}, {bound("")})})
                  .empty());
}

TEST(FindCycles, Readers_BlockWritersOnly) {
  const auto shared = Access::shared;
  const Locks readers{surveyed("/a", {bound("1", shared)}, {bound("2", shared)}),
                      surveyed("/b", {bound("2")}, {bound("1")})};
  EXPECT_TRUE(find_cycles(readers).empty());
  const Locks writer{surveyed("/a", {bound("1", shared), bound("3", shared)}, {bound("2")}),
                     surveyed("/b", {bound("2")}, {bound("3")})};
  EXPECT_EQ(only_cycle(writer), "2>/a>3 3>/b>2 !");
}

// Reader 2 waits behind writer 3, which waits for reader 1. Only with that edge is there a cycle.
TEST(FindCycles, ReaderBehindWriter_IsBlockedByIt) {
  const auto shared = Access::shared;
  const Locks locks{surveyed("/a", {bound("1", shared)}, {bound("3"), bound("2", shared)}),
                    surveyed("/b", {bound("2")}, {bound("1")})};
  EXPECT_EQ(only_cycle(locks), "3>/a>1 1>/b>2 2>/a>3 !");
  const Locks ahead{surveyed("/a", {bound("1", shared)}, {bound("2", shared), bound("3")}),
                    surveyed("/b", {bound("2")}, {bound("1")})};
  EXPECT_TRUE(find_cycles(ahead).empty()) << "the writer waits behind the reader";
}

TEST(FindCycles, Permits_CycleIsOnlyPossible) {
  EXPECT_EQ(only_cycle({surveyed("/a", {of_permits("1"), of_permits("3")}, {of_permits("2")}),
                        surveyed("/b", {bound("2")}, {bound("1")})}),
            "2>/a>1 1>/b>2 ?");
  EXPECT_TRUE(find_cycles(Locks{surveyed("/a", {of_permits("1")}, {of_permits("1")})}).empty())
      << "another holder may release permits";
}

TEST(FindCycles, ManyPermitHolders_FewAreExamined) {
  std::vector<Participant> holders(8, of_permits("9"));
  holders.push_back(of_permits("1"));
  EXPECT_TRUE(find_cycles(Locks{surveyed("/a", holders, {of_permits("2")}),
                                surveyed("/b", {bound("2")}, {bound("1")})})
                  .empty());
}

// Owner 1 locks a Mutex twice.
TEST(FindCycles, OwnerBehindItself_IsACycle) {
  EXPECT_EQ(only_cycle({surveyed("/a", {loose("1")}, {loose("1")})}), "1>/a>1 ?");
}

TEST(FindCycles, TwoCycles_CertainOneIsFirst) {
  const Locks locks{
      surveyed("/a", {loose("1")}, {bound("2")}), surveyed("/b", {bound("2")}, {bound("1")}),
      surveyed("/c", {bound("8")}, {bound("9")}), surveyed("/d", {bound("9")}, {bound("8")})};
  const auto cycles = find_cycles(locks);
  ASSERT_EQ(cycles.size(), 2U);
  EXPECT_TRUE(cycles[0].is_certain);
  EXPECT_EQ(cycles[0].steps[0].path, "/c");
  EXPECT_FALSE(cycles[1].is_certain);
}

}  // namespace
}  // namespace zklock
