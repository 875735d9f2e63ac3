// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "zklock/client/dispatcher.h"
#include "zklock/recipes/background_work.h"
#include "zklock/recipes/client_core.h"

namespace zklock::recipes {

/// A task for a dispatcher of the client that must not get lost: somebody waits for it. When the
/// system gives no thread, that is tried again a little later, and not done on the thread that asked
/// for it: that may keep the sessions of the whole client alive, and the task may block. Until then
/// a loss is one of the client's untold_losses(). A client that is closed takes no more, and drops
/// the timer; then the task runs where that shows. What an executor of the user's has taken is his:
/// it never runs anywhere else. Nothing runs in a fork()ed child.
///
/// Thread-safety: all members, from any thread.
class Delivery : public std::enable_shared_from_this<Delivery> {
 public:
  /// Does not block. `what` is for the log: an operation and a path. What the task throws is the
  /// dispatcher's.
  static void send(std::shared_ptr<ClientCore> core, client::Dispatcher& dispatcher,
                   std::string what, std::function<void()> task);

  Delivery(std::shared_ptr<ClientCore> core, client::Dispatcher& dispatcher, std::string what,
           std::function<void()> task);
  ~Delivery();
  /// Whether the calling thread runs one where no dispatcher has.
  static bool runs_here() noexcept;
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

 private:
  void post() noexcept;
  void warn(const char* why) noexcept;  ///< once
  void run();
  void wait_for_thread();
  void end_waiting() noexcept;

  const std::shared_ptr<ClientCore> core_;  ///< whose the dispatcher is
  client::Dispatcher& dispatcher_;
  std::string what_;                          ///< empty once it was logged
  std::function<void()> task_;                ///< empty once it was run
  bool taken_ = false;                        ///< by the dispatcher; set before it can run
  std::optional<BackgroundWork::Id> untold_;  ///< of a loss, while there is no thread for it
};

}  // namespace zklock::recipes
