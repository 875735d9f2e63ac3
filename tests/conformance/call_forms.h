// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <future>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "support/coroutines.h"

namespace zklock::testing {

// Checks that a call has one outcome as a blocking call, as a future, with a handler and in a
// coroutine. `async` takes the handler, or nothing.
template <class Blocking, class Async, class Awaitable>
void expect_in_every_form(const AcquireOutcome& expected, Blocking blocking, Async async,
                          Awaitable awaitable) {
  EXPECT_EQ(error_of(blocking), expected);
  auto future = async();
  EXPECT_EQ(error_of([&] { get(future); }), expected);
  std::promise<AcquireOutcome> handed;
  auto outcome = handed.get_future();
  async([handed = std::move(handed)](const std::exception_ptr& error) mutable {
    handed.set_value(error ? error_of([&] { std::rethrow_exception(error); }) : AcquireOutcome());
  });
  EXPECT_EQ(get(outcome), expected);
  std::promise<AcquireOutcome> resumed;
  auto result = resumed.get_future();
  await_in_coroutine(awaitable, resumed);
  EXPECT_EQ(get(result), expected);
}

}  // namespace zklock::testing
