// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/descriptor_limit.h"
#include "zklock/testing/servers/child_process.h"
#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/temp_dir.h"
#include "zklock/testing/servers/wait_for.h"
#include "zklock/testing/test_server.h"

namespace zklock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns 'R', 'S', 'T', 'Z', ...; 0 if there is no such process.
char process_state(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end == std::string::npos ? '\0' : stat.at(name_end + 2);
}

bool has_ended(pid_t pid) {
  const char state = process_state(pid);
  return state == '\0' || state == 'Z';
}

ChildOptions sleeper() {
  ChildOptions options;
  options.argv = {"sleep", "600"};
  return options;
}

ChildOptions shell(const std::string& script, const TempDir& dir) {
  ChildOptions options;
  options.argv = {"sh", "-c", script};
  options.working_dir = dir.path();
  options.log_file = dir.path() / "log";
  return options;
}

// Returns options that run this binary in another mode: see main().
ChildOptions this_binary(const std::string& mode, const std::filesystem::path& file) {
  ChildOptions options;
  options.argv = {std::filesystem::read_symlink("/proc/self/exe").string(), mode, file.string()};
  return options;
}

TEST(WaitFor, Eventually_PollsUntilTrueOrTimeout) {
  int calls = 0;
  EXPECT_TRUE(eventually([&] { return ++calls == 3; }, seconds(10), milliseconds(1)));
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(eventually([] { return false; }, milliseconds(20)));
  EXPECT_TRUE(eventually([] { return true; }, milliseconds(0)));
}

TEST(ChildProcess, Options_SetDirectoryEnvironmentAndLog) {
  const TempDir dir;
  ChildOptions options = shell("pwd; echo \"$ADDED\" >&2; exit 3", dir);
  options.env = {{"ADDED", "from the test"}};
  ChildProcess child(options);
  const auto status = child.wait(seconds(60));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->exit_code, 3);
  EXPECT_EQ(status->signal, 0);
  EXPECT_FALSE(child.running());
  EXPECT_EQ(read_file(dir.path() / "log"), dir.path().string() + "\nfrom the test\n");
}

TEST(ChildProcess, Child_InheritsNoDescriptorAndNoIgnoredSignal) {
  const TempDir dir;
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  const int leaked = ::dup(STDERR_FILENO);  // no close-on-exec
  // A glob, because the shell needs no descriptor for it.
  ChildProcess child(
      shell("for f in /proc/self/fd/*; do echo ${f##*/}; done | sort -n | tail -1;"
            "grep SigIgn /proc/self/status",
            dir));
  ASSERT_TRUE(child.wait(seconds(60)));
  ::close(leaked);
  (void)std::signal(SIGPIPE, previous);
  const std::string log = read_file(dir.path() / "log");
  EXPECT_EQ(log.find("SigIgn:\t0000000000000000"), log.find("SigIgn")) << log;
  EXPECT_LE(std::stoi(log), 3) << "3 is the glob's own: " << log;
}

TEST(ChildProcess, PausedChild_TerminatesAfterResume) {
  ChildProcess child(sleeper());
  EXPECT_TRUE(child.running());
  child.pause();
  EXPECT_EQ(process_state(child.pid()), 'T');
  child.pause();
  EXPECT_TRUE(child.paused());
  child.terminate();
  EXPECT_FALSE(child.wait(milliseconds(50))) << "a paused process saw SIGTERM";
  child.resume();
  const auto status = child.wait(seconds(60));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->signal, SIGTERM);
  child.pause();  // no error on a process that has ended
  child.resume();
}

TEST(ChildProcess, KillOfPausedChild_ReapsIt) {
  ChildProcess child(sleeper());
  child.pause();
  child.kill();
  EXPECT_EQ(process_state(child.pid()), '\0');
  const auto status = child.wait(milliseconds(0));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->signal, SIGKILL);
}

TEST(ChildProcess, MissingProgramOrDirectory_Throws) {
  ChildOptions options;
  options.argv = {"zklock-no-such-program"};
  EXPECT_THROW(ChildProcess{options}, std::system_error);
  options.argv = {"/zklock/no/such/program"};
  EXPECT_THROW(ChildProcess{options}, std::system_error);
  options = sleeper();
  options.working_dir = "/zklock/no/such/directory";
  EXPECT_THROW(ChildProcess{options}, std::system_error);
}

TEST(ChildProcess, ParentKilled_ChildEnds) {
  const TempDir dir;
  ChildProcess middle(this_binary("--hold-child", dir.path() / "pid"));
  ASSERT_TRUE(eventually([&] { return exists(dir.path() / "pid"); }));
  const pid_t grandchild = std::stoi(read_file(dir.path() / "pid"));
  EXPECT_FALSE(has_ended(grandchild));
  middle.kill();
  EXPECT_TRUE(eventually([&] { return has_ended(grandchild); }));
}

TEST(FreePorts, PortsOfTwoObjects_AreDistinct) {
  const FreePorts first(50);
  const FreePorts second(50);
  std::set<std::uint16_t> all(first.all().begin(), first.all().end());
  all.insert(second.all().begin(), second.all().end());
  EXPECT_EQ(all.size(), 100U);
  for (const std::uint16_t port : all) {
    EXPECT_GE(port, 1024);
    EXPECT_LT(port, 32768);
  }
}

// The test makes descriptors scarce instead of ports, as other tests need ports meanwhile.
TEST(FreePorts, NotEnoughPorts_AreReleased) {
  const DescriptorLimit few(100);
  EXPECT_THROW(FreePorts(100), std::runtime_error);
  EXPECT_EQ(FreePorts(50).size(), 50U);
}

// Another process, this binary with --list-ports, claims the whole range.
TEST(FreePorts, PortsInUse_AreNotGivenToOtherProcess) {
  const TempDir dir;
  auto mine = std::make_unique<FreePorts>(200);
  const std::vector<std::uint16_t> held = mine->all();
  const auto given_to_another = [&](const std::string& file) {
    ChildProcess other(this_binary("--list-ports", dir.path() / file));
    EXPECT_TRUE(other.wait(seconds(60)));
    std::ifstream list(dir.path() / file);
    const std::set<int> theirs(std::istream_iterator<int>(list), {});
    EXPECT_GT(theirs.size(), 5000U);
    return std::count_if(held.begin(), held.end(), [&](int port) { return theirs.contains(port); });
  };
  EXPECT_EQ(given_to_another("while-held"), 0);
  mine.reset();
  EXPECT_GT(given_to_another("after"), 0);
}

void write_at_once(const std::string& file, const std::string& text) {
  std::ofstream(file + ".part") << text;
  std::filesystem::rename(file + ".part", file);
}

// Starts a child and never kills it: the test kills this process, and the kernel the child.
int hold_child(const std::string& file) {
  std::unique_ptr<ChildProcess> child;
  std::thread([&] { child = std::make_unique<ChildProcess>(sleeper()); }).join();
  write_at_once(file, std::to_string(child->pid()));
  (void)child->wait(seconds(60));
  return 1;
}

int list_ports(const std::string& file) {
  std::string list;
  for (int i = 0; i < 12000; ++i) list += std::to_string(FreePorts(1)[0]) + "\n";
  write_at_once(file, list);
  return 0;
}

}  // namespace
}  // namespace zklock::testing

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--hold-child") {
    return zklock::testing::hold_child(argv[2]);
  }
  if (argc == 3 && std::string(argv[1]) == "--list-ports") {
    return zklock::testing::list_ports(argv[2]);
  }
  if (argc == 2 && std::string(argv[1]) == "--why-no-server") {
    std::cout << zklock::testing::TestServer::unavailable().value_or("one can be started");
    return 0;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
