// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/child_process.h"

#include <cerrno>
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {
namespace {

constexpr std::chrono::milliseconds kPoll{2};

ExitStatus decode(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {-1, WTERMSIG(wait_status)};
  return {WEXITSTATUS(wait_status), 0};
}

}  // namespace

ChildProcess::ChildProcess(const ChildOptions& options)
    : owner_(::getpid()), pid_(spawn_process(options)) {}

ChildProcess::~ChildProcess() {
  // A fork of this process, such as a death test, must not kill the child.
  if (::getpid() == owner_) kill();
}

bool ChildProcess::reap() {
  if (status_) return true;
  int wait_status = 0;
  const pid_t got = ::waitpid(pid_, &wait_status, WNOHANG);
  if (got == pid_) status_ = decode(wait_status);
  if (got < 0 && errno == ECHILD) status_ = ExitStatus{};  // unknown
  return status_.has_value();
}

void ChildProcess::send(int signal_number) {
  const std::lock_guard guard(mutex_);
  if (reap()) return;
  if (signal_number == SIGSTOP) paused_ = true;
  if (signal_number == SIGCONT) paused_ = false;
  (void)::kill(pid_, signal_number);
}

bool ChildProcess::stopped_or_ended() {
  const std::lock_guard guard(mutex_);
  if (reap()) return true;
  siginfo_t info{};
  // WNOWAIT retains the report, so that a second pause() finds it too.
  const int flags = WSTOPPED | WNOHANG | WNOWAIT;
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, flags) == 0 && info.si_pid == pid_;
}

void ChildProcess::pause() {
  send(SIGSTOP);
  (void)eventually([this] { return stopped_or_ended(); }, std::chrono::seconds(10), kPoll);
}

void ChildProcess::resume() {
  send(SIGCONT);
}

void ChildProcess::terminate() {
  send(SIGTERM);
}

void ChildProcess::kill() {
  send(SIGKILL);
  (void)wait(std::chrono::seconds(10));
}

bool ChildProcess::running() {
  const std::lock_guard guard(mutex_);
  return !reap();
}

bool ChildProcess::paused() {
  const std::lock_guard guard(mutex_);
  return !reap() && paused_;
}

std::optional<ExitStatus> ChildProcess::wait(std::chrono::milliseconds timeout) {
  (void)eventually([this] { return !running(); }, timeout, kPoll);
  const std::lock_guard guard(mutex_);
  return status_;
}

}  // namespace zklock::testing
