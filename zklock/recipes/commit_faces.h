// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/thread/thread.hpp>

#include "zklock/error.h"
#include "zklock/guarded_transaction.h"
#include "zklock/recipes/blocking_call.h"
#include "zklock/recipes/client_core.h"
#include "zklock/recipes/delivery.h"

namespace zklock::recipes {

/// The ways to wait for something that ends with an Error or none. `start` begins it: it takes the
/// function that is called with the end, once, and returns what give_up() can be called on; or it
/// throws, and then there will be no end.
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
  // What the handler owns must not die on the threads that bring the outcome: there is one copy,
  // and it moves on to the executor.
  auto only = std::make_shared<CommitHandler>(std::move(handler));
  start([core, what = std::move(what), only = std::move(only)](std::optional<Error> error) mutable {
    Delivery::send(core, core->dispatcher(), std::move(what),
                   [only = std::move(only), error = std::move(error)] {
                     (*only)(error ? std::make_exception_ptr(*error) : nullptr);
                   });
  });
}

template <class Start>
std::future<void> commit_as_future(const Start& start) {
  auto promise = std::make_shared<std::promise<void>>();
  auto future = promise->get_future();
  try {
    start([promise](std::optional<Error> error) {
      if (error) {
        promise->set_exception(std::make_exception_ptr(*error));
      } else {
        promise->set_value();
      }
    });
  } catch (...) {
    promise->set_exception(std::current_exception());
  }
  return future;
}

}  // namespace zklock::recipes
