// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/signals.h"

#include <array>

#include <sys/signalfd.h>
#include <unistd.h>

#include "zklock/cli/io/system_failure.h"

namespace zklock::cli {

namespace {

constexpr std::array kForwarded{SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalReader::SignalReader() {
  sigset_t read;
  sigemptyset(&read);
  for (const int signal : kForwarded) {
    // A blocked signal is delivered even if it is ignored.
    if (!is_ignored(signal)) sigaddset(&read, signal);
  }
  sigset_t blocked = read;
  // A line on the standard error output must not end or stop zklock.
  for (const int signal : {SIGPIPE, SIGTTOU, SIGXFSZ}) sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, &old_mask_);
  ignored_children_ = is_ignored(SIGCHLD);
  // With SIG_IGN, the status of a child would be dropped.
  ::signal(SIGCHLD, SIG_DFL);
  fd_ = UniqueFd(::signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd_.get() < 0) throw system_failure("signalfd");
}

std::optional<ReceivedSignal> SignalReader::next() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  return ReceivedSignal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace zklock::cli
