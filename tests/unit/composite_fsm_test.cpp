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

// ---- replies, losses and stops ------------------------------------------------------------------

/// The reply to the present request, or an event. A silent part replies after on_part_timed_out().
struct Step {
  enum class Kind { reply, silence_then_reply, lose, stop };
  Kind kind = Kind::reply;
  PartAnswer answer = PartAnswer::none;
  bool is_late = false;
  std::size_t lost = 0;
};
constexpr Step kGranted{.answer = PartAnswer::granted};
constexpr Step kGrantedLate{.answer = PartAnswer::granted, .is_late = true};
constexpr Step kNone{};
constexpr Step kNoneLate{.is_late = true};
constexpr Step kFailed{.answer = PartAnswer::failed};
constexpr Step kSkipped{.answer = PartAnswer::skipped};
constexpr Step kUnreachable{.answer = PartAnswer::unreachable};
constexpr Step kUnreachableLate{.answer = PartAnswer::unreachable, .is_late = true};
constexpr Step kSilent{.kind = Step::Kind::silence_then_reply};
constexpr Step kSilentThenGranted{.kind = Step::Kind::silence_then_reply,
                                  .answer = PartAnswer::granted};
constexpr Step kFirstLost{.kind = Step::Kind::lose, .lost = 0};
constexpr Step kSecondLost{.kind = Step::Kind::lose, .lost = 1};
constexpr Step kStop{.kind = Step::Kind::stop};

Effects effects_of(CompositeFsm& fsm, const Step& step) {
  switch (step.kind) {
    case Step::Kind::lose: return fsm.on_part_lost(step.lost);
    case Step::Kind::stop: return fsm.stop();
    case Step::Kind::silence_then_reply:
      EXPECT_EQ(fsm.on_part_timed_out(), (Effects{{Kind::cancel, fsm.requested_part()}}));
      break;
    case Step::Kind::reply: break;
  }
  return fsm.on_part_answered(step.answer, step.is_late);
}

/// The effects of the last step.
struct Case {
  CompositeFsm::Rule rule;
  std::vector<Step> steps;
  Effects last;
};

TEST(CompositeFsm, EachStep_HasItsEffects) {
  const CompositeFsm::Rule three{.parts = 3, .needed = 3};
  const CompositeFsm::Rule two{.parts = 2, .needed = 2};
  const CompositeFsm::Rule fails{.parts = 3, .needed = 3, .queue_again = false};
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
      // A stopped call ends, whatever the reply.
      {two, {kGranted, kStop}, {{Kind::cancel, 1}}},
      {two, {kGranted, kStop, kStop}, {}},
      {two, {kGranted, kStop, kGranted}, {{Kind::release, 1}, {Kind::release, 0}, {Kind::end}}},
      {two, {kGranted, kStop, kNone}, {{Kind::release, 0}, {Kind::end}}},
      {two, {kGranted, kStop, kFailed}, {{Kind::release, 0}, {Kind::end}}},
      // A loss begins a new round, or fails. Here the third part was granted before the cancel.
      {three, {kGranted, kGranted, kSecondLost}, {{Kind::release, 1}, {Kind::cancel, 2}}},
      {three, {kGranted, kGranted, kSecondLost, kSecondLost}, {}},
      {three,
       {kGranted, kGranted, kSecondLost, kGranted},
       {{Kind::release, 2}, {Kind::release, 0}, {Kind::request, 0}}},
      {fails,
       {kGranted, kGranted, kSecondLost, kFailed},
       {{Kind::release, 0}, {Kind::fail_lost, 1}}},
      {two, {kGranted, kFirstLost, kNoneLate}, {{Kind::end}}},
      {once, {kGranted, kFirstLost, kNone}, {{Kind::end}}},
      {majority, {kGranted, kFirstLost}, {{Kind::release, 0}}},  // the others suffice
      {majority, {kGranted, kFirstLost, kGranted}, {{Kind::request, 2}}},
      {majority, {kGranted, kFirstLost, kGranted, kGranted}, {{Kind::grant}}},
      {majority, {kSilent, kGranted, kSecondLost}, {{Kind::release, 1}, {Kind::cancel, 2}}},
      {majority, {kSilent, kGranted, kSecondLost, kNone}, {{Kind::request, 0}}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CompositeFsm g(cases[i].rule);
    EXPECT_EQ(g.start().size(), 1U);
    Effects effects;
    for (const Step& step : cases[i].steps) effects = effects_of(g, step);
    EXPECT_EQ(effects, cases[i].last) << "case " << i;
  }
}

TEST(CompositeFsm, SecondRound_RequestsEveryPart) {
  CompositeFsm g({.parts = 3, .needed = 2});
  g.start();
  g.on_part_answered(PartAnswer::skipped, kInTime);
  EXPECT_FALSE(g.requests_every_part());
  g.on_part_answered(PartAnswer::unreachable, kInTime);
  EXPECT_TRUE(g.requests_every_part());
}

TEST(CompositeFsm, StoppedBeforeTheStart_RequestsNothing) {
  CompositeFsm g({.parts = 2, .needed = 2});
  EXPECT_EQ(g.stop(), (Effects{{Kind::end}}));
  EXPECT_TRUE(g.start().empty());
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
