// SPDX-License-Identifier: Apache-2.0
// The state tables in the headers of the small machines, compared with the transitions that the
// machines make. acquire_fsm_table_test.cpp does this for the acquire machine.
#include "state_table.h"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/core/composite_fsm.h"
#include "zklock/core/election_fsm.h"

namespace zklock::core {
namespace {

using state_table::differences;
using state_table::Transitions;
using state_table::with_effects;

std::string name_of(const ElectionFsm& fsm) {
  constexpr const char* kNames[] = {"idle",   "contending", "backing_off", "leading",
                                    "ending", "closing",    "failed",      "closed"};
  return kNames[static_cast<std::size_t>(fsm.state())];
}

std::string name_of(const CompositeFsm& fsm) {
  constexpr const char* kNames[] = {"idle", "requesting", "cancelling", "granted", "ended"};
  return kNames[static_cast<std::size_t>(fsm.state())];
}

template <class Machine>
struct Input {
  std::string name;
  std::function<std::string(Machine&)> give;  ///< returns the effects, as the table has them
};

/// Gives all sequences of at most `depth` inputs to the machine, and records its transitions. The
/// table of the machine has effects if `shows_effects`.
template <class Machine>
void explore(const Machine& machine, const std::vector<Input<Machine>>& inputs, bool shows_effects,
             int depth, Transitions& made) {
  if (depth == 0) return;
  for (const auto& input : inputs) {
    Machine next = machine;
    const std::string effects = input.give(next);
    const std::string before = name_of(machine);
    const std::string after = name_of(next);
    if (!effects.empty() || after != before) {
      made.insert({before, input.name, with_effects(after, shows_effects ? effects : "")});
    }
    explore(next, inputs, shows_effects, depth - 1, made);
  }
}

std::string text_of(const ElectionEffects& effects) {
  constexpr const char* kNames[] = {"contend", "cancel",  "pause",       "begin",
                                    "stop",    "release", "release_late"};
  std::string text;
  for (const ElectionEffect effect : effects) {
    if (!text.empty()) text += ", ";
    text += kNames[static_cast<std::size_t>(effect)];
  }
  return text;
}

TEST(StateTable, ElectionFsm_MakesExactlyItsTable) {
  const auto input = [](std::string name, auto give) {
    return Input<ElectionFsm>{std::move(name),
                              [give](ElectionFsm& fsm) { return text_of(give(fsm)); }};
  };
  const std::vector<Input<ElectionFsm>> inputs{
      input("contend", [](ElectionFsm& fsm) { return fsm.contend(); }),
      input("on_granted", [](ElectionFsm& fsm) { return fsm.on_granted(fsm.attempt()); }),
      input("on_failed", [](ElectionFsm& fsm) { return fsm.on_failed(fsm.attempt(), false); }),
      input("on_failed", [](ElectionFsm& fsm) { return fsm.on_failed(fsm.attempt(), true); }),
      input("on_pause_over", [](ElectionFsm& fsm) { return fsm.on_pause_over(fsm.attempt()); }),
      input("on_lost", [](ElectionFsm& fsm) { return fsm.on_lost(fsm.attempt()); }),
      input("on_finished", [](ElectionFsm& fsm) { return fsm.on_finished(fsm.attempt()); }),
      input("on_finished",
            [](ElectionFsm& fsm) { return fsm.on_finished(fsm.attempt(), LeaderEnd::threw); }),
      input("on_finished",
            [](ElectionFsm& fsm) { return fsm.on_finished(fsm.attempt(), LeaderEnd::not_run); }),
      input("interrupt", [](ElectionFsm& fsm) { return fsm.interrupt(); }),
      input("withdraw", [](ElectionFsm& fsm) { return fsm.withdraw(); }),
      input("close", [](ElectionFsm& fsm) { return fsm.close(); })};
  Transitions made;
  for (const bool again : {false, true}) explore(ElectionFsm(again), inputs, true, 5, made);
  EXPECT_EQ(differences(made, state_table::transitions_of("zklock/core/election_fsm.h")), "");
}

TEST(StateTable, CompositeFsm_MakesExactlyItsTable) {
  constexpr std::size_t kParts = 3;
  std::vector<Input<CompositeFsm>> inputs;
  const auto add = [&inputs](std::string name, auto give) {
    inputs.push_back({std::move(name), [give](CompositeFsm& fsm) -> std::string {
                        return give(fsm).empty() ? "" : "some";
                      }});
  };
  add("start", [](CompositeFsm& fsm) { return fsm.start(); });
  add("stop", [](CompositeFsm& fsm) { return fsm.stop(); });
  add("on_part_timed_out", [](CompositeFsm& fsm) { return fsm.on_part_timed_out(); });
  for (std::size_t part = 0; part < kParts; ++part) {
    add("on_part_lost", [part](CompositeFsm& fsm) { return fsm.on_part_lost(part); });
  }
  for (const PartAnswer answer : {PartAnswer::granted, PartAnswer::none, PartAnswer::unreachable,
                                  PartAnswer::skipped, PartAnswer::failed}) {
    for (const bool late : {false, true}) {
      add("on_part_answered",
          [answer, late](CompositeFsm& fsm) { return fsm.on_part_answered(answer, late); });
    }
  }
  Transitions made;
  for (std::size_t needed = 1; needed <= kParts; ++needed) {
    for (const bool persists : {false, true}) {
      const CompositeFsm fsm({.parts = kParts, .needed = needed, .persists = persists});
      explore(fsm, inputs, false, 4, made);
    }
  }
  EXPECT_EQ(differences(made, state_table::transitions_of("zklock/core/composite_fsm.h")), "");
}

}  // namespace
}  // namespace zklock::core
