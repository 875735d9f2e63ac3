// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "zklock/hold.h"

namespace zklock {

/// Receives the outcome of an asynchronous acquire: a Hold; or an empty Hold and no error (the
/// deadline passed, or a stop was requested); or an empty Hold and an exception, an Error.
using AcquireHandler = std::function<void(Hold, std::exception_ptr)>;

/// What the co_...() functions return: to be awaited once, at once. The coroutine goes on where the
/// handler of the asynchronous call runs: on the client's executor. `co_await` gives the Result, or
/// throws what the asynchronous call reports.
///
/// Thread-safety: none.
template <class Result>
class BasicAwaitable {
  template <class R>
  struct Outcome {
    using Handler = std::function<void(R, std::exception_ptr)>;
    using Value = R;
  };
  template <class R>
  requires std::is_void_v<R>
  struct Outcome<R> {
    using Handler = std::function<void(std::exception_ptr)>;
    using Value = std::monostate;
  };

 public:
  using Handler = typename Outcome<Result>::Handler;
  /// `start` begins the asynchronous call whose outcome goes to the handler.
  explicit BasicAwaitable(std::function<void(Handler)> start) : start_(std::move(start)) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) {
    // The coroutine may go on, and this object with it, before start() has returned.
    const auto start = std::move(start_);
    if constexpr (std::is_void_v<Result>) {
      start([this, caller](std::exception_ptr error) { go_on(caller, {}, std::move(error)); });
    } else {
      start([this, caller](Result result, std::exception_ptr error) {
        go_on(caller, std::move(result), std::move(error));
      });
    }
  }
  Result await_resume() {
    if (error_) std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<Result>) return std::move(value_);
  }

 private:
  using Value = typename Outcome<Result>::Value;
  void go_on(std::coroutine_handle<> caller, Value value, std::exception_ptr error) {
    value_ = std::move(value);
    error_ = std::move(error);
    caller.resume();
  }

  std::function<void(Handler)> start_;
  Value value_;
  std::exception_ptr error_;
};

using Awaitable = BasicAwaitable<Hold>;

}  // namespace zklock
