// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/ownership.h"

#include <iterator>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using State = Ownership::State;
using Dropped = Ownership::Dropped;

/// Returns an ownership in the state, with one count of each kind if the state has counts.
Ownership in(State state) {
  Ownership ownership;
  if (state == State::waiting) return ownership;
  if (state == State::over) {
    ownership.withdraw();
    return ownership;
  }
  ownership.on_granted();
  ownership.add(CountKind::lock);
  ownership.add(CountKind::hold);
  if (state == State::lost) ownership.lose();
  return ownership;
}

constexpr State kAllStates[] = {State::waiting, State::held, State::lost, State::over};
constexpr CountKind kAllKinds[] = {CountKind::lock, CountKind::hold};

constexpr CountKind other(CountKind kind) {
  return kind == CountKind::lock ? CountKind::hold : CountKind::lock;
}

TEST(Ownership, Helper_ReachesEveryState) {
  for (const State state : kAllStates) {
    const Ownership ownership = in(state);
    EXPECT_EQ(ownership.state(), state);
    EXPECT_EQ(ownership.count(), state == State::held || state == State::lost ? 2 : 0);
  }
}

TEST(Ownership, Lost_OnlyHeldBecomesLostOnce) {
  for (const State state : {State::held, State::lost, State::over}) {
    Ownership ownership = in(state);
    const int counts = ownership.count();
    EXPECT_EQ(ownership.lose(), state == State::held);
    EXPECT_EQ(ownership.state(), state == State::held ? State::lost : state);
    EXPECT_FALSE(ownership.lose());
    EXPECT_EQ(ownership.count(), counts) << "a lost hold must still be released";
  }
}

TEST(Ownership, Withdrawn_OnlyWaitingEnds) {
  for (const State state : kAllStates) {
    Ownership ownership = in(state);
    ownership.withdraw();
    EXPECT_EQ(ownership.state(), state == State::waiting ? State::over : state);
  }
}

TEST(Ownership, CountAdded_OnlyIfHeld) {
  for (const State state : {State::held, State::lost, State::over}) {
    for (const CountKind kind : kAllKinds) {
      Ownership ownership = in(state);
      const int of_kind = ownership.count(kind);
      const int of_other = ownership.count(other(kind));
      const int added = state == State::held ? 1 : 0;
      EXPECT_EQ(ownership.add(kind), added == 1);
      EXPECT_EQ(ownership.count(kind), of_kind + added);
      EXPECT_EQ(ownership.count(other(kind)), of_other);
      EXPECT_EQ(ownership.state(), state);
    }
  }
}

TEST(Ownership, CountsDropped_LastEndsTheOwnership) {
  for (const State state : {State::held, State::lost}) {
    for (const CountKind kind : kAllKinds) {
      Ownership ownership = in(state);
      EXPECT_EQ(ownership.drop(kind), Dropped::retained);
      EXPECT_EQ(ownership.state(), state);
      EXPECT_EQ(ownership.count(kind), 0);
      EXPECT_EQ(ownership.count(), 1);
      EXPECT_EQ(ownership.drop(kind), Dropped::refused) << "the other kind's count is not its own";
      EXPECT_EQ(ownership.state(), state);
      EXPECT_EQ(ownership.count(), 1);
      EXPECT_EQ(ownership.drop(other(kind)), Dropped::last);
      EXPECT_EQ(ownership.state(), State::over);
      EXPECT_EQ(ownership.count(), 0);
    }
  }
}

TEST(Ownership, DropWithoutACount_IsRefused) {
  for (const State state : {State::waiting, State::over}) {
    for (const CountKind kind : kAllKinds) {
      Ownership ownership = in(state);
      EXPECT_EQ(ownership.drop(kind), Dropped::refused);
      EXPECT_EQ(ownership.state(), state);
      EXPECT_EQ(ownership.count(), 0);
    }
  }
  // Granted, but no caller has a count yet.
  Ownership ownership;
  ownership.on_granted();
  EXPECT_EQ(ownership.drop(CountKind::lock), Dropped::refused);
  EXPECT_EQ(ownership.state(), State::held);
}

// ---- writing and reading -----------------------------------------------------------------------

TEST(Ownership, EveryKind_IsCountedSeparately) {
  constexpr CountKind kKinds[] = {CountKind::lock, CountKind::hold, CountKind::shared_lock,
                                  CountKind::shared_hold};
  static_assert(std::size(kKinds) == kCountKinds);
  for (const CountKind kind : kKinds) {
    Ownership ownership;
    ownership.on_granted();
    EXPECT_TRUE(ownership.add(kind));
    EXPECT_EQ(ownership.exclusive_count(), is_shared(kind) ? 0 : 1);
    for (const CountKind another : kKinds) {
      EXPECT_EQ(ownership.count(another), another == kind ? 1 : 0);
      if (another != kind) {
        EXPECT_EQ(ownership.drop(another), Dropped::refused);
      }
    }
    EXPECT_EQ(ownership.state(), State::held);
    EXPECT_EQ(ownership.drop(kind), Dropped::last);
  }
}

TEST(Ownership, Downgraded_SharedCountsRemain) {
  Ownership ownership;
  ownership.on_granted();
  ownership.add(CountKind::lock);
  ownership.add(CountKind::shared_hold);
  ownership.add(CountKind::shared_lock);
  EXPECT_EQ(ownership.exclusive_count(), 1);
  EXPECT_EQ(ownership.drop(CountKind::lock), Dropped::retained);
  EXPECT_EQ(ownership.exclusive_count(), 0);
  EXPECT_EQ(ownership.count(), 2);
  EXPECT_EQ(ownership.drop(CountKind::shared_hold), Dropped::retained);
  EXPECT_EQ(ownership.drop(CountKind::shared_lock), Dropped::last);
  EXPECT_EQ(ownership.state(), State::over);
}

}  // namespace
}  // namespace zklock::core
