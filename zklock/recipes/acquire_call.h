// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "zklock/acquire_options.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// One call of the user that acquires, whatever its face: joins the engine's ticket with the stop
/// token, whose callbacks may come at any time and from any thread. Where there is a gate, it is
/// passed first, and kept until the lock is had, or will not be: so whoever comes later to the gate
/// finds the lock taken. An owner that contends for the lock already, or lost it, needs no leave: it
/// joins, nests, or hears of the loss.
///
/// The session may end after the gate was passed. The leave is lost then, and the lock queues again
/// without one, at the end. That is fair to those who have passed meanwhile, as they are before it
/// now, and to those who still wait at the gate, as they were behind it already.
///
/// Thread-safety: all members, from any thread.
class AcquireCall : public std::enable_shared_from_this<AcquireCall> {
 public:
  /// As LockEngine::acquire; a requested stop cancels the call.
  static std::shared_ptr<AcquireCall> start(const std::shared_ptr<LockEngine>& engine,
                                            Wanted wanted, const std::stop_token& stop);
  /// The call will end soon, with neither contender nor error, unless it has ended.
  void cancel();

 private:
  /// Throws what LockEngine::acquire() throws; then there is no call.
  void ask(const std::shared_ptr<LockEngine>& engine, Wanted wanted);
  Wanted for_the_gate(Wanted wanted);
  void passed(Wanted wanted, Outcome gate);

  explicit AcquireCall(std::shared_ptr<LockEngine> engine) : engine_(std::move(engine)) {}

  struct Cancel {
    std::weak_ptr<AcquireCall> call;
    void operator()() const {
      if (const auto alive = call.lock()) alive->cancel();
    }
  };

  const std::shared_ptr<LockEngine> engine_;
  std::optional<std::stop_callback<Cancel>> on_stop_;

  std::mutex mutex_;
  // guarded by mutex_
  std::shared_ptr<LockEngine> asked_;
  std::optional<Ticket> ticket_;
  bool cancelled_ = false;
};

}  // namespace zklock::recipes
