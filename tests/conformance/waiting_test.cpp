// SPDX-License-Identifier: Apache-2.0
// Calls that end without the lock, and leave no znode or watch.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <vector>

#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/blockable_test.h"

namespace zklock::testing {
namespace {

using Waiting = BlockableTest;

TEST_F(Waiting, DeadlineOnEveryClock_EndsWaiting) {
  block();
  const auto lease_clock = LeaseClock::now() + 100ms;
  EXPECT_FALSE(static_cast<bool>(mutex_.acquire({.deadline = lease_clock})));
  EXPECT_GE(LeaseClock::now(), lease_clock);
  const auto steady_clock = std::chrono::steady_clock::now() + 100ms;
  EXPECT_FALSE(mutex_.try_lock_until(steady_clock));
  EXPECT_GE(std::chrono::steady_clock::now(), steady_clock);
  EXPECT_FALSE(mutex_.try_lock_until(std::chrono::system_clock::now() + 100ms));
  EXPECT_FALSE(mutex_.try_lock_for(std::chrono::duration<double>(0.1)));
  EXPECT_TRUE(only_the_holder_is_left());
}

TEST_F(Waiting, ZeroOrNegativeTimeout_MakesOneAttempt) {
  const std::vector<std::function<bool()>> attempts = {
      [this] { return mutex_.try_lock_for(0s); },
      [this] { return mutex_.try_lock_for(-1s); },
      [this] { return mutex_.try_lock_for(std::chrono::nanoseconds::min()); },
      [this] { return mutex_.try_lock_for(std::chrono::hours::min()); },
      [this] { return mutex_.try_lock_until(std::chrono::steady_clock::time_point::min()); },
      [this] { return mutex_.try_lock_until(std::chrono::system_clock::time_point{}); },
      [this] { return mutex_.try_lock_until(LeaseClock::time_point::min()); }};
  for (const auto& attempt : attempts) {
    EXPECT_TRUE(attempt());  // the lock is free
    mutex_.unlock();
    ASSERT_TRUE(becomes_empty());
  }
  block();
  for (const auto& attempt : attempts) EXPECT_FALSE(attempt());
  EXPECT_TRUE(only_the_holder_is_left());
}

TEST_F(Waiting, HugeTimeout_WaitsUntilGranted) {
  const std::vector<std::function<bool()>> attempts = {
      [this] { return mutex_.try_lock_for(std::chrono::hours::max()); },
      [this] { return mutex_.try_lock_for(std::chrono::nanoseconds::max()); },
      [this] { return mutex_.try_lock_until(std::chrono::steady_clock::time_point::max()); },
      [this] { return mutex_.try_lock_until(std::chrono::system_clock::time_point::max()); },
      [this] { return mutex_.try_lock_until(LeaseClock::time_point::max()); }};
  for (const auto& attempt : attempts) {
    block();
    auto waiting = in_thread([&] { return attempt(); });
    ASSERT_TRUE(reaches_nodes(2));
    EXPECT_FALSE(is_ready(waiting));
    unblock();
    EXPECT_TRUE(get(waiting));
    ASSERT_TRUE(becomes_empty());  // released at the end of the thread
  }
}

class Interruption : public Waiting {
 protected:
  // Runs `wait` in a boost::thread and interrupts it when it is enqueued. Returns whether `wait`
  // threw boost::thread_interrupted.
  bool interrupted(const std::function<void()>& wait) {
    std::atomic<bool> thrown{false};
    std::promise<void> ended;
    boost::thread thread([&] {
      try {
        wait();
      } catch (const boost::thread_interrupted&) {
        thrown = true;
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
      ended.set_value();
    });
    EXPECT_TRUE(reaches_nodes(2));
    thread.interrupt();
    auto end = ended.get_future();
    get(end);
    thread.join();
    return thrown;
  }
};

TEST_F(Interruption, InterruptedThread_CanLockLater) {
  block();
  EXPECT_TRUE(interrupted([this] {
    try {
      mutex_.lock();
      ADD_FAILURE() << "not interrupted";
    } catch (const boost::thread_interrupted&) {
      EXPECT_EQ(mutex_.hold_count(), 0);
      EXPECT_EQ(error_of([&] { mutex_.unlock(); }), Errc::not_owner);
      unblock();
      mutex_.lock();
      EXPECT_EQ(mutex_.hold_count(), 1);
      mutex_.unlock();
      throw;
    }
  }));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Interruption, InterruptionDisabled_WaitsUntilGranted) {
  block();
  std::atomic<bool> got_it{false};
  boost::thread thread([&] {
    const boost::this_thread::disable_interruption disabled;
    mutex_.lock();
    got_it = true;
    mutex_.unlock();
  });
  EXPECT_TRUE(reaches_nodes(2));
  thread.interrupt();
  EXPECT_EQ(nodes().size(), 2U);
  unblock();
  thread.join();
  EXPECT_TRUE(got_it);
}

}  // namespace
}  // namespace zklock::testing
