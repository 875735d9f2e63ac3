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

/// Returns all statuses that the input can have in the state, or {""} if it is an event. A status
/// may have the name of its request before it, and a fact about the machine after it, as in
/// "create: no_node, withdrawn".
using StatusesOf = std::function<Statuses(const std::string& state, const std::string& input)>;

/// Returns {""}.
Statuses no_statuses(const std::string& state, const std::string& input);

/// Returns the transitions of the first state table in the comments of a header: a table with the
/// columns "state", "input" and "next". Throws std::runtime_error if it cannot be read.
///
/// An empty cell below "state" or "input" means the cell above it. A cell may list several names,
/// separated by commas. After a comma or an underscore at its end, it goes on in the cell below. A
/// row whose state is "[name]" adds to a group, which a cell below "next" may name. "the same" is
/// the state of the row. Rows without a next state continue the row above, and "(final)" is no
/// state.
///
/// A cell below "status, condition" begins with the statuses of the row, separated by "/". The
/// words "any" and "any other" mean all statuses that are left, and "create: any" those of that
/// request. A status without a request means that of any request, and without a fact that with any
/// fact. Other conditions may stand between the status and the fact. They are not read, and neither
/// are remarks in parentheses. A row without other conditions decides: its statuses are not left
/// for the rows below. The rows of a group need no status: they have those of the rows that name
/// the group. A status that is never left is an error.
///
/// `header`: its path below the folder of the sources.
Transitions transitions_of(const std::string& header, const StatusesOf& statuses_of = no_statuses);
/// Returns the transitions that the text of a header states.
Transitions parse(const std::string& text, const StatusesOf& statuses_of = no_statuses);

/// Returns where the two sets differ: a line for each state and input, with the statuses and both
/// sets of next states. Empty if they do not differ.
std::string differences(const Transitions& made, const Transitions& table);

}  // namespace zklock::core::state_table
