// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "zklock/hold.h"

namespace zklock {

/// Receives the outcome of an asynchronous acquire: a Hold; or an empty Hold and no error (the
/// deadline passed, or a stop was requested); or an empty Hold and an exception, an Error.
using AcquireHandler = std::function<void(Hold, std::exception_ptr)>;

/// What the co_acquire() functions return: to be awaited once, at once. The coroutine goes on where
/// the handler of the asynchronous call runs: on the client's executor. `co_await` gives the Result,
/// or throws what the asynchronous call reports.
///
/// Thread-safety: none.
template <class Result>
class BasicAwaitable {
 public:
  using Handler = std::function<void(Result, std::exception_ptr)>;
  /// `start` begins the asynchronous call whose outcome goes to the handler.
  explicit BasicAwaitable(std::function<void(Handler)> start) : start_(std::move(start)) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) {
    // The coroutine may go on, and this object with it, before start() has returned.
    const auto start = std::move(start_);
    start([this, caller](Result result, std::exception_ptr error) {
      result_ = std::move(result);
      error_ = std::move(error);
      caller.resume();
    });
  }
  Result await_resume() {
    if (error_) std::rethrow_exception(error_);
    return std::move(result_);
  }

 private:
  std::function<void(Handler)> start_;
  Result result_;
  std::exception_ptr error_;
};

using Awaitable = BasicAwaitable<Hold>;

}  // namespace zklock
