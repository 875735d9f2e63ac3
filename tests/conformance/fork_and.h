// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <optional>

#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {

/// Runs `in_child` in a forked child and returns its exit status. Returns nullopt if the child
/// crashed. Ends the child, and returns nullopt, if it did not end within kTestTimeout.
inline std::optional<int> fork_and(const std::function<int()>& in_child) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(in_child());
  EXPECT_GT(child, 0);
  int status = 0;
  const bool ended =
      eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }, kTestTimeout);
  if (!ended) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    ADD_FAILURE() << "the child did not come to an end";
  }
  if (!WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status);
}

}  // namespace zklock::testing
