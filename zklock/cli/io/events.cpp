// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/events.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {

namespace {

constexpr std::array kForwarded{SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

sigset_t signal_set(std::initializer_list<int> signals) noexcept {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

UniqueFd signal_descriptor(const sigset_t& signals) {
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd.get() < 0) throw system_failure("signalfd");
  return fd;
}

SignalReader::SignalReader(std::initializer_list<int> more) {
  std::vector<int> wanted(kForwarded.begin(), kForwarded.end());
  wanted.insert(wanted.end(), more);
  // A blocked signal is delivered even if it is ignored.
  std::erase_if(wanted, is_ignored);
  sigset_t read = signal_set({});
  for (const int signal : wanted) sigaddset(&read, signal);
  sigset_t blocked = read;
  // A line on the standard error output must not end or stop zklock.
  for (const int signal : {SIGPIPE, SIGTTOU, SIGXFSZ}) sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, &old_mask_);
  ignored_children_ = is_ignored(SIGCHLD);
  // With SIG_IGN, the status of a child would be dropped.
  ::signal(SIGCHLD, SIG_DFL);
  fd_ = signal_descriptor(read);
}

std::optional<ReceivedSignal> SignalReader::next() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  return ReceivedSignal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

TaskQueue::TaskQueue() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_.get() < 0) throw system_failure("eventfd");
}

void TaskQueue::post(Task task) {
  const std::lock_guard guard(mutex_);
  tasks_.push_back(std::move(task));
  const std::uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);
}

void TaskQueue::replace(Task task) {
  (void)take();
  post(std::move(task));
}

std::vector<TaskQueue::Task> TaskQueue::take() {
  const std::lock_guard guard(mutex_);
  std::uint64_t count = 0;
  (void)!::read(event_.get(), &count, sizeof count);
  return std::exchange(tasks_, {});
}

Waiter::Waiter() : timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (timer_.get() < 0) throw system_failure("timerfd_create");
}

void Waiter::wait(std::initializer_list<int> fds, Instant until) {
  itimerspec at{};  // all zero: no timer
  if (until != Instant::max()) {
    const auto since = std::max(until.time_since_epoch(), Duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    at.it_value.tv_sec = static_cast<std::time_t>(seconds.count());
    at.it_value.tv_nsec = static_cast<long>((since - seconds).count());
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  std::vector<pollfd> polled{{timer_.get(), POLLIN, 0}};
  for (const int fd : fds) polled.push_back({fd, POLLIN, 0});
  (void)::poll(polled.data(), polled.size(), -1);
}

void pause(std::chrono::milliseconds time, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, std::move(stop), time, [] { return false; });
}

}  // namespace zklock::cli
