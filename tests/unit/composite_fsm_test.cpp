// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/composite_fsm.h"

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {

// For the messages of failed expectations.
void PrintTo(const CompositeEffect& effect, std::ostream* out) {
  *out << static_cast<int>(effect.kind) << '(' << effect.part << ')';
}

namespace {

using Kind = CompositeEffect::Kind;
using Effects = CompositeEffects;

constexpr bool kInTime = false;
constexpr bool kLate = true;

CompositeFsm all_of(std::size_t parts) {
  return CompositeFsm({.parts = parts, .needed = parts});
}
CompositeFsm two_of_three() {
  return CompositeFsm({.parts = 3, .needed = 2});
}

// ---- replies ------------------------------------------------------------------------------------

/// The reply to the present request. A silent part replies after on_part_timed_out().
struct Reply {
  PartAnswer answer;
  bool is_late = false;
  bool is_silent = false;
};
constexpr Reply kGranted{PartAnswer::granted};
constexpr Reply kGrantedLate{PartAnswer::granted, kLate};
constexpr Reply kNone{PartAnswer::none};
constexpr Reply kNoneLate{PartAnswer::none, kLate};
constexpr Reply kFailed{PartAnswer::failed};
constexpr Reply kSkipped{PartAnswer::skipped};
constexpr Reply kUnreachable{PartAnswer::unreachable};
constexpr Reply kUnreachableLate{PartAnswer::unreachable, kLate};
constexpr Reply kSilent{PartAnswer::none, kInTime, true};
constexpr Reply kSilentThenGranted{PartAnswer::granted, kInTime, true};

/// The effects of the last reply.
struct Case {
  CompositeFsm::Rule rule;
  std::vector<Reply> replies;
  Effects last;
};

TEST(CompositeFsm, EachReply_HasItsEffects) {
  const CompositeFsm::Rule three{.parts = 3, .needed = 3};
  const CompositeFsm::Rule once{.parts = 2, .needed = 2, .wait = false};
  const CompositeFsm::Rule majority{.parts = 3, .needed = 2};
  const CompositeFsm::Rule persistent{.parts = 3, .needed = 2, .persists = true};
  const CompositeFsm::Rule majority_once{.parts = 3, .needed = 2, .wait = false, .persists = true};
  const std::vector<Case> cases{
      {three, {kGranted}, {{Kind::request, 1}}},
      {three, {kGranted, kGranted}, {{Kind::request, 2}}},
      {three, {kGranted, kGranted, kGranted}, {{Kind::grant}}},
      {three, {kGranted, kGranted, kGrantedLate}, {{Kind::grant}}},
      {three, {kGrantedLate}, {{Kind::release, 0}, {Kind::end}}},
      {three, {kGranted, kNoneLate}, {{Kind::release, 0}, {Kind::end}}},
      {three,
       {kGranted, kGranted, kFailed},
       {{Kind::release, 1}, {Kind::release, 0}, {Kind::fail}}},
      {once, {kGranted}, {{Kind::request_once, 1}}},
      {once, {kGranted, kNone}, {{Kind::release, 0}, {Kind::end}}},
      {majority, {kGranted, kGranted}, {{Kind::request_once, 2}}},
      {majority, {kGranted, kGranted, kNone}, {{Kind::grant}}},
      {majority, {kGranted, kGrantedLate}, {{Kind::grant}}},
      {majority, {kSilent}, {{Kind::request, 1}}},
      {majority, {kSilent, kGranted, kGranted}, {{Kind::grant}}},
      {majority, {kSilentThenGranted, kGranted}, {{Kind::request_once, 2}}},
      {majority, {kGranted, kSilent}, {{Kind::request, 2}}},
      {majority, {kGranted, kSilent, kSilent}, {{Kind::release, 0}, {Kind::fail}}},
      {majority, {kSkipped}, {{Kind::request, 1}}},
      {majority, {kSkipped, kUnreachable}, {{Kind::request, 0}}},
      {majority, {kSkipped, kUnreachable, kUnreachable, kUnreachable}, {{Kind::fail}}},
      {persistent, {kGranted, kSilent, kUnreachable}, {{Kind::release, 0}, {Kind::request, 0}}},
      {persistent, {kUnreachable, kUnreachable}, {{Kind::request, 0}}},
      {persistent, {kUnreachable, kUnreachable, kUnreachableLate}, {{Kind::fail}}},
      {persistent, {kUnreachable, kUnreachable, kNoneLate}, {{Kind::end}}},
      {persistent, {kUnreachable, kUnreachable, kGranted, kGranted}, {{Kind::request_once, 2}}},
      {persistent, {kFailed, kFailed}, {{Kind::fail}}},
      {majority_once, {kFailed, kNone}, {{Kind::end}}},
      {majority_once, {kSkipped, kSkipped}, {{Kind::fail}}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CompositeFsm g(cases[i].rule);
    EXPECT_EQ(g.start().size(), 1U);
    Effects effects;
    for (const Reply& reply : cases[i].replies) {
      if (reply.is_silent) {
        EXPECT_EQ(g.on_part_timed_out(), (Effects{{Kind::cancel, g.requested_part()}}));
      }
      effects = g.on_part_answered(reply.answer, reply.is_late);
    }
    EXPECT_EQ(effects, cases[i].last) << "case " << i;
  }
}

TEST(CompositeFsm, SecondRound_RequestsEveryPart) {
  CompositeFsm g = two_of_three();
  g.start();
  g.on_part_answered(PartAnswer::skipped, kInTime);
  EXPECT_FALSE(g.requests_every_part());
  g.on_part_answered(PartAnswer::unreachable, kInTime);
  EXPECT_TRUE(g.requests_every_part());
}

// ---- stops and losses ---------------------------------------------------------------------------

TEST(CompositeFsm, Stopped_EndsWhateverTheReply) {
  for (const PartAnswer answer : {PartAnswer::granted, PartAnswer::none, PartAnswer::failed}) {
    CompositeFsm g = all_of(2);
    g.start();
    g.on_part_answered(PartAnswer::granted, kInTime);
    EXPECT_EQ(g.stop(), (Effects{{Kind::cancel, 1}}));
    EXPECT_TRUE(g.stop().empty());
    Effects expected{{Kind::release, 0}, {Kind::end}};
    if (answer == PartAnswer::granted) expected.insert(expected.begin(), {Kind::release, 1});
    EXPECT_EQ(g.on_part_answered(answer, kInTime), expected);
    EXPECT_EQ(g.state(), CompositeState::ended);
  }
}

TEST(CompositeFsm, StoppedBeforeTheStart_RequestsNothing) {
  CompositeFsm g = all_of(2);
  EXPECT_EQ(g.stop(), (Effects{{Kind::end}}));
  EXPECT_TRUE(g.start().empty());
}

TEST(CompositeFsm, PartLost_StartsAgain) {
  CompositeFsm g = all_of(3);
  g.start();
  g.on_part_answered(PartAnswer::granted, kInTime);
  g.on_part_answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.on_part_lost(1), (Effects{{Kind::release, 1}, {Kind::cancel, 2}}));
  EXPECT_TRUE(g.on_part_lost(1).empty());
  // The request to the third part was granted before it could be cancelled.
  EXPECT_EQ(g.on_part_answered(PartAnswer::granted, kInTime),
            (Effects{{Kind::release, 2}, {Kind::release, 0}, {Kind::request, 0}}));
  g.on_part_answered(PartAnswer::granted, kInTime);
  g.on_part_answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.on_part_answered(PartAnswer::granted, kInTime), (Effects{{Kind::grant}}));
}

TEST(CompositeFsm, PartLostWithoutQueueAgain_Fails) {
  CompositeFsm g({.parts = 3, .needed = 3, .queue_again = false});
  g.start();
  g.on_part_answered(PartAnswer::granted, kInTime);
  g.on_part_answered(PartAnswer::granted, kInTime);
  g.on_part_lost(1);
  EXPECT_EQ(g.on_part_answered(PartAnswer::failed, kInTime),
            (Effects{{Kind::release, 0}, {Kind::fail_lost, 1}}));
}

TEST(CompositeFsm, PartLostAfterTheTimeout_Ends) {
  CompositeFsm late = all_of(2);
  late.start();
  late.on_part_answered(PartAnswer::granted, kInTime);
  late.on_part_lost(0);
  EXPECT_EQ(late.on_part_answered(PartAnswer::none, kLate), (Effects{{Kind::end}}));

  CompositeFsm once({.parts = 2, .needed = 2, .wait = false});
  once.start();
  once.on_part_answered(PartAnswer::granted, kInTime);
  once.on_part_lost(0);
  EXPECT_EQ(once.on_part_answered(PartAnswer::none, kInTime), (Effects{{Kind::end}}));
}

TEST(CompositeFsm, MinorityLost_RemainingPartsSuffice) {
  CompositeFsm g = two_of_three();
  g.start();
  g.on_part_answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.on_part_lost(0), (Effects{{Kind::release, 0}}));  // nothing is cancelled
  EXPECT_EQ(g.on_part_answered(PartAnswer::granted, kInTime), (Effects{{Kind::request, 2}}));
  EXPECT_EQ(g.on_part_answered(PartAnswer::granted, kInTime), (Effects{{Kind::grant}}));
  EXPECT_FALSE(g.holds(0));
}

TEST(CompositeFsm, LossLeavesNoMajority_StartsAgain) {
  CompositeFsm g = two_of_three();
  g.start();
  g.on_part_timed_out();
  g.on_part_answered(PartAnswer::none, kInTime);
  g.on_part_answered(PartAnswer::granted, kInTime);
  EXPECT_EQ(g.on_part_lost(1), (Effects{{Kind::release, 1}, {Kind::cancel, 2}}));
  EXPECT_EQ(g.on_part_answered(PartAnswer::none, kInTime), (Effects{{Kind::request, 0}}));
}

// ---- all orders of events ----------------------------------------------------------------------

// Follows the effects as a driver does, and checks the invariants after each step.
struct Walk {
  CompositeFsm fsm;
  std::size_t parts;
  std::size_t needed;
  std::set<std::size_t> held = {};  // and not lost
  std::set<std::size_t> owed = {};  // taken, and not dropped yet
  bool requested = false;
  int ends = 0;

  void follow(const Effects& effects) {
    for (const CompositeEffect& e : effects) {
      ASSERT_EQ(ends, 0) << "something follows the end";
      switch (e.kind) {
        case Kind::request:
          for (const std::size_t h : owed) ASSERT_LT(h, e.part) << "it waits against the order";
          ASSERT_FALSE(std::exchange(requested, true));
          break;
        case Kind::request_once: ASSERT_FALSE(std::exchange(requested, true)); break;
        case Kind::cancel: ASSERT_TRUE(requested); break;
        case Kind::release:
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
    ASSERT_EQ(ends, fsm.is_over() ? 1 : 0);
    ASSERT_TRUE(requested || fsm.is_over()) << "nothing will ever happen";
  }
  void answer(PartAnswer answer, bool late) {
    requested = false;
    if (answer == PartAnswer::granted) {
      held.insert(fsm.requested_part());
      owed.insert(fsm.requested_part());
    }
    follow(fsm.on_part_answered(answer, late));
  }
  void lose(std::size_t part) {
    held.erase(part);
    follow(fsm.on_part_lost(part));
  }
};

void explore(const Walk& walk, int depth, std::size_t& ended) {
  if (::testing::Test::HasFatalFailure()) return;
  if (walk.fsm.is_over()) {
    ++ended;
    return;
  }
  if (depth == 0) return;
  const auto branch = [&](auto step) {
    Walk next = walk;
    step(next);
    explore(next, depth - 1, ended);
  };
  for (const PartAnswer answer : {PartAnswer::granted, PartAnswer::none, PartAnswer::unreachable,
                                  PartAnswer::skipped, PartAnswer::failed}) {
    branch([&](Walk& w) { w.answer(answer, kInTime); });
    branch([&](Walk& w) { w.answer(answer, kLate); });
  }
  for (const std::size_t part : walk.held) branch([&](Walk& w) { w.lose(part); });
  if (walk.fsm.state() == CompositeState::requesting) {
    branch([](Walk& w) { w.follow(w.fsm.stop()); });
    if (walk.needed < walk.parts) branch([](Walk& w) { w.follow(w.fsm.on_part_timed_out()); });
  }
}

TEST(CompositeFsm, AllEventOrders_KeepTheInvariants) {
  std::size_t ended = 0;
  for (const auto& [parts, needed] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {2, 2}, {3, 3}, {2, 1}, {3, 2}, {5, 3}}) {
    for (const bool wait : {true, false}) {
      for (const bool queue_again : {true, false}) {
        const bool persists = queue_again;
        Walk walk{.fsm = CompositeFsm({parts, needed, wait, queue_again, persists}),
                  .parts = parts,
                  .needed = needed};
        walk.follow(walk.fsm.start());
        explore(walk, 5, ended);
      }
    }
  }
  EXPECT_GT(ended, 1000U);
}

}  // namespace
}  // namespace zklock::core
