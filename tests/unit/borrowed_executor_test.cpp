// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/callback/borrowed_executor.h"

#include <functional>

#include <gtest/gtest.h>

namespace zklock::detail {
namespace {

TEST(BorrowedExecutor, Returned_IsNotCalledAnyMore) {
  int calls = 0;
  int runs = 0;
  const BorrowedExecutor executor([&](const std::function<void()>& task) {
    ++calls;
    task();
  });
  const Executor lent = executor.revocable();
  lent([&] { ++runs; });
  EXPECT_EQ(calls, 1);
  executor.revoke();
  lent([&] { ++runs; });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(runs, 1);
  executor.revoke();
}

TEST(BorrowedExecutor, ReturnedByItsOwnTask_DoesNotDeadlock) {
  bool ran = false;
  const BorrowedExecutor executor([](const std::function<void()>& task) { task(); });
  executor.revocable()([&] {
    executor.revoke();
    ran = true;
  });
  EXPECT_TRUE(ran);
}

TEST(BorrowedExecutor, ExecutorThrows_CallerReceivesTheException) {
  const BorrowedExecutor executor([](const std::function<void()>&) { throw 7; });
  EXPECT_THROW(executor.revocable()([] {}), int);
  executor.revoke();
}

}  // namespace
}  // namespace zklock::detail
