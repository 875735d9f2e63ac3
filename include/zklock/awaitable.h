// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <atomic>
#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

#include "zklock/callback.h"
#include "zklock/hold.h"

namespace zklock {

/// Receives the outcome of an asynchronous acquire: a Hold, or an empty Hold and a pointer to an
/// Error. An empty Hold without an exception means that the deadline passed or a stop was
/// requested.
using AcquireHandler = Callback<Hold, std::exception_ptr>;

/// Returned by the co_...() functions. Await it exactly once, in the expression that creates it.
/// The call begins when it is awaited. The coroutine resumes on the client's executor, where the
/// handler of the asynchronous call would run. `co_await` returns the Result, or throws the error
/// that the asynchronous call throws or reports.
///
/// Arguments: the options are copied. A relative deadline counts from the construction of the
/// Deadline, not from the co_await. The compiler g++ 12 destroys a braced aggregate in the operand
/// of co_await twice. If the aggregate owns a stop token, the second destruction is a use after
/// free. So a temporary AcquireOptions is rejected at compile time, on every compiler. These forms
/// are safe:
/// @code
///   Hold hold = co_await mutex.co_acquire(5s, stop);     // a deadline and a stop token
///
///   const AcquireOptions options{.owner = request, .deadline = 5s};  // a named variable
///   Hold again = co_await mutex.co_acquire(options);
/// @endcode
/// Functions of your own have the same problem. In the operand of co_await, pass them aggregates as
/// named variables.
///
/// Destruction: a coroutine may be destroyed while it is suspended here. It is then never resumed.
/// A waiting acquire leaves the queue. A Hold that is granted at that moment is released. If the
/// coroutine awaited a commit or a proclaim(), the write may or may not be executed.
///
/// REQUIRES: no executor thread can resume the coroutine during its destruction.
///
/// With a single-threaded executor, destroy the coroutine on that thread. With several threads, as
/// by default, let the co_await end first; a stop token ends it early. Destroying a running
/// coroutine is undefined behaviour.
///
/// Thread-safety: none.
template <class Result>
class [[nodiscard]] BasicAwaitable {
  template <class R>
  struct Outcome {
    using Handler = Callback<R, std::exception_ptr>;
    using Value = R;
  };
  template <class R>
  requires std::is_void_v<R>
  struct Outcome<R> {
    using Handler = Callback<std::exception_ptr>;
    using Value = std::monostate;
  };

 public:
  /// The handler of the asynchronous call.
  using Handler = typename Outcome<Result>::Handler;
  /// Begins the asynchronous call, which passes its outcome to the handler. The stop token is
  /// stopped if the coroutine is destroyed before the outcome.
  using Start = std::function<void(Handler, std::stop_token)>;
  explicit BasicAwaitable(Start start) : start_(std::move(start)) {}
  BasicAwaitable(BasicAwaitable&&) noexcept = default;
  BasicAwaitable(const BasicAwaitable&) = delete;
  BasicAwaitable& operator=(const BasicAwaitable&) = delete;
  ~BasicAwaitable() {
    if (waiting_) waiting_->abandon();
  }

  /// Called by co_await, and by no other code.
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) {
    // The coroutine may resume, and destroy this object, before start() has returned.
    const auto start = std::move(start_);
    const auto waiting = std::make_shared<Waiting>(caller);
    waiting_ = waiting;
    if constexpr (std::is_void_v<Result>) {
      start([waiting](std::exception_ptr error) { waiting->resume({}, std::move(error)); },
            waiting->abandoned.get_token());
    } else {
      start(
          [waiting](Result result, std::exception_ptr error) {
            waiting->resume(std::move(result), std::move(error));
          },
          waiting->abandoned.get_token());
    }
  }
  Result await_resume() {
    if (waiting_->error) std::rethrow_exception(waiting_->error);
    if constexpr (!std::is_void_v<Result>) return std::move(waiting_->value);
  }

 private:
  /// Shared by the coroutine's frame and the handler, because either can outlive the other.
  struct Waiting {
    using Value = typename Outcome<Result>::Value;
    explicit Waiting(std::coroutine_handle<> c) : caller(c) {}
    void resume(Value result, std::exception_ptr failure) {
      if (decided.exchange(true)) return;  // abandoned: the result is dropped
      value = std::move(result);
      error = std::move(failure);
      caller.resume();
    }
    void abandon() noexcept {
      if (!decided.exchange(true)) abandoned.request_stop();
    }

    const std::coroutine_handle<> caller;
    std::atomic<bool> decided{false};  ///< resumed or abandoned
    std::stop_source abandoned;
    Value value;
    std::exception_ptr error;
  };

  Start start_;
  std::shared_ptr<Waiting> waiting_;
};

using Awaitable = BasicAwaitable<Hold>;

}  // namespace zklock
