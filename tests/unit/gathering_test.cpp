// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/gathering.h"

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {

// For the messages of failed expectations.
void PrintTo(const GatheringEffect& effect, std::ostream* out) {
  *out << static_cast<int>(effect.kind) << '(' << effect.part << ')';
}

namespace {

using Kind = GatheringEffect::Kind;
using Effects = GatheringEffects;

constexpr bool kInTime = false;
constexpr bool kLate = true;

Gathering all_of(std::size_t parts) {
  return Gathering({.parts = parts, .needed = parts});
}
Gathering two_of_three() {
  return Gathering({.parts = 3, .needed = 2});
}

TEST(Gathering, TakesAllInOrder) {
  Gathering g = all_of(3);
  EXPECT_EQ(g.start(), (Effects{{Kind::ask, 0}}));
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::ask, 1}}));
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::ask, 2}}));
  EXPECT_FALSE(g.over());
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::grant}}));
  EXPECT_EQ(g.state(), GatheringState::granted);
  EXPECT_TRUE(g.lost(1).empty());
  EXPECT_TRUE(g.stop().empty());
}

TEST(Gathering, ASingleAttemptAsksOnceEach) {
  Gathering g({.parts = 2, .needed = 2, .wait = false});
  EXPECT_EQ(g.start(), (Effects{{Kind::ask_once, 0}}));
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::ask_once, 1}}));
  EXPECT_EQ(g.answered(PartAnswer::none, kInTime), (Effects{{Kind::drop, 0}, {Kind::end}}));
  EXPECT_EQ(g.state(), GatheringState::ended);
}

TEST(Gathering, WhatFailsDropsAllTheLastFirst) {
  Gathering g = all_of(3);
  g.start();
  g.answered(PartAnswer::granted, kInTime);
  g.answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::failed, kInTime),
            (Effects{{Kind::drop, 1}, {Kind::drop, 0}, {Kind::fail}}));
}

TEST(Gathering, TimeThatRunsOutDropsAll) {
  Gathering g = all_of(2);
  g.start();
  g.answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::none, kLate), (Effects{{Kind::drop, 0}, {Kind::end}}));
}

TEST(Gathering, ALateGrantAsksNothingMore) {
  Gathering g = all_of(2);
  g.start();
  EXPECT_EQ(g.answered(PartAnswer::granted, kLate), (Effects{{Kind::drop, 0}, {Kind::end}}));
  Gathering last = all_of(1);
  last.start();
  EXPECT_EQ(last.answered(PartAnswer::granted, kLate), (Effects{{Kind::grant}}));
}

TEST(Gathering, AStopCallsOffAndIsObeyedWhateverTheAnswer) {
  for (const PartAnswer answer : {PartAnswer::granted, PartAnswer::none, PartAnswer::failed}) {
    Gathering g = all_of(2);
    g.start();
    g.answered(PartAnswer::granted, kInTime);
    EXPECT_EQ(g.stop(), (Effects{{Kind::call_off, 1}}));
    EXPECT_TRUE(g.stop().empty());
    Effects expected{{Kind::drop, 0}, {Kind::end}};
    if (answer == PartAnswer::granted) expected.insert(expected.begin(), {Kind::drop, 1});
    EXPECT_EQ(g.answered(answer, kInTime), expected);
    EXPECT_EQ(g.state(), GatheringState::ended);
  }
}

TEST(Gathering, AStopBeforeTheStartAsksNobody) {
  Gathering g = all_of(2);
  EXPECT_EQ(g.stop(), (Effects{{Kind::end}}));
  EXPECT_TRUE(g.start().empty());
}

TEST(Gathering, ALostPartIsNeverGrantedButBegunAnew) {
  Gathering g = all_of(3);
  g.start();
  g.answered(PartAnswer::granted, kInTime);
  g.answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.lost(1), (Effects{{Kind::drop, 1}, {Kind::call_off, 2}}));
  EXPECT_TRUE(g.lost(1).empty());
  // The request to the third part was granted before it could be cancelled.
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime),
            (Effects{{Kind::drop, 2}, {Kind::drop, 0}, {Kind::ask, 0}}));
  g.answered(PartAnswer::granted, kInTime);
  g.answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::grant}}));
}

TEST(Gathering, ALostPartIsAnErrorByPolicy) {
  Gathering g({.parts = 3, .needed = 3, .queue_again = false});
  g.start();
  g.answered(PartAnswer::granted, kInTime);
  g.answered(PartAnswer::granted, kInTime);
  g.lost(1);
  EXPECT_EQ(g.answered(PartAnswer::failed, kInTime),
            (Effects{{Kind::drop, 0}, {Kind::fail_lost, 1}}));
}

TEST(Gathering, ALostPartIsTheEndWhenTimeHasRunOut) {
  Gathering late = all_of(2);
  late.start();
  late.answered(PartAnswer::granted, kInTime);
  late.lost(0);
  EXPECT_EQ(late.answered(PartAnswer::none, kLate), (Effects{{Kind::end}}));

  Gathering once({.parts = 2, .needed = 2, .wait = false});
  once.start();
  once.answered(PartAnswer::granted, kInTime);
  once.lost(0);
  EXPECT_EQ(once.answered(PartAnswer::none, kInTime), (Effects{{Kind::end}}));
}

TEST(Gathering, AStopOutdoesALoss) {
  Gathering g = all_of(2);
  g.start();
  g.answered(PartAnswer::granted, kInTime);
  g.lost(0);
  EXPECT_TRUE(g.stop().empty());  // it was cancelled before
  EXPECT_EQ(g.answered(PartAnswer::none, kInTime), (Effects{{Kind::end}}));
}

TEST(Gathering, AMajorityTakesTheRestWithoutWaiting) {
  Gathering g = two_of_three();
  g.start();
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::ask, 1}}));
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::ask_once, 2}}));
  EXPECT_EQ(g.answered(PartAnswer::none, kInTime), (Effects{{Kind::grant}}));
  EXPECT_TRUE(g.holds(0) && g.holds(1) && !g.holds(2));
}

TEST(Gathering, AMajorityIsGrantedWithoutTheRestWhenItIsLate) {
  Gathering g = two_of_three();
  g.start();
  g.answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::granted, kLate), (Effects{{Kind::grant}}));
}

TEST(Gathering, ASilentMinorityIsPassedOver) {
  Gathering g = two_of_three();
  g.start();
  EXPECT_EQ(g.silent(), (Effects{{Kind::call_off, 0}}));
  EXPECT_TRUE(g.silent().empty());
  EXPECT_EQ(g.answered(PartAnswer::none, kInTime), (Effects{{Kind::ask, 1}}));
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::ask, 2}}));
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::grant}}));
}

TEST(Gathering, ASilentPartThatAnswersAtTheLastMomentCounts) {
  Gathering g = two_of_three();
  g.start();
  g.silent();
  g.answered(PartAnswer::granted, kInTime);
  EXPECT_TRUE(g.holds(0));
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::ask_once, 2}}));
}

TEST(Gathering, ASilentMajorityIsAFailure) {
  Gathering g = two_of_three();
  g.start();
  g.answered(PartAnswer::granted, kInTime);
  g.silent();
  EXPECT_EQ(g.answered(PartAnswer::none, kInTime), (Effects{{Kind::ask, 2}}));
  g.silent();
  EXPECT_EQ(g.answered(PartAnswer::none, kInTime), (Effects{{Kind::drop, 0}, {Kind::fail}}));
}

TEST(Gathering, OthersThatHoldAreNoFailure) {
  Gathering g({.parts = 3, .needed = 2, .wait = false});
  g.start();
  g.answered(PartAnswer::failed, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::none, kInTime), (Effects{{Kind::end}}));
}

TEST(Gathering, ALossIsMadeUpForByWhatIsLeft) {
  Gathering g = two_of_three();
  g.start();
  g.answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.lost(0), (Effects{{Kind::drop, 0}}));  // nothing is cancelled
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::ask, 2}}));
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::grant}}));
  EXPECT_FALSE(g.holds(0));
}

TEST(Gathering, ALossBeyondTheMajorityBeginsAnew) {
  Gathering g = two_of_three();
  g.start();
  g.silent();
  g.answered(PartAnswer::none, kInTime);
  g.answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.lost(1), (Effects{{Kind::drop, 1}, {Kind::call_off, 2}}));
  EXPECT_EQ(g.answered(PartAnswer::none, kInTime), (Effects{{Kind::ask, 0}}));
}

// ---- unreachable parts -------------------------------------------------------------------------

Gathering persistent() {
  return Gathering({.parts = 3, .needed = 2, .persists = true});
}

TEST(Gathering, MajorityOutOfReach_BeginsAnewUntilItIsLate) {
  Gathering g = persistent();
  g.start();
  g.answered(PartAnswer::granted, kInTime);
  g.silent();
  g.answered(PartAnswer::none, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::out_of_reach, kInTime),
            (Effects{{Kind::drop, 0}, {Kind::ask, 0}}));
  g.answered(PartAnswer::out_of_reach, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::out_of_reach, kLate), (Effects{{Kind::fail}}));
}

TEST(Gathering, LateAtAPartOutOfReachInALaterRound_IsAFailure) {
  Gathering g = persistent();
  g.start();
  g.answered(PartAnswer::out_of_reach, kInTime);
  g.answered(PartAnswer::out_of_reach, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::out_of_reach, kLate), (Effects{{Kind::fail}}));
}

TEST(Gathering, LateAtAPartThatOthersHoldInALaterRound_IsNoFailure) {
  Gathering g = persistent();
  g.start();
  g.answered(PartAnswer::out_of_reach, kInTime);
  g.answered(PartAnswer::out_of_reach, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::none, kLate), (Effects{{Kind::end}}));
}

TEST(Gathering, MajorityOutOfReachThatReturns_IsGranted) {
  Gathering g = persistent();
  g.start();
  g.answered(PartAnswer::out_of_reach, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::out_of_reach, kInTime), (Effects{{Kind::ask, 0}}));
  g.answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::granted, kInTime), (Effects{{Kind::ask_once, 2}}));
  EXPECT_EQ(g.answered(PartAnswer::out_of_reach, kInTime), (Effects{{Kind::grant}}));
}

TEST(Gathering, MajorityThatFailed_IsAFailureAtOnce) {
  Gathering g = persistent();
  g.start();
  g.answered(PartAnswer::failed, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::failed, kInTime), (Effects{{Kind::fail}}));
}

TEST(Gathering, NotAskedPartThatIsNeeded_IsAskedInASecondRound) {
  Gathering g = two_of_three();
  g.start();
  EXPECT_EQ(g.answered(PartAnswer::not_asked, kInTime), (Effects{{Kind::ask, 1}}));
  EXPECT_FALSE(g.in_earnest());
  EXPECT_EQ(g.answered(PartAnswer::out_of_reach, kInTime), (Effects{{Kind::ask, 0}}));
  EXPECT_TRUE(g.in_earnest());
  g.answered(PartAnswer::out_of_reach, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::out_of_reach, kInTime), (Effects{{Kind::fail}}));
}

TEST(Gathering, SingleAttemptOutOfReach_FailsAtOnce) {
  Gathering g({.parts = 3, .needed = 2, .wait = false, .persists = true});
  g.start();
  g.answered(PartAnswer::not_asked, kInTime);
  EXPECT_EQ(g.answered(PartAnswer::not_asked, kInTime), (Effects{{Kind::fail}}));
}

// ---- all orders of events ----------------------------------------------------------------------

// Follows the effects as a driver does, and checks the invariants after each step.
struct Walk {
  Gathering gathering;
  std::size_t parts;
  std::size_t needed;
  std::set<std::size_t> held = {};  // and not lost
  std::set<std::size_t> owed = {};  // taken, and not dropped yet
  bool asked = false;
  int ends = 0;

  void follow(const Effects& effects) {
    for (const GatheringEffect& e : effects) {
      ASSERT_EQ(ends, 0) << "something follows the end";
      switch (e.kind) {
        case Kind::ask:
          for (const std::size_t h : owed) ASSERT_LT(h, e.part) << "it waits against the order";
          ASSERT_FALSE(std::exchange(asked, true));
          break;
        case Kind::ask_once: ASSERT_FALSE(std::exchange(asked, true)); break;
        case Kind::call_off: ASSERT_TRUE(asked); break;
        case Kind::drop:
          ASSERT_EQ(owed.erase(e.part), 1U);
          held.erase(e.part);
          break;
        case Kind::grant:
          ++ends;
          ASSERT_GE(held.size(), needed);
          ASSERT_EQ(held, owed);
          break;
        case Kind::end:
        case Kind::fail:
        case Kind::fail_lost:
          ++ends;
          ASSERT_TRUE(owed.empty()) << "something is kept";
          break;
      }
    }
    ASSERT_EQ(ends, gathering.over() ? 1 : 0);
    ASSERT_TRUE(asked || gathering.over()) << "nothing will ever happen";
  }
  void answer(PartAnswer answer, bool late) {
    asked = false;
    if (answer == PartAnswer::granted) {
      held.insert(gathering.asked());
      owed.insert(gathering.asked());
    }
    follow(gathering.answered(answer, late));
  }
  void lose(std::size_t part) {
    held.erase(part);
    follow(gathering.lost(part));
  }
};

void explore(const Walk& walk, int depth, std::size_t& ended) {
  if (::testing::Test::HasFatalFailure()) return;
  if (walk.gathering.over()) {
    ++ended;
    return;
  }
  if (depth == 0) return;
  const auto branch = [&](auto step) {
    Walk next = walk;
    step(next);
    explore(next, depth - 1, ended);
  };
  for (const PartAnswer answer : {PartAnswer::granted, PartAnswer::none, PartAnswer::out_of_reach,
                                  PartAnswer::not_asked, PartAnswer::failed}) {
    branch([&](Walk& w) { w.answer(answer, kInTime); });
    branch([&](Walk& w) { w.answer(answer, kLate); });
  }
  for (const std::size_t part : walk.held) branch([&](Walk& w) { w.lose(part); });
  if (walk.gathering.state() == GatheringState::asking) {
    branch([](Walk& w) { w.follow(w.gathering.stop()); });
    if (walk.needed < walk.parts) branch([](Walk& w) { w.follow(w.gathering.silent()); });
  }
}

TEST(Gathering, KeepsItsPromisesWhateverHappens) {
  std::size_t ended = 0;
  for (const auto& [parts, needed] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {2, 2}, {3, 3}, {2, 1}, {3, 2}, {5, 3}}) {
    for (const bool wait : {true, false}) {
      for (const bool queue_again : {true, false}) {
        const bool persists = queue_again;
        Walk walk{.gathering = Gathering({parts, needed, wait, queue_again, persists}),
                  .parts = parts,
                  .needed = needed};
        walk.follow(walk.gathering.start());
        explore(walk, 5, ended);
      }
    }
  }
  EXPECT_GT(ended, 1000U);
}

}  // namespace
}  // namespace zklock::core
