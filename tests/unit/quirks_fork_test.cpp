// SPDX-License-Identifier: Apache-2.0
// Mutexes of the process that a thread holds during fork(). The child does not have that thread.
#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zklock/client/zookeeper/quirks/close_on_exec.h"
#include "zklock/client/zookeeper/quirks/log_bridge.h"

namespace zklock::client {
namespace {

/// Forks, and expects that the child can call `use`. Neither this nor the callers fork while
/// another thread allocates, because the child would then wait for a lock of the sanitizers'
/// allocators.
void expect_usable_in_child(void (*use)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // ends a child that waits for ever
    use();
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ForkedChild, HandleIsBeingOpened_ChildCanOpenAnother) {
  std::latch opening(1);
  std::latch forked(1);
  std::thread opener([&] {
    const PipeCloseOnExec pipe;
    opening.count_down();
    forked.wait();
  });
  opening.wait();
  expect_usable_in_child([] { const PipeCloseOnExec pipe; });
  forked.count_down();
  opener.join();
}

TEST(ForkedChild, LogTableInUse_ChildCanUseIt) {
  constexpr auto kUse = [] { const CClientSilence silence; };
  std::latch used(1);
  std::atomic<bool> ends = false;
  std::thread user([&] {
    kUse();
    used.count_down();
    while (!ends) kUse();
  });
  used.wait();
  for (int round = 0; round < 200 && !HasFailure(); ++round) expect_usable_in_child(kUse);
  ends = true;
  user.join();
}

}  // namespace
}  // namespace zklock::client
