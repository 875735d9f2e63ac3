// SPDX-License-Identifier: Apache-2.0
// Deadlines and stops of many calls race with their grants. Each call ends with the lock or without
// it, and no grant is left over.
#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

// If a grant were never released, the last call would not end.
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

// A grant runs through the queue of calls while one stop source ends all of them.
TEST_F(LockTest, OneStopOfManyCalls_EachEndsOnce) {
  constexpr int kRounds = 20;
  constexpr std::size_t kCalls = 100;
  const auto client = connect();
  for (const int batch : {1, 16}) {
    Mutex mutex(*client, kPath, {.max_local_handoffs = batch});
    for (int round = 0; round < kRounds; ++round) {
      Hold first = mutex.acquire();
      std::stop_source stop;
      std::atomic<std::size_t> ended{0};
      for (std::size_t i = 0; i < kCalls; ++i) {
        mutex.async_acquire({.owner = Owner::unique(), .stop = stop.get_token()},
                            [&ended](Hold hold, const std::exception_ptr& error) {
                              EXPECT_FALSE(error);
                              hold.release();
                              ++ended;
                            });
      }
      std::jthread releases([&first] { first.release(); });
      stop.request_stop();
      releases.join();
      EXPECT_TRUE(eventually([&] { return ended == kCalls; }, kTestTimeout));
      ASSERT_TRUE(becomes_empty());
    }
  }
}

}  // namespace
}  // namespace zklock::testing
