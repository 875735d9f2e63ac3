// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "zklock/acquire_options.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// One call of the user that acquires, whatever its face: joins the engine's ticket with the stop
/// token, whose callbacks may come at any time and from any thread.
///
/// Thread-safety: all members, from any thread.
class AcquireCall {
 public:
  /// As LockEngine::acquire; a requested stop cancels the call.
  static std::shared_ptr<AcquireCall> start(const std::shared_ptr<LockEngine>& engine,
                                            Wanted wanted, const std::stop_token& stop);
  /// The call will end soon, with neither contender nor error, unless it has ended.
  void cancel();
  /// How long a thread that waits for the end had better stay awake.
  std::chrono::microseconds stay_awake() const noexcept {
    return engine_->core().settings().stay_awake;
  }

 private:
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
  std::optional<Ticket> ticket_;
  bool cancelled_ = false;
};

}  // namespace zklock::recipes
