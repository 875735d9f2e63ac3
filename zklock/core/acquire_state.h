// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zklock::core {

/// The states of one contender from start() to its grant. A contender that is not withdrawn leaves
/// a state only after the replies to all requests of that state. So a reply is never taken for the
/// reply to another request.
///
/// acquire_fsm_transitions.cpp has the transitions. acquire_transitions.md lists them.
enum class AcquireState : std::uint8_t {
  idle,
  enqueuing,       ///< create, then count or list the children
  making_parents,  ///< create the parents
  proving,         ///< check the path through the quorum
  recovering,      ///< list, to find its own znode
  inspecting,      ///< get a candidate for its own znode
  listing,         ///< list; get the permit count if shared
  moving,          ///< move from the gate to the queue
  creating_count,  ///< create the permit count
  arming,          ///< get and watch each predecessor
  waiting,         ///< for an event of a predecessor
  confirming,      ///< check its own znode
  pausing,         ///< for a timer, then repeat the requests
  marking,         ///< create its own delay marker
  delaying,        ///< for a timer, because of orphaned markers
  clearing,        ///< delete an orphaned delay marker
  removing_path,   ///< delete the path, or recreate it
  draining,        ///< list, until the path can be deleted
  granted,
  ended,
};

}  // namespace zklock::core
