// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>

#include "zklock/acquire_options.h"
#include "zklock/engine/callback/blocking_call.h"
#include "zklock/engine/callback/post_or_run.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/error.h"
#include "zklock/guarded_transaction.h"

namespace zklock::detail {

// The ways to receive the end of a call. In these templates, the parameter `start` is a function
// that begins a call. It gets a function that is called once, with the end of the call. If `start`
// throws, that function is never called.

/// Returns the exception for a handler or a future; null without an error.
inline std::exception_ptr as_exception(const std::optional<Error>& error) {
  return error ? std::make_exception_ptr(*error) : nullptr;
}

/// Calls `first`, and blocks until the call `in_flight` sets `end`. Returns the outcome. Expires
/// the call at its deadline. An interruption point. After an exception, cancels the call, waits for
/// its end (the call refers to `end`), and passes the outcome to `give_back`.
template <class Outcome, class Call, class GiveBack, class First>
Outcome wait_or_cancel(BlockingCall<Outcome>& end, Call& in_flight, const GiveBack& give_back,
                       const First& first) {
  try {
    first();
    if (auto outcome = end.wait_until(in_flight.deadline())) {
      return *std::move(outcome);
    }
    in_flight.expire();
    return end.wait();
  } catch (...) {  // boost::thread_interrupted, or std::bad_alloc
    in_flight.cancel();
    give_back(end.wait_without_interruption());
    throw;
  }
}

template <class Outcome, class Call, class GiveBack>
Outcome wait_or_cancel(BlockingCall<Outcome>& end, Call& in_flight, const GiveBack& give_back) {
  return wait_or_cancel(end, in_flight, give_back, [] {});
}

/// Returns a function that takes an error and results. It is to be called once, on any thread. It
/// calls `post` with a task that calls `handler`. If the task never runs, the results are destroyed
/// with it: a Hold is released.
template <class Handler, class Post>
auto for_handler(Handler handler, Post post) {
  // The handler's captures must not be destroyed on the thread that delivers the outcome. So the
  // handler is moved into the task, and the copies of the task share it.
  return [handler = std::move(handler), post = std::move(post)](std::exception_ptr error,
                                                                auto... results) mutable {
    auto bound = std::make_shared<std::tuple<Handler, decltype(results)...>>(std::move(handler),
                                                                             std::move(results)...);
    post([bound = std::move(bound), error = std::move(error)] {
      std::apply([&](auto& call, auto&... each) { call(std::move(each)..., error); }, *bound);
    });
  };
}

/// Joins two stop tokens: token() is stopped when either of them is.
///
/// Thread-safety: all members, from any thread.
class EitherStop {
 public:
  EitherStop(std::stop_token first, std::stop_token second)
      : on_first_(std::move(first), Forward{source_}),
        on_second_(std::move(second), Forward{source_}) {}
  std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  struct Forward {
    std::stop_source source;
    void operator()() const { source.request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<Forward> on_first_;
  std::stop_callback<Forward> on_second_;
};

/// Adds `stop` as a second stop source of `options`. Returns the handler to use instead of
/// `handler`; it owns the joined token.
template <class Handler>
Handler with_second_stop_token(std::stop_token stop, AcquireOptions& options, Handler handler) {
  if (!options.stop.stop_possible()) {
    options.stop = std::move(stop);
    return handler;
  }
  auto either = std::make_shared<EitherStop>(options.stop, std::move(stop));
  options.stop = either->token();
  return [either = std::move(either), handler = std::move(handler)](
             auto hold, std::exception_ptr error) { handler(std::move(hold), std::move(error)); };
}

/// Begins a call and returns a future of its result. `start` gets a function of an error and
/// results. An exception that `start` throws is stored in the future.
template <class Result, class Start>
std::future<Result> as_future(const Start& start) {
  auto promise = std::make_shared<std::promise<Result>>();
  auto future = promise->get_future();
  try {
    start([promise](std::exception_ptr error, auto... results) {
      if (error) {
        promise->set_exception(std::move(error));
      } else {
        promise->set_value(std::move(results)...);
      }
    });
  } catch (...) {
    promise->set_exception(std::current_exception());
  }
  return future;
}

// ---- commits ------------------------------------------------------------------------------------

/// Begins a commit and blocks until its end. Throws its Error. An interruption point: if the thread
/// is interrupted, the commit is given up.
template <class Start>
void commit_and_wait(const Start& start) {
  // Shared, because an interrupted thread does not wait for the reply.
  const auto answer = std::make_shared<BlockingCall<std::optional<Error>>>();
  const auto in_flight =
      start([answer](std::optional<Error> error) { answer->set(std::move(error)); });
  std::optional<Error> error;
  try {
    error = answer->wait();
  } catch (...) {  // boost::thread_interrupted
    in_flight->withdraw();
    throw;
  }
  if (error) throw *error;
}

/// Begins a commit and calls `handler` on the dispatcher with its end.
template <class Start>
void commit_and_notify(const std::shared_ptr<EngineContext>& core, CommitHandler handler,
                       const Start& start) {
  auto end = for_handler(std::move(handler), [core](std::function<void()> task) {
    post_or_run(core, core->dispatcher(), std::move(task));
  });
  start([end = std::move(end)](const std::optional<Error>& error) mutable {
    end(as_exception(error));
  });
}

template <class Start>
std::future<void> commit_as_future(const Start& start) {
  return as_future<void>([&start](auto end) {
    start([end = std::move(end)](const std::optional<Error>& error) { end(as_exception(error)); });
  });
}

}  // namespace zklock::detail
