// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/spin_before_block.h"

#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/is_free.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;

class SpinBeforeBlock : public ::testing::Test {
 protected:
  static bool never() { return false; }

  Mutex mutex_;
  int rounds_ = 0;
};

TEST_F(SpinBeforeBlock, ConditionTrue_EndsTheSpin) {
  const MutexLock lock(mutex_);
  spin_before_block(
      mutex_, 24h,
      [this] {
        EXPECT_FALSE(testing::is_free(mutex_));
        return rounds_ == 3;
      },
      [this] {
        EXPECT_TRUE(testing::is_free(mutex_));
        ++rounds_;
      });
  EXPECT_FALSE(testing::is_free(mutex_));
  EXPECT_EQ(rounds_, 3);
}

TEST_F(SpinBeforeBlock, TimeOver_EndsTheSpin) {
  const MutexLock lock(mutex_);
  const auto begin = LeaseClock::now();
  spin_before_block(mutex_, 2ms, never, [this] { ++rounds_; });
  EXPECT_GE(LeaseClock::now() - begin, 2ms);
  EXPECT_FALSE(testing::is_free(mutex_));
  EXPECT_GE(rounds_, 1);
}

TEST_F(SpinBeforeBlock, NoTime_DoesNotSpin) {
  const MutexLock lock(mutex_);
  spin_before_block(mutex_, 0us, never, [this] { ++rounds_; });
  EXPECT_FALSE(testing::is_free(mutex_));
  EXPECT_EQ(rounds_, 0);
}

TEST_F(SpinBeforeBlock, PauseThrows_SpinThrows) {
  const MutexLock lock(mutex_);
  EXPECT_THROW(
      spin_before_block(mutex_, 24h, never, [] { throw std::runtime_error("interrupted"); }),
      std::runtime_error);
  EXPECT_FALSE(testing::is_free(mutex_));
}

}  // namespace
}  // namespace zklock::client
