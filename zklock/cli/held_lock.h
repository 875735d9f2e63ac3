// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "zklock/cli/contender.h"
#include "zklock/cli/core/duration.h"
#include "zklock/deadline.h"
#include "zklock/hold.h"
#include "zklock/leadership.h"

namespace zklock::cli {

/// The lock of a command: a Hold, or the leadership of an election. It is empty if the acquire has
/// ended without one.
///
/// Thread-safety: as of Hold.
class HeldLock {
 public:
  HeldLock() = default;
  explicit HeldLock(Hold hold) noexcept : hold_(std::move(hold)) {}
  /// `end` ends the leadership. The destructor does not call it.
  HeldLock(Leadership leadership, std::function<void()> end)
      : leadership_(std::move(leadership)), end_(std::move(end)) {}

  explicit operator bool() const noexcept { return leadership_ || hold_; }
  /// Returns the Hold. If it is empty, Hold::blocked_by() says what held the lock.
  const Hold& hold() const noexcept { return hold_; }

  // Do what the members of Hold and Leadership with these names do.
  bool is_valid() const noexcept {
    return leadership_ ? leadership_->is_valid() : hold_.is_valid();
  }
  Instant valid_until() const noexcept {
    return leadership_ ? leadership_->valid_until() : hold_.valid_until();
  }
  std::optional<LossReason> loss_reason() const noexcept {
    return leadership_ ? leadership_->loss_reason() : hold_.loss_reason();
  }
  FencingToken token() const noexcept { return leadership_ ? leadership_->token() : hold_.token(); }
  std::string node() const { return leadership_ ? leadership_->node() : hold_.node(); }
  std::stop_token loss_token() const noexcept {
    return leadership_ ? leadership_->end_token() : hold_.loss_token();
  }
  std::stop_token release_request_token() const noexcept {
    return leadership_ ? leadership_->release_request_token() : hold_.release_request_token();
  }

  void release() {
    hold_.release();
    leadership_.reset();
    if (auto end = std::exchange(end_, nullptr)) end();
  }

 private:
  Hold hold_;
  std::optional<Leadership> leadership_;
  std::function<void()> end_;
};

/// Receives the lock, an empty HeldLock, or an exception. Runs on any thread.
using LockHandler = std::function<void(HeldLock, std::exception_ptr)>;
/// Acquires one lock. The object owns what it acquires.
using LockFunction = std::function<void(Deadline, std::stop_token, LockHandler)>;

/// Returns a function that acquires a Hold by `acquire`.
[[nodiscard]] inline LockFunction lock_function(AcquireFunction acquire) {
  return
      [acquire = std::move(acquire)](Deadline deadline, std::stop_token stop, LockHandler handler) {
        acquire(deadline, std::move(stop),
                [handler = std::move(handler)](Hold hold, std::exception_ptr error) {
                  handler(HeldLock(std::move(hold)), std::move(error));
                });
      };
}

}  // namespace zklock::cli
