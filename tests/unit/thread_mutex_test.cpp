// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/is_free.h"
#include "zklock/client/port/mutex.h"

namespace zklock::client {
namespace {

using std::chrono::milliseconds;
using testing::is_free;

TEST(ThreadMutex, LockUnlocked_DestructorUnlocksNothing) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    lock.unlock();
    mutex.lock();
  }
  mutex.assert_held();
  EXPECT_FALSE(is_free(mutex));
  mutex.unlock();
}

TEST(ThreadMutex, ExceptionWhileReleased_IsLockedAgain) {
  Mutex mutex;
  const MutexLock lock(mutex);
  try {
    const MutexUnlock released(mutex);
    EXPECT_TRUE(is_free(mutex));
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
    EXPECT_FALSE(is_free(mutex));
  }
}

TEST(ThreadCondition, NotNotified_TimedWaitsEndWithTheMutexHeld) {
  Mutex mutex;
  Condition changed;
  const MutexLock lock(mutex);
  changed.wait_for(mutex, milliseconds(2));
  EXPECT_FALSE(is_free(mutex));
  changed.wait_until(mutex, std::chrono::steady_clock::now() + milliseconds(2));
  EXPECT_FALSE(is_free(mutex));
}

}  // namespace
}  // namespace zklock::client
