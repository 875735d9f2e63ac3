// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/deadline.h"
#include "zklock/owner.h"

namespace zklock {

/// Options of one acquiring call. Every member has a default: `mutex.acquire({.deadline = 2s})`. In
/// the operand of co_await, pass a deadline and a stop token, or a named AcquireOptions variable;
/// see BasicAwaitable.
/// Source: the blocking, timeout and lease arguments of Kazoo's Lock.acquire() and of
/// org.redisson.api.RLock.tryLock(), as one value.
///
/// AcquiringLock explains the calls, and how they report errors.
///
/// Thread-safety: a value.
struct AcquireOptions {
  /// The owner of the hold. Default for blocking calls: the calling thread. Default for handlers,
  /// futures and coroutines: a new Owner::unique(), so that two calls never nest by accident.
  std::optional<Owner> owner = std::nullopt;

  /// The deadline of the whole call: to connect, to wait, and to enqueue again on a new session.
  Deadline deadline = Deadline::never();

  /// Ends the wait: the contender leaves the queue, and the call ends without a Hold.
  std::stop_token stop = {};

  /// Replaces LockOptions::max_hold for this call. It has no effect on a call that nests. It must
  /// be positive; otherwise the call sends nothing and fails with Error(invalid_option).
  std::optional<std::chrono::milliseconds> max_hold = std::nullopt;

  /// The purpose of this hold, for people: a job, a request. The lock znode shows it, and so do
  /// Participant::note, the log and the texts of LockState. It is cut to 200 bytes. Every client
  /// with READ permission on the lock's znodes can read it. It has no effect on a call that nests.
  std::string note = {};
};

}  // namespace zklock
