// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "acquire_steps.h"

namespace zklock::core::acquire_test {

/// A machine, and what is known about its past. Two machines with equal keys behave alike, except
/// that limits of repetitions are reached at different times.
struct Explored {
  AcquireFsm fsm;
  State paused_in = State::idle;
  bool withdrawn = false;
  bool failed = false;
  bool create_answered = false;
  bool name_taken = false;
  bool own_node_deleted = false;
  bool marked = false;
  /// 0: none; 1: one was read; 2: a list came after it.
  int newer_predecessors = 0;
  std::size_t candidates = 0;
  std::set<std::string> active = {};  ///< watches that were set and did not fire
  std::string replies = {};           ///< since the last request
  std::string status = "ok";          ///< of these replies; see status_after()

  std::string key() const {
    const State state = fsm.state();
    std::string key(to_string(state));
    const auto add = [&](auto value) { key += ' ' + std::to_string(static_cast<int>(value)); };
    if (state == State::granted || state == State::ended) return key;
    if (state == State::pausing) key += to_string(paused_in);
    if (state == State::enqueuing) {
      add(create_answered);
      key += ' ' + status;
    }
    for (const bool fact :
         {withdrawn, failed, name_taken, own_node_deleted, marked, fsm.node().exists(),
          fsm.node().at_gate(), fsm.delay_markers().has_own(), fsm.waits_for_announcement(),
          fsm.is_counting_children()}) {
      add(fact);
    }
    add(newer_predecessors);
    add(candidates);
    add(fsm.delay_markers().orphans.size());
    add(fsm.policy().rule.total);
    if (fsm.node().session().value != 0) key += ' ' + fsm.node().name();
    if (state == State::arming || state == State::waiting || paused_in == State::arming) {
      for (const std::string& node : fsm.predecessors().nodes()) key += ' ' + node;
    }
    for (const std::string& node : active) key += ' ' + node;
    return key + ' ' + replies;
  }
};

struct Input {
  std::string name;
  std::string answer;  ///< its class
  std::function<AcquireEffects(AcquireFsm&)> give;
  Status status = Status::ok;
  std::string node = {};        ///< of a watch
  bool is_newer = false;        ///< the node has a newer token
  std::size_t candidates = 0;   ///< in a list
  Status permits = Status::ok;  ///< of the permit count, with a list
};

using Inputs = std::vector<Input>;

/// Returns whether the machine awaits the reply.
bool awaits(const AcquireFsm& fsm, std::string_view reply);

/// Returns all inputs that a driver could give now, and one of each reply that the state does not
/// await.
Inputs inputs_of(const Explored& from);

/// Returns the status that the page names if this is the last reply to the last requests; ""
/// for an event. If several replies failed, it is that of the create, or else the first failure
/// except "no_node". If a list is ok, it is the status of the shared permit count.
std::string status_after(const Explored& from, const Input& input);

/// Returns the fact after a status: ", withdrawn", ", own znode deleted", or "" for neither. A
/// contender that failed counts as withdrawn.
std::string fact_of(const Explored& from);

/// The page that lists all transitions of the machine. Its path is below the folder of the sources.
inline constexpr std::string_view kTransitionsPage = "zklock/core/acquire_transitions.md";
std::string transitions_page();
/// Returns the pairs of states on the page, as "listing -> arming".
std::set<std::string> known_pairs();

}  // namespace zklock::core::acquire_test
