// SPDX-License-Identifier: Apache-2.0
#include "zklock/callback.h"

#include <functional>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "zklock/zklock.h"

namespace zklock {
namespace {

// ---- the asynchronous calls ---------------------------------------------------------------------
// short_calls.cpp passes handlers that can only be moved.

template <class Handler>
concept TakenByMutex = requires(Mutex& mutex, Handler handler) {
  mutex.async_acquire({}, std::move(handler));
};
static_assert(TakenByMutex<AcquireHandler> && !TakenByMutex<CompositeHandler> &&
              !TakenByMutex<CommitHandler> && !TakenByMutex<std::unique_ptr<int>>);

// ---- Callback -----------------------------------------------------------------------------------

using Sum = Callback<std::unique_ptr<int>, int&>;

TEST(Callback, MoveOnlyCallable_ReceivesArguments) {
  int sum = 0;
  Sum callback = [kept = std::make_unique<int>(1)](std::unique_ptr<int> given, int& result) {
    result = *kept + *given;
  };
  callback(std::make_unique<int>(2), sum);
  EXPECT_EQ(sum, 3);
}

TEST(Callback, Copies_ShareMoveOnlyCallable) {
  const auto witness = std::make_shared<int>();
  Callback<int&> first = [witness, calls = std::make_unique<int>()](int& result) {
    result = ++*calls;
  };
  int calls = 0;
  {
    const Callback<int&> copy = first;  // NOLINT(performance-unnecessary-copy-initialization)
    copy(calls);
    first(calls);
    EXPECT_EQ(calls, 2);
  }
  EXPECT_EQ(witness.use_count(), 2);
  first = nullptr;
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(Callback, CopyableCallable_IsCopied) {
  int result = 0;
  Callback<int&> first = [calls = 0](int& out) mutable { out = ++calls; };
  Callback<int&> copy = first;  // NOLINT(performance-unnecessary-copy-initialization)
  first(result);
  copy(result);
  EXPECT_EQ(result, 1);
}

TEST(Callback, NoCallable_IsEmpty) {
  EXPECT_FALSE(Callback<int>());
  EXPECT_FALSE(Callback<int>(nullptr));
  EXPECT_FALSE(Callback<int>(std::function<void(int)>()));
  void (*const no_function)(int) = nullptr;
  EXPECT_FALSE(Callback<int>(no_function));
}

}  // namespace
}  // namespace zklock
