// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "zklock/core/session.h"

namespace zklock::client {

/// The load of a Dispatcher.
struct Backlog {
  std::size_t running = 0;  ///< tasks begun and not ended
  std::size_t waiting = 0;  ///< tasks not begun
  core::Duration oldest{};  ///< wait of the oldest; 0 without one
};

/// Runs user code on threads that are not needed to keep sessions alive.
///
/// Thread-safety: all members, from any thread.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  /// Runs `task` soon, never from within post(). The task may block its thread for a while. Returns
  /// false if the dispatcher accepts no more tasks; then the task was dropped.
  virtual bool post(std::function<void()> task) = 0;
  /// Returns the present backlog. The default is for dispatchers without a queue.
  virtual Backlog backlog() const { return {}; }
};

}  // namespace zklock::client
