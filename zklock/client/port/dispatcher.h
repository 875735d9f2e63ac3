// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace zklock::client {

/// Runs user code on threads that are not needed to keep sessions alive.
///
/// Thread-safety: all members, from any thread.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  /// Runs `task` soon, never from within post(). The task may block its thread for a while. Returns
  /// false if the dispatcher accepts no more tasks; then the task was dropped.
  virtual bool post(std::function<void()> task) = 0;
};

}  // namespace zklock::client
