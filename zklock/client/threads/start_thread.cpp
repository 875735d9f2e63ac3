// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/start_thread.h"

#include <chrono>
#include <csignal>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

namespace zklock::client {

namespace {

// The system counts a thread until shortly after join().
constexpr std::chrono::seconds kLongestEnd{1};

void wait_until_uncounted(pid_t thread) {
  const auto until = std::chrono::steady_clock::now() + kLongestEnd;
  while (::tgkill(::getpid(), thread, 0) == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
}

}  // namespace

bool can_start_threads(std::size_t count) {
  std::latch all_started(1);
  std::vector<pid_t> ids(count);
  std::vector<std::thread> probes;
  probes.reserve(count);
  bool enough = true;
  try {
    for (pid_t& id : ids) {
      probes.push_back(start_thread("zklock-probe", [&all_started, &id] {
        id = ::gettid();
        all_started.wait();
      }));
    }
  } catch (const std::system_error&) {
    enough = false;
  }
  all_started.count_down();
  for (std::thread& probe : probes) probe.join();
  ids.resize(probes.size());
  for (const pid_t id : ids) wait_until_uncounted(id);
  return enough;
}

std::string thread_shortage() {
  return "the system provides no more threads; check `ulimit -u`, the pids limit of the control "
         "group, and the memory";
}

}  // namespace zklock::client
