// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace zklock::client {

/// Takes user code off the threads that keep sessions alive.
///
/// Thread-safety: all members, from any thread.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  /// Runs `task` soon, on a thread that may be kept for a while, never from within post().
  /// False: no tasks are taken any more, and this one was dropped.
  virtual bool post(std::function<void()> task) = 0;
};

}  // namespace zklock::client
