// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "zklock/acquire_options.h"
#include "zklock/client.h"
#include "zklock/error.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/lock_options.h"
#include "zklock/reentrant_mutex.h"

namespace zklock {

/// The outcome of with_lock().
///
/// | outcome   | the function was run | meaning                                                   |
/// |-----------|----------------------|-----------------------------------------------------------|
/// | ran       | to its end           | the lock was held all the time                            |
/// | not_run   | no                   | the deadline passed or a stop was requested before a grant|
/// | lost      | to its end           | the lock was lost meanwhile: others may have worked too   |
enum class LockOutcome { ran, not_run, lost };

/// The outcome, with the return value of the function. Value is std::monostate for a function that
/// returns void.
///
/// Thread-safety: a value.
template <class Value>
struct [[nodiscard]] LockResult {
  /// Says whether the function ran, and whether the lock was held.
  LockOutcome outcome = LockOutcome::not_run;
  /// Token of the grant. Without a grant it is lower than every real token.
  FencingToken token = {};
  /// The return value of the function.
  std::optional<Value> value = {};

  /// Returns whether the function ran to its end and the lock was held all the time.
  explicit operator bool() const noexcept { return outcome == LockOutcome::ran; }
};

/// A lock for one block: `const Hold hold = hold_lock(client, "/locks/report", {.deadline = 5s});`.
/// Acquires a temporary ReentrantMutex on `path`, with the options in `mutex`. Returns and
/// blocks as acquire() of AcquiringLock does.
/// Throws: what that acquire() and the constructor of ReentrantMutex throw. Error(invalid_option)
/// if `mutex.listener` is set: it would be removed with the temporary mutex. For a listener, make a
/// ReentrantMutex that outlives the hold.
inline Hold hold_lock(Client& client, std::string path, AcquireOptions options = {},
                      const CohortOptions& mutex = {}) {
  if (mutex.listener) {
    throw Error(Errc::invalid_option, "lock", path,
                "a listener needs a mutex that outlives the hold; create a ReentrantMutex");
  }
  return ReentrantMutex(client, std::move(path), mutex).acquire(std::move(options));
}

/// Runs `function` under the lock of `path` and returns the outcome. Calls the function with the
/// Hold (for its token and its loss_token()), or without arguments. Calls of one thread nest.
///
/// Blocks until the lock is granted, at most until options.deadline, and while the function runs.
/// The function is not interrupted when the lock is lost. It can watch hold.loss_token().
/// Throws: what hold_lock() throws; what the function throws, after the lock was released.
/// Source: Kazoo's Lock in a `with` block, which does not report whether the lock was lost.
template <class Function>
requires std::invocable<Function, const Hold&> || std::invocable<Function>
auto with_lock(Client& client, std::string path, AcquireOptions options, Function&& function) {
  const auto call = [&](const Hold& hold) -> decltype(auto) {
    if constexpr (std::invocable<Function, const Hold&>) {
      return std::invoke(std::forward<Function>(function), hold);
    } else {
      return std::invoke(std::forward<Function>(function));
    }
  };
  using Returned = std::invoke_result_t<decltype(call), const Hold&>;
  using Value =
      std::conditional_t<std::is_void_v<Returned>, std::monostate, std::remove_cvref_t<Returned>>;
  LockResult<Value> result;
  const Hold hold = hold_lock(client, std::move(path), std::move(options));
  if (!hold) return result;
  result.token = hold.token();
  if constexpr (std::is_void_v<Returned>) {
    call(hold);
    result.value.emplace();
  } else {
    result.value.emplace(call(hold));
  }
  result.outcome = hold.is_valid() ? LockOutcome::ran : LockOutcome::lost;
  return result;
}
/// Does the same without a deadline.
template <class Function>
requires std::invocable<Function, const Hold&> || std::invocable<Function>
auto with_lock(Client& client, std::string path, Function&& function) {
  return with_lock(client, std::move(path), {}, std::forward<Function>(function));
}

}  // namespace zklock
