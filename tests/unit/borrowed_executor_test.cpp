// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/callback/borrowed_executor.h"

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace zklock::detail {
namespace {

TEST(BorrowedExecutor, NoExecutor_LendsNone) {
  const BorrowedExecutor none({});
  EXPECT_FALSE(none.revocable());
  none.revoke();
}

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

TEST(BorrowedExecutor, ReturnedDuringCall_WaitsForItsEnd) {
  std::promise<void> begun;
  std::atomic<bool> inside{false};
  Executor lent;
  std::atomic<bool> probed{false};
  const BorrowedExecutor executor([&](const std::function<void()>&) {
    if (inside.exchange(true)) {
      probed = true;  // the executor is still called
      return;
    }
    begun.set_value();
    for (int i = 0; i < 1'000'000; ++i) {
      probed = false;
      lent([] {});
      if (!probed) break;
    }
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    inside = false;
  });
  lent = executor.revocable();
  std::thread caller([&] { lent([] {}); });
  begun.get_future().wait();
  EXPECT_TRUE(inside);
  executor.revoke();
  EXPECT_FALSE(inside);
  caller.join();
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
