// SPDX-License-Identifier: Apache-2.0
// Calls on other threads while the path's mutex is held: each still ends at its deadline, by its
// stop token or by an interruption. No call returns without the lock and holds it nevertheless.
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/blockable_test.h"
#include "support/coroutines.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/path_lock.h"

namespace zklock::testing {
namespace {

using zklock::detail::ClientCore;
using zklock::detail::PathLock;

// A call that begins after its deadline is a single attempt, which has to wait for the mutex. A busy machine can
// take longer than some milliseconds to begin a call.
constexpr auto kDeadline = 1s;

class PathMutexHeld : public BlockableTest {
 protected:
  PathMutexHeld() { block(); }

  // Checks that `call`, on another thread, returns while this thread holds the path's mutex. The
  // end of that thread locks the mutex too, so the thread is joined after the mutex is released.
  template <class Thread = std::thread, class Call>
  void expect_returns(Call call, const std::function<void(Thread&)>& meanwhile = {}) {
    std::promise<void> returned;
    bool has_returned = false;
    Thread thread;
    {
      const zklock::detail::EngineLock lock(engine_->entry());
      thread = Thread([&] {
        call();
        returned.set_value();
      });
      if (meanwhile) meanwhile(thread);
      has_returned = returned.get_future().wait_for(kTestTimeout) == std::future_status::ready;
    }
    thread.join();
    EXPECT_TRUE(has_returned);
    EXPECT_TRUE(client_->flush(kTestTimeout));
    EXPECT_TRUE(only_the_holder_is_left());
  }

  const std::shared_ptr<PathLock> engine_ =
      ClientCore::of(*client_)->path_lock(core::LockPath(kPath));
};

TEST_F(PathMutexHeld, DeadlineOfLock_ReturnsFalse) {
  expect_returns([this] { EXPECT_FALSE(mutex_.try_lock_for(kDeadline)); });
}

TEST_F(PathMutexHeld, DeadlineOfAcquire_ReturnsNothing) {
  expect_returns([this] { EXPECT_FALSE(mutex_.acquire({.deadline = kDeadline})); });
}

TEST_F(PathMutexHeld, DeadlineOfBoostThread_ReturnsFalse) {
  expect_returns<boost::thread>([this] { EXPECT_FALSE(mutex_.try_lock_for(kDeadline)); });
}

TEST_F(PathMutexHeld, StopOfLock_ReturnsFalse) {
  expect_returns([this] {
    std::stop_source stop;
    const std::jthread stops([&] { stop.request_stop(); });
    EXPECT_FALSE(mutex_.lock(stop.get_token()));
  });
}

TEST_F(PathMutexHeld, InterruptionOfLock_Throws) {
  expect_returns<boost::thread>([this] { EXPECT_THROW(mutex_.lock(), boost::thread_interrupted); },
                                [](boost::thread& thread) { thread.interrupt(); });
}

TEST_F(PathMutexHeld, DeadlineOfFuture_ReturnsNothing) {
  expect_returns([this] {
    auto future = mutex_.async_acquire(AcquireOptions{.deadline = kDeadline});
    EXPECT_FALSE(get(future));
  });
}

TEST_F(PathMutexHeld, DeadlineOfCallback_PassesNothing) {
  expect_returns([this] {
    std::promise<bool> result;
    mutex_.async_acquire({.deadline = kDeadline}, [&](Hold hold, const std::exception_ptr& error) {
      result.set_value(hold || error);
    });
    auto future = result.get_future();
    EXPECT_FALSE(get(future));
  });
}

TEST_F(PathMutexHeld, DeadlineOfCoroutine_ReturnsNothing) {
  expect_returns([this] {
    const AcquireOptions options{.deadline = kDeadline};
    const auto begin = [&] { return mutex_.co_acquire(options); };
    std::promise<AcquireOutcome> result;
    await_in_coroutine(begin, result);
    auto future = result.get_future();
    EXPECT_FALSE(get(future));
  });
}

// The call waits with its znode before the mutex is locked.
TEST_F(PathMutexHeld, StopOfWaitingCall_ReturnsNothing) {
  std::stop_source stop;
  auto waits = mutex_.async_acquire(AcquireOptions{.stop = stop.get_token()});
  ASSERT_TRUE(reaches_nodes(2));
  expect_returns([&] {
    stop.request_stop();
    EXPECT_FALSE(get(waits));
  });
}

// ---- many threads ---------------------------------------------------------------------------------

// Each thread increments a number while it holds. If a grant were never released, the last call
// would not end.
TEST_F(LockTest, TimedCallsOfManyThreads_ReturnFalseOrHold) {
  constexpr int kThreads = 200;
  constexpr int kCalls = 5;
  const auto client = connect();
  const auto other = connect();
  for (const int batch : {1, 16}) {
    Mutex mutex(*client, kPath, {.max_local_handoffs = batch});
    Mutex others(*other, kPath, {.max_local_handoffs = batch});
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        std::minstd_rand random(static_cast<unsigned>(i));
        Mutex& its = i % 4 == 0 ? others : mutex;
        for (int call = 0; call < kCalls; ++call) {
          if (!its.try_lock_for(std::chrono::milliseconds(1 + random() % 200))) continue;
          if (++inside != 1) ++overlaps;
          --inside;
          its.unlock();
        }
      });
    }
    threads.clear();
    EXPECT_EQ(overlaps, 0);
    EXPECT_TRUE(client->flush(kTestTimeout));
    EXPECT_TRUE(other->flush(kTestTimeout));
    EXPECT_TRUE(nodes().empty());
    EXPECT_TRUE(mutex.try_lock_for(kTestTimeout));
    mutex.unlock();
  }
}

}  // namespace
}  // namespace zklock::testing
