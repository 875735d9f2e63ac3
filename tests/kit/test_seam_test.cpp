// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/port/test_seam.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "zklock/client/port/scheduler.h"
#include "zklock/client/threads/backoff.h"
#include "zklock/client/threads/timer_thread.h"
#include "zklock/engine/callback/blocking_call.h"
#include "zklock/lease_clock.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;

/// A time that stands still, until a test changes it.
class StandingTime final : public TestSeam {
 public:
  StandingTime() { testing::detail::set_seam(this, {}); }
  ~StandingTime() { testing::detail::set_seam(nullptr, {}); }

  Connection connect(const ClientOptions&) override { throw std::logic_error("no servers"); }
  core::Instant now() const noexcept override { return core::Instant(now_.load()); }
  void add(const Sleeper& sleeper) override {
    const std::lock_guard guard(mutex_);
    sleepers_.push_back(&sleeper);
    ++added_;
  }
  void remove(const Sleeper& sleeper) noexcept override {
    const std::lock_guard guard(mutex_);
    std::erase(sleepers_, &sleeper);
  }
  std::uint32_t next_seed() noexcept override { return 7; }

  std::size_t sleepers() {
    const std::lock_guard guard(mutex_);
    return sleepers_.size();
  }
  std::size_t added() {
    const std::lock_guard guard(mutex_);
    return added_;
  }
  /// Wakes the sleeping threads.
  void wake() {
    const std::lock_guard guard(mutex_);
    for (const Sleeper* sleeper : sleepers_) sleeper->wake(sleeper->condition);
  }
  /// Wakes the sleeping threads until none is left.
  void stand_at(core::Instant now) {
    now_ = now.time_since_epoch();
    while (sleepers() > 0) wake();
  }

 private:
  std::atomic<core::Duration> now_{core::Duration(1h)};
  std::mutex mutex_;
  std::vector<const Sleeper*> sleepers_;
  std::size_t added_ = 0;
};

TEST(TestSeam, LeaseClock_IsVirtual) {
  {
    StandingTime time;
    EXPECT_EQ(LeaseClock::now(), core::Instant(1h));
    EXPECT_EQ(Deadline(5s).at(), core::Instant(1h + 5s));
  }
  EXPECT_EQ(test_seam(), nullptr);
  const auto now = LeaseClock::now();
  EXPECT_LE(now, boot_time());
}

TEST(TestSeam, RealTimers_IgnoreVirtualTime) {
  StandingTime time;
  TimerThread timers;
  time.stand_at(timers.now() + 1h);
  EXPECT_LT(timers.now(), LeaseClock::now());
}

TEST(TestSeam, Pauses_AreEqualEachTime) {
  StandingTime time;
  Backoff first(100ms, 5s);
  Backoff second(100ms, 5s);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(first.next(), second.next());
}

/// Blocks on a call until its deadline.
void block(StandingTime& time, bool is_interruptible) {
  const std::size_t added = time.added();
  std::atomic<bool> has_ended{false};
  std::optional<int> result;
  boost::thread waits([&] {
    std::optional<boost::this_thread::disable_interruption> disabled;
    if (!is_interruptible) disabled.emplace();
    detail::BlockingCall<int> call;
    result = call.wait_until(1h);
    has_ended = true;
  });
  while (time.sleepers() == 0) std::this_thread::yield();
  for (int slices = 0; slices < 20; ++slices) {
    time.wake();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(has_ended);
  EXPECT_EQ(time.added(), added + 1) << "one alarm for all slices of the wait";
  time.stand_at(time.now() + 1h);
  waits.join();
  EXPECT_EQ(result, std::nullopt);
}

TEST(TestSeam, BlockedCall_EndsAtVirtualDeadline) {
  StandingTime time;
  block(time, false);
  block(time, true);
}

}  // namespace
}  // namespace zklock::client
