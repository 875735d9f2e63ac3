// SPDX-License-Identifier: Apache-2.0
// Mutexes of the process that a thread holds during fork(). The child does not have that thread.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inline_log.h"
#include "zklock/client/zookeeper/quirks/close_on_exec.h"
#include "zklock/client/zookeeper/quirks/log_bridge.h"

namespace zklock::client {
namespace {

/// Forks while another thread calls `use` again and again. Each child calls it too.
void expect_usable_in_children(const std::function<void()>& use) {
  std::atomic<bool> ends = false;
  std::thread user([&] {
    while (!ends) use();
  });
  for (int round = 0; round < 20; ++round) {
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
    if (status != 0) break;
  }
  ends = true;
  user.join();
}

TEST(ForkedChild, HandleIsBeingOpened_ChildCanOpenAnother) {
  expect_usable_in_children([] { const PipeCloseOnExec pipe; });
}

TEST(ForkedChild, LogTableInUse_ChildCanUseIt) {
  const auto log = inline_log(nullptr);
  expect_usable_in_children([&log] { const LogBridge bridge(log, {}); });
}

}  // namespace
}  // namespace zklock::client
