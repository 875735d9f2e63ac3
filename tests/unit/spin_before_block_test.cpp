// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/spin_before_block.h"

#include <chrono>
#include <mutex>
#include <stdexcept>

#include <gtest/gtest.h>

namespace zklock::client {
namespace {

using namespace std::chrono_literals;

class SpinBeforeBlock : public ::testing::Test {
 protected:
  static bool never() { return false; }

  std::mutex mutex_;
  std::unique_lock<std::mutex> lock_{mutex_};
  int rounds_ = 0;
};

TEST_F(SpinBeforeBlock, ConditionTrue_EndsTheSpin) {
  spin_before_block(
      lock_, 24h,
      [this] {
        EXPECT_TRUE(lock_.owns_lock());
        return rounds_ == 3;
      },
      [this] {
        EXPECT_FALSE(lock_.owns_lock());
        ++rounds_;
      });
  EXPECT_TRUE(lock_.owns_lock());
  EXPECT_EQ(rounds_, 3);
}

TEST_F(SpinBeforeBlock, TimeOver_EndsTheSpin) {
  const auto begin = LeaseClock::now();
  spin_before_block(lock_, 2ms, never, [this] { ++rounds_; });
  EXPECT_GE(LeaseClock::now() - begin, 2ms);
  EXPECT_TRUE(lock_.owns_lock());
  EXPECT_GE(rounds_, 1);
}

TEST_F(SpinBeforeBlock, NoTime_DoesNotSpin) {
  spin_before_block(lock_, 0us, never, [this] { ++rounds_; });
  EXPECT_TRUE(lock_.owns_lock());
  EXPECT_EQ(rounds_, 0);
}

TEST_F(SpinBeforeBlock, PauseThrows_SpinThrows) {
  EXPECT_THROW(
      spin_before_block(lock_, 24h, never, [] { throw std::runtime_error("interrupted"); }),
      std::runtime_error);
  EXPECT_FALSE(lock_.owns_lock());
}

}  // namespace
}  // namespace zklock::client
