// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "zklock/acquire_options.h"
#include "zklock/client/scheduler.h"
#include "zklock/core/seldom.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// One call of the user that acquires, whatever its face. It ends exactly once:
///
/// | state     | event                                               | next                          |
/// |-----------|-----------------------------------------------------|-------------------------------|
/// | waiting   | grant or error, within a Section of the engine      | completed: `done` is called   |
/// |           |                                                     | when that Section has ended   |
/// | waiting   | stop, deadline                                      | abandoned: `done` is called   |
/// |           |                                                     | at once                       |
/// | completed | stop, deadline                                      | completed                     |
/// | abandoned | grant                                               | abandoned; the contender      |
/// |           |                                                     | releases what no call takes   |
///
/// An abandoned call needs no mutex of the engine to end. The engine withdraws its contender soon
/// after, on a thread of the library.
///
/// Thread-safety: all members, from any thread, unless they say otherwise.
class AcquireCall : public std::enable_shared_from_this<AcquireCall> {
 public:
  /// As LockEngine::acquire(). A requested stop ends the call.
  static std::shared_ptr<AcquireCall> start(const std::shared_ptr<LockEngine>& engine,
                                            Wanted wanted, const std::stop_token& stop);
  AcquireCall(std::shared_ptr<LockEngine> engine, Wanted& wanted);
  AcquireCall(const AcquireCall&) = delete;
  AcquireCall& operator=(const AcquireCall&) = delete;
  ~AcquireCall();

  /// Ends the call with neither contender nor error, unless it has ended.
  void cancel() noexcept;
  /// The deadline has passed: ends the call, unless it has ended. With Error(not_connected) for a
  /// single attempt, or if no server was reached since the call began; with neither otherwise.
  void expire() noexcept;
  /// When the thread that waits for the end is to call expire().
  Deadline deadline() const noexcept { return waits_ ? deadline_ : Deadline::never(); }
  /// How long a thread that waits for the end had better stay awake.
  std::chrono::microseconds stay_awake() const noexcept {
    return engine_->core().settings().stay_awake;
  }

  /// Settings of the hold; also of the contender, if the call makes it.
  struct Terms {
    core::HoldLimit limit = {};
    LockAudience audience = {};
    core::Seldom<core::QueueRule> gate = {};
    friend bool operator==(const Terms&, const Terms&) = default;
  };
  const Terms& terms() const noexcept { return *terms_; }
  core::CountKind kind() const noexcept { return kind_; }
  const void* on_behalf() const noexcept { return on_behalf_; }
  bool has_ended() const noexcept {
    return state_.load(std::memory_order_acquire) != State::waiting;
  }
  bool has_passed(core::Instant now) const noexcept { return deadline_.has_passed(now); }
  bool is_endless() const noexcept { return deadline_.is_never(); }

  /// Within a Section, or before another thread knows the call: sets its timer anew. `waits`: with a
  /// contender that is not a single attempt.
  void arm(bool waits);
  bool waits() const noexcept { return waits_; }
  /// Within a Section.
  void disarm() noexcept;
  /// Within a Section. Ends the call; `done` is called after it. Returns false, and `done` is not
  /// called, if the call has ended.
  bool complete(Outcome outcome);

 private:
  enum class State { waiting, completed, abandoned };

  struct Cancel {
    std::weak_ptr<AcquireCall> call;
    void operator()() const noexcept {
      if (const auto alive = call.lock()) alive->cancel();
    }
  };

  bool leave_waiting(State next) noexcept;
  Outcome timed_out() const;
  void abandon(Outcome outcome) noexcept;
  void finish(Outcome outcome) noexcept;

  const std::shared_ptr<LockEngine> engine_;
  const Owner owner_;
  const core::CountKind kind_;
  const core::Instant began_;
  const std::uint64_t nodes_made_before_;  ///< nodes_made() of the engine at began_
  const bool waits_;                       ///< not a single attempt
  const bool blocks_;                      ///< a thread waits, and calls expire()
  const void* const on_behalf_;
  const Deadline deadline_;
  const core::Seldom<Terms> terms_;
  std::function<void(Outcome)> done_;  ///< of the thread that ended the call
  std::atomic<State> state_{State::waiting};
  std::optional<std::stop_callback<Cancel>> on_stop_;

  client::TimerId timer_{};  ///< guarded by the engine's mutex
};

}  // namespace zklock::recipes
