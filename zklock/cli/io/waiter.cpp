// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/waiter.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

#include <poll.h>
#include <sys/timerfd.h>

#include "zklock/cli/io/system_failure.h"

namespace zklock::cli {

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

}  // namespace zklock::cli
