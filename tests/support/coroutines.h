// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <future>
#include <optional>
#include <utility>

#include "zklock/error.h"

namespace zklock::testing {

// A coroutine that starts at once, returns nothing and destroys itself at its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// A coroutine that starts at once. Its future receives the return value or the exception.
template <class T>
struct Task {
  struct promise_type {
    std::promise<T> result;
    Task get_return_object() { return {result.get_future()}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_value(T value) { result.set_value(std::move(value)); }
    void unhandled_exception() { result.set_exception(std::current_exception()); }
  };
  std::future<T> result;
};

// A coroutine that only its owner destroys.
struct Owned {
  struct promise_type {
    Owned get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

// The error code of a call; none if it succeeded.
using AcquireOutcome = std::optional<Errc>;

// Awaits the awaitable that `begin` returns, and stores its outcome in `result`. REQUIRES: `begin`
// lives until then.
template <class Begin>
Detached await_in_coroutine(Begin& begin, std::promise<AcquireOutcome>& result) {
  AcquireOutcome outcome;
  try {
    static_cast<void>(co_await begin());
  } catch (const Error& error) {
    outcome = error.errc();
  }
  result.set_value(outcome);
}

}  // namespace zklock::testing
