// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "zklock/deadline.h"
#include "zklock/owner.h"

namespace zklock {

/// How one call acquires. Every member has a default: `mutex.acquire({.deadline = 2s})`. In the
/// operand of co_await, pass a deadline and a stop token, or a named AcquireOptions variable; see
/// BasicAwaitable.
/// Source: the blocking, timeout and lease arguments of Kazoo's Lock.acquire() and of
/// org.redisson.api.RLock.tryLock(), as one value.
///
/// A call that fails says so in its own manner, also when it is an option that is refused: one that
/// blocks throws, a future and a co_await throw when they are asked, and a handler gets the
/// exception. (Only that a client is closed or forked is thrown by the call with a handler itself:
/// there is nobody to run that.)
///
/// Thread-safety: a value.
struct AcquireOptions {
  /// On whose behalf. Unset: the calling thread for calls that block; a new Owner::unique() for
  /// callbacks, futures and coroutines, so that two of them never nest by accident.
  std::optional<Owner> owner = std::nullopt;

  /// One deadline for everything: connecting, queueing, queueing again on a new session.
  Deadline deadline = Deadline::never();

  /// Stops waiting: the contender leaves the queue, and the call ends without a Hold.
  std::stop_token stop = {};

  /// Instead of MutexOptions::max_hold, for this call. Ignored by a call that nests. It must be
  /// positive: else the call fails with Error(invalid_option), and nothing is sent.
  std::optional<std::chrono::milliseconds> max_hold = std::nullopt;
};

}  // namespace zklock
