// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "zklock/awaitable.h"
#include "zklock/cli/core/duration.h"
#include "zklock/client.h"
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

/// How long a command waits at its end for is_settled().
inline constexpr std::chrono::seconds kReleaseTimeout{5};
/// Blocks until the ensemble has confirmed the release, or the withdrawal from the queue. Returns
/// false if it does not do so before the deadline, or if there is no connection.
[[nodiscard]] bool is_settled(Client& client, Deadline deadline);

/// Returns `exit_code`, or ends the process with it at once: without a confirmation of the release,
/// closing the client could take long. The servers end the session anyway.
[[nodiscard]] int end_with(Client& client, int exit_code);

/// Which lock a command acquires.
///
/// | choice           | class                                    |
/// |------------------|------------------------------------------|
/// | none             | Mutex                                    |
/// | shared           | SharedMutex, for reading                 |
/// | permits, of      | Semaphore with that count                |
/// | permits, no `of` | Semaphore with the count on the servers  |
/// | weight           | PriorityMutex                            |
struct LockChoice {
  bool shared = false;
  std::optional<int> permits = {};
  std::optional<int> of = {};
  std::optional<int> weight = {};
  std::optional<Duration> max_hold = {};
  std::optional<Duration> lock_delay = {};
  std::string note = {};
};

/// Returns a function that acquires the lock at `path`. Throws: Error.
[[nodiscard]] LockFunction make_contender(Client& client, const std::string& path,
                                          const LockChoice& choice);

/// Returns the name of the kind: "mutex", "shared", "permits" or "priority".
[[nodiscard]] const char* kind_of(const LockChoice& choice) noexcept;

/// Returns a function that stands once for the election at `path`. It retries temporary errors. Its
/// HeldLock is the leadership. After a loss it does not stand again. `on_leading` is called on a
/// thread of the client, before the handler, and does not throw.
/// Throws: Error.
[[nodiscard]] LockFunction make_candidacy(Client& client, const std::string& path,
                                          const std::string& note,
                                          std::function<void(const Leadership&)> on_leading);

}  // namespace zklock::cli
