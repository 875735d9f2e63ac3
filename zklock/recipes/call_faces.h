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

#include <boost/thread/thread.hpp>

#include "zklock/acquire_options.h"
#include "zklock/error.h"
#include "zklock/guarded_transaction.h"
#include "zklock/recipes/blocking_call.h"
#include "zklock/recipes/client_core.h"
#include "zklock/recipes/delivery.h"

namespace zklock::recipes {

/// The ways to wait for the end of a call. `start` begins it: it takes the function that is called
/// with the end, once, and returns what the call can be left by; or it throws, and then there will
/// be no end.

/// What a handler or a future is told of an error, or of none.
inline std::exception_ptr thrown(const std::optional<Error>& error) {
  return error ? std::make_exception_ptr(*error) : nullptr;
}

/// Blocks, until the call's own deadline at most; an interruption point. Interrupted, it cancels the call, and what came at that very moment
/// is given back.
template <class Outcome, class Start, class GiveBack>
Outcome wait_or_cancel(const Start& start, const GiveBack& give_back) {
  BlockingCall<Outcome> end;
  const auto under_way = start([&end](Outcome outcome) { end.set(std::move(outcome)); });
  try {
    if (!end.wait_until(under_way->deadline(), under_way->stay_awake())) under_way->expire();
    return end.wait();
  } catch (const boost::thread_interrupted&) {
    under_way->cancel();
    give_back(end.wait_without_interruption());
    throw;
  }
}

/// What is called with an error and the results, once, on any thread: `post` brings them to where
/// the handler runs. A task that is never run gives the results back.
template <class Handler, class Post>
auto for_handler(Handler handler, Post post) {
  // What the handler owns must not die on the threads that bring the outcome: it is moved on to the
  // executor, and shared by the copies of the task.
  return [handler = std::move(handler), post = std::move(post)](std::exception_ptr error,
                                                                auto... results) mutable {
    auto kept = std::make_shared<std::tuple<Handler, decltype(results)...>>(std::move(handler),
                                                                            std::move(results)...);
    post([kept = std::move(kept), error = std::move(error)] {
      std::apply([&](auto& call, auto&... each) { call(std::move(each)..., error); }, *kept);
    });
  };
}

/// A stop that is requested as soon as one of two others is.
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
    void operator()() { source.request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<Forward> on_first_;
  std::stop_callback<Forward> on_second_;
};

/// Lets `options` be stopped by `stop`, too. Returns the handler to be used instead of `handler`: it
/// keeps the two stops joined until it is destroyed.
template <class Handler>
Handler stopped_also_by(std::stop_token stop, AcquireOptions& options, Handler handler) {
  if (!options.stop.stop_possible()) {
    options.stop = std::move(stop);
    return handler;
  }
  auto either = std::make_shared<EitherStop>(options.stop, std::move(stop));
  options.stop = either->token();
  return [either = std::move(either), handler = std::move(handler)](
             auto hold, std::exception_ptr error) { handler(std::move(hold), std::move(error)); };
}

/// `start` hands over a function that is called as that of for_handler() is.
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

// ---- of a commit --------------------------------------------------------------------------------

/// It ends with an Error or none.
using CommitDone = std::function<void(std::optional<Error>)>;

/// Blocks; an interruption point.
template <class Start>
void commit_and_wait(const Start& start) {
  // Shared: an interrupted thread does not wait for the answer.
  const auto answer = std::make_shared<BlockingCall<std::optional<Error>>>();
  const auto under_way =
      start([answer](std::optional<Error> error) { answer->set(std::move(error)); });
  try {
    if (const auto error = answer->wait()) throw *error;
  } catch (const boost::thread_interrupted&) {
    under_way->give_up();
    throw;
  }
}

/// `what` is for the log.
template <class Start>
void commit_and_tell(const std::shared_ptr<ClientCore>& core, std::string what,
                     CommitHandler handler, const Start& start) {
  auto end =
      for_handler(std::move(handler), [core, what = std::move(what)](std::function<void()> task) {
        Delivery::send(core, core->dispatcher(), what, std::move(task));
      });
  start([end = std::move(end)](const std::optional<Error>& error) mutable { end(thrown(error)); });
}

template <class Start>
std::future<void> commit_as_future(const Start& start) {
  return as_future<void>([&start](auto end) {
    start([end = std::move(end)](const std::optional<Error>& error) { end(thrown(error)); });
  });
}

}  // namespace zklock::recipes
