// SPDX-License-Identifier: Apache-2.0
// The processes and threads of the test kit, and the signals of the program.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/servers/child_process.h"
#include "zklock/testing/servers/temp_dir.h"
#include "zklock/testing/servers/wait_for.h"
#include "zklock/testing/test_server.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;

/// Returns whether the thread of this process with that name blocks the signal; nullopt if there is
/// no such thread.
std::optional<bool> blocks(const std::string& name, int signal) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, found);
    if (found != name) continue;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;) {
      if (word != "SigBlk:") continue;
      std::uint64_t mask = 0;
      status >> std::hex >> mask;
      return (mask >> static_cast<unsigned>(signal - 1) & 1U) != 0;
    }
  }
  return std::nullopt;
}

// So that sigwait() or a handler of the program receives them.
TEST(KitProcesses, ThreadsOfTheKit_BlockSignals) {
  const FaultProxy proxy({1});
  EXPECT_TRUE(eventually([] { return blocks("zklock-proxy", SIGTERM).has_value(); }));
  EXPECT_EQ(blocks("zklock-proxy", SIGTERM), true);
  ChildOptions child;
  child.argv = {"true"};
  EXPECT_TRUE(ChildProcess(child).wait(60s));
  EXPECT_TRUE(eventually([] { return blocks("zklock-spawner", SIGTERM).has_value(); }));
  EXPECT_EQ(blocks("zklock-spawner", SIGTERM), true);
}

TEST(KitProcesses, SigchldIgnored_ServersAreAvailable) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // a process of its own
  const TempDir java;
  std::filesystem::create_directory(java.path() / "bin");
  std::filesystem::create_symlink("/bin/true", java.path() / "bin" / "java");
  EXPECT_EXIT(
      {
        std::signal(SIGCHLD, SIG_IGN);
        ::setenv("JAVA_HOME", java.path().c_str(), 1);
        ::setenv("ZKLOCK_ZOOKEEPER_CLASSPATH", "zookeeper.jar", 1);
        const bool is_available = !TestServer::unavailable();
        std::filesystem::remove_all(java.path());
        ::_exit(is_available ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace zklock::testing
