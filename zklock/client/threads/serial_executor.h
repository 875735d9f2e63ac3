// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "zklock/client/port/dispatcher.h"

namespace zklock::client {

/// Runs tasks on a dispatcher one after the other, in the order of post(). If a task throws, the
/// dispatcher receives the exception, and the next task still runs. If the dispatcher drops a task,
/// the task stays queued until the next post() or dispatch(). Tasks that are queued when this object
/// is destroyed still run.
///
/// Thread-safety: all members, from any thread, also from a task.
class SerialExecutor {
 public:
  explicit SerialExecutor(std::shared_ptr<Dispatcher> dispatcher);

  void post(std::function<void()> task);
  /// Posts to the dispatcher again if tasks are queued that it did not accept.
  void dispatch();
  /// Drops all queued tasks.
  void clear() noexcept;

 private:
  class Queue;
  std::shared_ptr<Queue> queue_;  // shared with the dispatched task
};

}  // namespace zklock::client
