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
#include "zklock/mutex_options.h"
#include "zklock/reentrant_mutex.h"

namespace zklock {

/// What became of a with_lock().
///
/// | outcome   | the function was run | meaning                                                   |
/// |-----------|----------------------|-----------------------------------------------------------|
/// | ran       | to its end           | the lock was held all the time                            |
/// | not_run   | no                   | the deadline passed, or a stop was requested, in the queue|
/// | lost      | to its end           | the lock was lost meanwhile: others may have worked too   |
enum class LockOutcome { ran, not_run, lost };

/// The outcome, with what the function returned. (Value is std::monostate for one that returns
/// nothing.)
///
/// Thread-safety: a value.
template <class Value>
struct LockResult {
  LockOutcome outcome = LockOutcome::not_run;
  FencingToken token = {};  ///< of the grant; lower than every real one without
  std::optional<Value> value = {};

  /// Whether it ran, under the lock from its beginning to its end.
  explicit operator bool() const noexcept { return outcome == LockOutcome::ran; }
};

/// A lock for one block: `const Hold hold = hold_lock(client, "/locks/report", {.deadline = 5s});`.
/// Effects, blocking and errors: those of ReentrantMutex and its acquire(); and
/// Error(invalid_option) for a listener, which would go with the mutex, at once: make a
/// ReentrantMutex that outlives the hold.
inline Hold hold_lock(Client& client, std::string path, AcquireOptions options = {},
                      MutexOptions mutex = {}) {
  if (mutex.listener) {
    throw Error(Errc::invalid_option, "lock", path,
                "a listener is heard for as long as its mutex lives, and here that is not kept");
  }
  return ReentrantMutex(client, std::move(path), std::move(mutex)).acquire(std::move(options));
}

/// Runs `function` under the lock of `path`, and says what became of it. It is called with the Hold
/// (for its token and its lost()), or without arguments. Calls of one thread nest. Source: Kazoo's
/// Lock in a `with` block, which does not say whether the lock lasted.
///
/// Blocks: for the lock, within options.deadline, and for the function. The function is not
/// interrupted when the lock is lost; it can watch hold.lost().
/// Throws: what ReentrantMutex::acquire() throws; and what the function throws, after the lock was
/// released.
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
  result.outcome = hold.state() == HoldState::lost ? LockOutcome::lost : LockOutcome::ran;
  return result;
}

}  // namespace zklock
