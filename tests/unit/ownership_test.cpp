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
constexpr CountKind kAllKinds[] = {CountKind::lock, CountKind::hold, CountKind::shared_lock,
                                   CountKind::shared_hold};
static_assert(std::size(kAllKinds) == kCountKinds);

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
      const int all = ownership.count();
      const int added = state == State::held ? 1 : 0;
      EXPECT_EQ(ownership.add(kind), added == 1);
      EXPECT_EQ(ownership.count(kind), of_kind + added);
      EXPECT_EQ(ownership.count(), all + added);
      EXPECT_EQ(ownership.state(), state);
    }
  }
}

TEST(Ownership, CountsDropped_LastEndsTheOwnership) {
  for (const State state : {State::held, State::lost}) {
    for (const CountKind first : kAllKinds) {
      for (const CountKind second : kAllKinds) {
        if (first == second) continue;
        Ownership ownership;
        EXPECT_EQ(ownership.drop(first), Dropped::refused) << "it waits";
        ownership.on_granted();
        EXPECT_EQ(ownership.drop(first), Dropped::refused) << "no caller has a count yet";
        ownership.add(first);
        ownership.add(second);
        if (state == State::lost) ownership.lose();
        EXPECT_EQ(ownership.exclusive_count(),
                  (is_shared(first) ? 0 : 1) + (is_shared(second) ? 0 : 1));
        EXPECT_EQ(ownership.drop(first), Dropped::retained);
        EXPECT_EQ(ownership.drop(first), Dropped::refused) << "the other kind's is not its own";
        EXPECT_EQ(ownership.state(), state);
        EXPECT_EQ(ownership.count(), 1);
        EXPECT_EQ(ownership.drop(second), Dropped::last);
        EXPECT_EQ(ownership.state(), State::over);
        EXPECT_EQ(ownership.drop(second), Dropped::refused);
      }
    }
  }
}

}  // namespace
}  // namespace zklock::core
