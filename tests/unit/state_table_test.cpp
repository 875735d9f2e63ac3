// SPDX-License-Identifier: Apache-2.0
// The state tables in the headers of the small machines, compared with the transitions that the
// machines make. acquire_fsm_table_test.cpp does this for the acquire machine.
#include "state_table.h"

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/core/composite_fsm.h"
#include "zklock/core/election_fsm.h"

namespace zklock::core {
namespace {

using state_table::differences;
using state_table::parse;
using state_table::Transitions;

// ---- reading a table ----------------------------------------------------------------------------

TEST(StateTable, Lists_AreExpanded) {
  const Transitions table = parse(R"(
/// | state   | input     | condition | next     |
/// |---------|-----------|-----------|----------|
/// | a, b    | x         |           | d,       |
/// |         |           |           | e        |
/// |         | y,  long_ | never     | c        |
/// |         | name      | always    | the same |
/// | c       |           |           | (final)  |
///
/// | another | table     |
)");
  const Transitions expected{
      {"a", "x", "d"}, {"a", "x", "e"},         {"b", "x", "d"}, {"b", "x", "e"},
      {"a", "y", "c"}, {"a", "long_name", "c"}, {"b", "y", "c"}, {"b", "long_name", "c"},
      {"a", "y", "a"}, {"a", "long_name", "a"}, {"b", "y", "b"}, {"b", "long_name", "b"}};
  EXPECT_EQ(differences(expected, table), "");
}

/// The reply "r" has statuses. All other inputs are events.
state_table::Statuses statuses_of(const std::string& input) {
  return input == "r" ? state_table::Statuses{"ok", "no", "bad", "late"} : state_table::Statuses{};
}

TEST(StateTable, Statuses_AreThoseThatAreLeft) {
  const Transitions table = parse(R"(
/// | state | input | status, condition | next |
/// |-------|-------|-------------------|------|
/// | a     | r     | ok /              | b    |
/// |       |       | no                |      |
/// |       |       | any other         | c    |
/// |       | x     | never             | d    |
)",
                                  &statuses_of);
  const Transitions expected{{"a", "r", "b", "ok"},
                             {"a", "r", "b", "no"},
                             {"a", "r", "c", "bad"},
                             {"a", "r", "c", "late"},
                             {"a", "x", "d"}};
  EXPECT_EQ(differences(expected, table), "");
}

TEST(StateTable, StatusThatIsNotLeft_Throws) {
  const std::string head = "/// | state | input | status, condition | next |\n";
  for (const char* condition : {"", "bda", "ok / bda", "ok / ok"}) {
    const std::string row = "/// | a | r | " + std::string(condition) + " | b |\n";
    EXPECT_THROW((void)parse(head + row, &statuses_of), std::runtime_error) << condition;
  }
  const std::string rows = "/// | a | r | any other | b |\n/// | | | ok | c |\n";
  EXPECT_THROW((void)parse(head + rows, &statuses_of), std::runtime_error);
}

TEST(StateTable, Difference_NamesStatusesAndBothSets) {
  EXPECT_EQ(differences({{"a", "x", "b"}}, {{"a", "x", "c"}}),
            "a, x -> {b}, but the table says {c}\n");
  const Transitions made{{"a", "r", "b", "no"}, {"a", "r", "b", "ok"}, {"a", "r", "c", "no"}};
  EXPECT_EQ(differences(made, {}),
            "a, r, no -> {b, c}, but the table says {}\n"
            "a, r, ok -> {b}, but the table says {}\n");
  EXPECT_EQ(differences({}, {{"a", "r", "b", "no"}, {"a", "r", "b", "ok"}}),
            "a, r, no / ok -> {}, but the table says {b}\n");
}

TEST(StateTable, NoTable_Throws) {
  EXPECT_THROW((void)parse("/// | state | next |\n"), std::runtime_error);
  EXPECT_THROW((void)state_table::transitions_of("zklock/core/none.h"), std::runtime_error);
}

// ---- the machines -------------------------------------------------------------------------------

template <class Machine>
struct Input {
  std::string name;
  std::function<bool(Machine&)> give;  ///< returns whether there are effects
};

template <class Machine>
using StateNames = std::string (*)(const Machine&);

/// Gives all sequences of at most `depth` inputs to the machine, and records its transitions.
template <class Machine>
void explore(const Machine& machine, const std::vector<Input<Machine>>& inputs,
             StateNames<Machine> name, int depth, Transitions& made) {
  if (depth == 0) return;
  for (const auto& input : inputs) {
    Machine next = machine;
    const bool has_effects = input.give(next);
    const std::string before = name(machine);
    if (has_effects || name(next) != before) made.insert({before, input.name, name(next)});
    explore(next, inputs, name, depth - 1, made);
  }
}

std::string name_of(const ElectionFsm& fsm) {
  switch (fsm.state()) {
    case CandidateState::idle: return "idle";
    case CandidateState::contending: return "contending";
    case CandidateState::backing_off: return "backing_off";
    case CandidateState::leading: return "leading";
    case CandidateState::ending: return "ending";
    case CandidateState::closing: return "closing";
    case CandidateState::failed: return "failed";
    case CandidateState::closed: return "closed";
  }
  return {};
}

TEST(StateTable, ElectionFsm_MakesExactlyItsTable) {
  const auto input = [](std::string name, auto give) {
    return Input<ElectionFsm>{std::move(name),
                              [give](ElectionFsm& fsm) { return !give(fsm).empty(); }};
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
  for (const bool again : {false, true}) explore(ElectionFsm(again), inputs, &name_of, 5, made);
  EXPECT_EQ(differences(made, state_table::transitions_of("zklock/core/election_fsm.h")), "");
}

std::string name_of(const CompositeFsm& fsm) {
  switch (fsm.state()) {
    case CompositeState::idle: return "idle";
    case CompositeState::requesting: return "requesting";
    case CompositeState::cancelling: return "cancelling";
    case CompositeState::granted: return "granted";
    case CompositeState::ended: return "ended";
  }
  return {};
}

TEST(StateTable, CompositeFsm_MakesExactlyItsTable) {
  constexpr std::size_t kParts = 3;
  using Inputs = std::vector<Input<CompositeFsm>>;
  Inputs inputs{
      {"start", [](CompositeFsm& fsm) { return !fsm.start().empty(); }},
      {"stop", [](CompositeFsm& fsm) { return !fsm.stop().empty(); }},
      {"on_part_timed_out", [](CompositeFsm& fsm) { return !fsm.on_part_timed_out().empty(); }}};
  for (std::size_t part = 0; part < kParts; ++part) {
    inputs.push_back(
        {"on_part_lost", [part](CompositeFsm& fsm) { return !fsm.on_part_lost(part).empty(); }});
  }
  for (const PartAnswer answer : {PartAnswer::granted, PartAnswer::none, PartAnswer::unreachable,
                                  PartAnswer::skipped, PartAnswer::failed}) {
    for (const bool late : {false, true}) {
      inputs.push_back({"on_part_answered", [answer, late](CompositeFsm& fsm) {
                          return !fsm.on_part_answered(answer, late).empty();
                        }});
    }
  }
  Transitions made;
  for (std::size_t needed = 1; needed <= kParts; ++needed) {
    for (const bool persists : {false, true}) {
      const CompositeFsm fsm({.parts = kParts, .needed = needed, .persists = persists});
      explore(fsm, inputs, &name_of, 4, made);
    }
  }
  EXPECT_EQ(differences(made, state_table::transitions_of("zklock/core/composite_fsm.h")), "");
}

}  // namespace
}  // namespace zklock::core
