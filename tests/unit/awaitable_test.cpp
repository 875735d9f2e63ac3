// SPDX-License-Identifier: Apache-2.0
// The ends of a co_await, and the forms of options that must not compile.
#include "zklock/awaitable.h"

#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include <gtest/gtest.h>

#include "support/coroutines.h"
#include "zklock/zklock.h"

namespace zklock {
namespace {

// ---- options ------------------------------------------------------------------------------------

// g++ 12 destroys a braced aggregate in the operand of co_await twice.
template <class Lock>
concept TakesBraces = requires(Lock& lock) {
  lock.co_acquire({.stop = std::stop_token()});
}
|| requires(Lock& lock) {
  lock.co_acquire(AcquireOptions{.stop = std::stop_token()});
}
|| requires(Lock& lock) {
  lock.co_acquire({.stop = std::stop_token()}, 1);
}
|| requires(Lock& lock) {
  lock.co_acquire(AcquireOptions{.stop = std::stop_token()}, 1);
};
template <class Lock>
concept TakesBracesToRead = requires(Lock& lock) {
  lock.co_acquire_shared({.stop = std::stop_token()});
}
|| requires(Lock& lock) {
  lock.co_acquire_shared(AcquireOptions{.stop = std::stop_token()});
};
static_assert(!TakesBraces<Mutex> && !TakesBraces<ReentrantMutex> && !TakesBraces<SharedMutex> &&
              !TakesBraces<PriorityMutex> && !TakesBraces<Semaphore> && !TakesBraces<MultiMutex> &&
              !TakesBraces<QuorumMutex> && !TakesBracesToRead<SharedMutex>);

// ---- resumption and destruction -----------------------------------------------------------------

using testing::Owned;
using Number = BasicAwaitable<int>;

// An asynchronous call that the test completes.
struct Call {
  Number::Handler handler;
  std::stop_token abandoned;
  Number awaitable() {
    return Number([this](Number::Handler h, std::stop_token a) {
      handler = std::move(h);
      abandoned = std::move(a);
    });
  }
};

Owned await(Number awaitable, std::optional<int>& result, bool& failed) {
  try {
    result = co_await awaitable;
  } catch (const std::runtime_error&) {
    failed = true;
  }
}

class AwaitableTest : public ::testing::Test {
 protected:
  Call call_;
  std::optional<int> result_;
  bool failed_ = false;
};

TEST_F(AwaitableTest, Error_IsThrownFromTheAwait) {
  const Owned owned = await(call_.awaitable(), result_, failed_);
  call_.handler(0, std::make_exception_ptr(std::runtime_error("")));
  EXPECT_TRUE(owned.handle.done());
  EXPECT_TRUE(failed_);
  owned.handle.destroy();
}

TEST_F(AwaitableTest, OutcomeBeforeSuspension_ResumesAtOnce) {
  Number at_once(
      [](const Number::Handler& handler, const std::stop_token&) { handler(7, nullptr); });
  const Owned owned = await(std::move(at_once), result_, failed_);
  EXPECT_TRUE(owned.handle.done());
  EXPECT_EQ(result_, 7);
  owned.handle.destroy();
}

TEST_F(AwaitableTest, NeverAwaited_StartsNothing) {
  { const Number unused = call_.awaitable(); }
  EXPECT_FALSE(call_.handler);
}

}  // namespace
}  // namespace zklock
