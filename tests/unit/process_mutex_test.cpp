// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/process_mutex.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace zklock::client {
namespace {

class ForkedChild : public ::testing::TestWithParam<ProcessMutex> {};
INSTANTIATE_TEST_SUITE_P(, ForkedChild,
                         ::testing::Values(ProcessMutex::handles, ProcessMutex::log));

// The thread holds the mutex almost always, and does not exist in the child.
TEST_P(ForkedChild, MutexHeldAtFork_IsUnlockedInTheChild) {
  Mutex& mutex = process_mutex(GetParam());
  std::atomic<bool> ends = false;
  std::thread holder([&] {
    while (!ends) {
      const MutexLock guard(mutex);
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(mutex.try_lock() ? 0 : 1);
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ends = true;
  holder.join();
}

}  // namespace
}  // namespace zklock::client
