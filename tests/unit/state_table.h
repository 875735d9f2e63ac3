// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <set>
#include <string>
#include <vector>

namespace zklock::core::state_table {

/// A transition of a state machine. If `state` and `next` are equal, the machine requested
/// something.
struct Transition {
  std::string state;
  std::string input;
  std::string next;
  friend auto operator<=>(const Transition&, const Transition&) = default;
};

using Transitions = std::set<Transition>;

/// Returns the transitions of the first state table in the comments of a header: a table with the
/// columns "state", "input" and "next". Throws std::runtime_error if it cannot be read.
///
/// An empty cell below "state" or "input" means the cell above it. A cell may list several names,
/// separated by commas. After a comma or an underscore at its end, it goes on in the cell below. A row whose
/// state is "[name]" adds to a group, which a cell below "next" may name. "the same" is the state
/// of the row. Rows without a next state continue a list, and "(final)" is no state.
///
/// `header`: its path below the folder of the sources.
Transitions transitions_of(const std::string& header);
/// Returns the transitions that the text of a header states.
Transitions parse(const std::string& text);

/// Returns the transitions that only one of the two sets has, each in a line; empty if there are
/// none.
std::string differences(const Transitions& made, const Transitions& table);

}  // namespace zklock::core::state_table
