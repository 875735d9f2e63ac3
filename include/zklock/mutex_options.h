// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zklock {

/// What becomes of a waiter whose node went: its session expired, or somebody deleted it.
enum class OnNodeLost {
  queue_again,  ///< at the end of the queue, within the same deadline
  fail,         ///< the call throws session_expired or node_deleted
};

/// How a lock object behaves. Every member has a default.
///
/// Thread-safety: a value.
struct MutexOptions {
  OnNodeLost on_node_lost = OnNodeLost::queue_again;
};

}  // namespace zklock
