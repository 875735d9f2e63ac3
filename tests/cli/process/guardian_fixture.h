// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zklock/cli/core/kill_schedule.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/guardian.h"
#include "zklock/cli/io/process_tree.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::cli {

using namespace std::chrono_literals;

constexpr Duration kTimeout = 48s;
constexpr Duration kLead = 2s;  ///< KillSchedule::lead_of(kTimeout): a busy machine is that late
constexpr Duration kGrace = 500ms;
constexpr Duration kAhead = 3500ms;  ///< from now to the bound

// Parts of the scripts; see GuardianTest.
inline const std::string kTicks = "exec 9>$PIPE; printf x >&9; ";
inline const std::string kIgnoresTerm = "trap '' TERM; ";
inline const std::string kReady = ": >$READY; ";
inline const std::string kSleeps = "while :; do sleep 0.05; done";

/// A guardian below a process that plays zklock. The commands are shell scripts. Each opens the
/// pipe $PIPE for writing. All its descendants inherit that descriptor, so the pipe ends when the
/// last of them is dead. A script creates the file $READY when await_ready() is to return.
class GuardianTest : public ::testing::Test {
 protected:
  GuardianTest() {
    std::string name = ::testing::TempDir() + "zklock-guardian.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of the test become its children
    EXPECT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
    pipe_ = UniqueFd(::open((folder_ + "/pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  ~GuardianTest() override {
    do {
      signal_descendants(::getpid(), SIGKILL);
    } while (::waitpid(-1, nullptr, 0) > 0);
    std::filesystem::remove_all(folder_);
  }

  GuardedCommand script(const std::string& text) {
    GuardedCommand command;
    command.program = "/bin/sh";
    command.arguments = {"sh", "-c",
                         "PIPE=" + folder_ + "/pipe; FILE=" + folder_ + "/file; READY=" + folder_ +
                             "/ready; " + text};
    sigemptyset(&command.signal_mask);
    return command;
  }

  using Body = std::function<int(Guardian&)>;
  /// Runs `body` in a process that plays zklock. Its result is the exit code.
  void play(
      const GuardedCommand& command, const Body& body,
      const std::function<void()>& before = [] {}) {
    zklock_ = ::fork();
    ASSERT_GE(zklock_, 0);
    if (zklock_ > 0) return;
    ::close_range(3, ~0U, 0);
    before();
    Guardian guardian(command);
    ::_exit(body(guardian));
  }
  /// Blocks until the process that plays zklock ends. Returns its exit code.
  int exit_code() {
    int status = 0;
    ::waitpid(std::exchange(zklock_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// Blocks until the script has created $READY. It is for the process that plays zklock.
  void await_ready() const {
    const std::string ready = folder_ + "/ready";
    if (!testing::eventually([&] { return ::access(ready.c_str(), F_OK) == 0; })) ::_exit(98);
  }

  /// Returns the next bytes in the pipe. Returns an empty text when the pipe has ended.
  std::string read_pipe() {
    pollfd polled{pipe_.get(), POLLIN, 0};
    if (::poll(&polled, 1, 20'000) != 1) return "nothing";
    char bytes[16];
    const ssize_t length = ::read(pipe_.get(), bytes, sizeof bytes);
    return std::string(bytes, length > 0 ? static_cast<std::size_t>(length) : 0);
  }
  /// Blocks until all processes of the command are dead. Returns when that was.
  Instant death() {
    for (std::string text = read_pipe(); !text.empty(); text = read_pipe()) {
      if (text != "nothing") continue;
      ADD_FAILURE() << "a process of the command is alive";
      break;
    }
    return LeaseClock::now();
  }
  std::string file() {
    std::ifstream stream(folder_ + "/file");
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string folder_;
  UniqueFd pipe_;
  pid_t zklock_ = 0;
};

/// Starts the command with a bound `ahead` of now.
inline void start(Guardian& guardian, Duration ahead = kAhead) {
  guardian.start({}, LeaseClock::now() + ahead, kTimeout, kGrace);
}

/// Sends SIGSTOP to the guardian, and waits until it is stopped.
inline void stop(const Guardian& guardian) {
  ::kill(guardian.pid(), SIGSTOP);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(guardian.pid()), &info, WSTOPPED | WNOWAIT);
}

/// Returns the next notice, even if it takes long.
inline Notice await_notice(Guardian& guardian) {
  Waiter waiter;
  while (true) {
    if (const auto notice = guardian.next_notice()) return *notice;
    if (guardian.has_ended()) ::_exit(99);
    waiter.wait({guardian.fd()}, LeaseClock::now() + 10s);
  }
}

/// Waits for a notice of that kind.
inline Notice await_notice(Guardian& guardian, Notice::Kind kind) {
  while (true) {
    const Notice notice = await_notice(guardian);
    if (notice.kind == kind) return notice;
  }
}

/// Starts the command, and waits until all of its processes have ended. Returns an exit code.
inline int start_and_await_end(Guardian& guardian) {
  start(guardian);
  await_notice(guardian, Notice::Kind::swept);
  return 0;
}

/// Extends the bound until `end`, as a healthy hold does. By default it does not return.
inline void extend(Guardian& guardian, Duration ahead = kAhead, Instant end = Instant::max()) {
  Waiter waiter;
  while (LeaseClock::now() < end) {
    guardian.bound(LeaseClock::now() + ahead, kTimeout);
    while (guardian.next_notice()) {
    }
    waiter.wait({}, LeaseClock::now() + 20ms);
  }
}

}  // namespace zklock::cli
