// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "zklock/client/dispatcher.h"

namespace zklock::client {

/// Runs tasks on a dispatcher one after the other, in the order of post(). A task that throws
/// leaves its exception to the dispatcher, and the next one runs all the same. When the dispatcher
/// cannot take a task (it throws), or drops it, that stays in line, and goes with the next. When it
/// is destroyed, the tasks that are left still run.
///
/// Thread-safety: all members, from any thread, tasks included.
class Serial {
 public:
  explicit Serial(std::shared_ptr<Dispatcher> dispatcher);

  void post(std::function<void()> task);
  /// When tasks stand in line that the dispatcher did not take, it is asked again. Throws as post().
  void urge();
  /// What stands in line is not run any more.
  void clear() noexcept;

 private:
  class Line;
  std::shared_ptr<Line> line_;  // shared with the task that the dispatcher has
};

}  // namespace zklock::client
