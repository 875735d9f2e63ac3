// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/engine/session/running_callbacks.h"

namespace zklock::detail {

/// Makes a thread of EngineContext::loss_dispatcher() run `task` after the EngineLock has ended.
/// The user's callbacks in `task` may block, and may call the user's lock object.
void post_after_unlock(const std::shared_ptr<PathLock>& path, std::function<void()> task);

/// The notification of one loss. The loss callbacks run on a loss thread, because they may block.
/// If the znode still exists, it is deleted after them, at the latest after the limit
/// (ClientOptions::loss_callback_limit). It must be deleted: the session can outlive its lease.
///
/// | state   | event                                              | next                          |
/// |---------|----------------------------------------------------|-------------------------------|
/// | new     | start(), the znode may exist                       | pending                       |
/// |         | start(), no znode exists                           | over                          |
/// | pending | run() and all objects of delay_delete() have ended | over: the znode is deleted    |
/// |         | the limit has passed                               | over: the znode is deleted    |
///
/// Thread-safety: any thread may call run(). REQUIRES for the other members:
/// the engine mutex is held. Made by std::make_shared.
class LossNotification : public std::enable_shared_from_this<LossNotification> {
 public:
  /// Deletes the znode as a part of the work. Called with the engine mutex held, at most once.
  using DeleteNode = std::function<void(BackgroundWork::Id)>;

  /// `loss`: stopped by run(). `delete_node`: empty if no znode exists. `line`: logged by run();
  /// empty: not logged.
  LossNotification(std::shared_ptr<PathLock> path, std::stop_source loss, DeleteNode delete_node,
                   std::string line);

  EngineLock::Entry entry() const noexcept { return path_->entry(); }
  /// Makes a loss thread call run(), after the EngineLock has ended.
  void start();
  /// Returns an object for a recipe whose own loss follows from this one. The delete waits for the
  /// end of the object too, but no longer than the limit. Returns null if the state is not pending.
  std::shared_ptr<void> delay_delete();
  /// Logs the line, and stops the loss token: the user's callbacks run on this thread. Then ends
  /// its part of the work.
  void run();

 private:
  /// Records the end of run(), or of one object of delay_delete(). After the last end, deletes the
  /// znode.
  void end_part();
  void delete_node();

  const std::shared_ptr<PathLock> path_;
  std::stop_source loss_;
  std::string line_;  ///< used by run() only
  DeleteNode delete_node_;
  client::TimerId limit_timer_{};
  /// The callbacks of loss_. Counted from the loss, even if they wait for a thread.
  RunningCallbacks::Call callback_{"a loss callback of ", path_->path().str()};
  /// While pending.
  std::optional<BackgroundWork::Id> work_;
  /// run() and the objects of delay_delete().
  int unfinished_ = 1;
};

}  // namespace zklock::detail
