// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/spin_before_block.h"

#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/is_free.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;

class StayAwake : public ::testing::Test {
 protected:
  static bool never() { return false; }
  /// Waits for a condition that never becomes true.
  void wait_in_vain(std::chrono::microseconds longest, core::Vigil& vigil) {
    spin_before_block(
        mutex_, longest, never, [this] { ++rounds_; }, vigil);
    EXPECT_FALSE(testing::is_free(mutex_));
  }

  Mutex mutex_;
  MutexLock lock_{mutex_};
  int rounds_ = 0;
};

TEST_F(StayAwake, ConditionTrue_EndsTheSpin) {
  // Other processes can use the processor for long. Then the wait ends early, so it is repeated.
  while (rounds_ < 3) {
    core::Vigil vigil;
    spin_before_block(
        mutex_, 24h,
        [this] {
          EXPECT_FALSE(testing::is_free(mutex_));
          return rounds_ == 3;
        },
        [this] {
          EXPECT_TRUE(testing::is_free(mutex_));
          ++rounds_;
        },
        vigil);
    EXPECT_FALSE(testing::is_free(mutex_));
  }
  EXPECT_EQ(rounds_, 3);
}

TEST_F(StayAwake, TimeOver_EndsTheSpin) {
  core::Vigil vigil;
  wait_in_vain(1us, vigil);
  EXPECT_GE(rounds_, 1);
}

TEST_F(StayAwake, NoTime_DoesNotSpin) {
  core::Vigil vigil;
  wait_in_vain(0us, vigil);
  EXPECT_EQ(rounds_, 0);
}

TEST_F(StayAwake, ProcessorBusy_DoesNotSpin) {
  core::Vigil vigil;
  const core::Instant now = LeaseClock::now();
  vigil.gave_way(now, now + 1h);
  wait_in_vain(24h, vigil);
  EXPECT_EQ(rounds_, 0);
}

TEST_F(StayAwake, PauseThrows_SpinThrows) {
  core::Vigil vigil;
  EXPECT_THROW(spin_before_block(
                   mutex_, 24h, never, [] { throw std::runtime_error("interrupted"); }, vigil),
               std::runtime_error);
  EXPECT_FALSE(testing::is_free(mutex_));
}

}  // namespace
}  // namespace zklock::client
