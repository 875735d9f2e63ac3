// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <functional>
#include <set>
#include <string>

namespace zklock::core::state_table {

/// A transition of a state machine. If `state` and `next` are equal, the machine requested
/// something.
struct Transition {
  std::string state;
  std::string input;
  std::string next;
  std::string status = {};  ///< of the reply; empty for an event
  friend auto operator<=>(const Transition&, const Transition&) = default;
};

using Transitions = std::set<Transition>;
using Statuses = std::set<std::string>;

/// Returns all statuses that the input can have; none if it is an event.
using StatusesOf = std::function<Statuses(const std::string& input)>;

/// Returns none.
Statuses no_statuses(const std::string& input);

/// Returns the transitions of the first state table in the comments of a header: a table with the
/// columns "state", "input" and "next". Throws std::runtime_error if it cannot be read.
///
/// An empty cell below "state" or "input" means the cell above it. A cell may list several names,
/// separated by commas. After a comma or an underscore at its end, it goes on in the cell below.
/// "the same" is the state of the row. Rows without a next state continue the row above, and
/// "(final)" is no state.
///
/// If the input has statuses, the cell below "status, condition" lists those of the row, separated
/// by "/". "any other" means all that the rows above it have left. A status that is not left is an
/// error. The conditions of events are not read. If the table has a column "effects", each next
/// state has those of its row: see with_effects().
///
/// `header`: its path below the folder of the sources.
Transitions transitions_of(const std::string& header, const StatusesOf& statuses_of = no_statuses);

/// Returns for example "leading (begin)"; only the state if there are no effects.
std::string with_effects(const std::string& state, const std::string& effects);

/// Returns where the two sets differ: a line for each state and input, with the statuses and both
/// sets of next states. Empty if they do not differ.
std::string differences(const Transitions& made, const Transitions& table);

}  // namespace zklock::core::state_table
