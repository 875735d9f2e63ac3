// SPDX-License-Identifier: Apache-2.0
// The names of the threads of a client.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

// Returns the names of the threads of this process.
std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    if (std::string name; std::getline(comm, name)) names.push_back(std::move(name));
  }
  return names;
}

TEST_F(LockTest, ThreadsOfClient_HaveNames) {
  const auto client = connect();
  // A thread of a client of an earlier test can end later than its client.
  for (const std::string name : {"zklock-session", "zklock-io", "zklock-events", "zklock-timer"}) {
    EXPECT_TRUE(
        eventually([&] { return std::ranges::count(thread_names(), name) == 1; }, kTestTimeout))
        << name;
  }
}

}  // namespace
}  // namespace zklock::testing
