// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/scarce_resources.h"

#include <cstddef>
#include <latch>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

void check_descriptors() {
  constexpr std::size_t kNeeded = 24;
  std::vector<UniqueFd> opened;
  while (opened.size() < kNeeded) {
    opened.emplace_back(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (opened.back().get() >= 0) continue;
    throw system_failure("a command needs " + std::to_string(kNeeded) + " file descriptors");
  }
}

void check_threads() {
  // Six of a client and two of the C client. The system counts a thread for a moment after its end,
  // so two more are started.
  constexpr std::size_t kNeeded = 10;
  std::latch all_started(1);
  std::vector<std::jthread> threads;
  int error = 0;
  try {
    while (threads.size() < kNeeded) threads.emplace_back([&all_started] { all_started.wait(); });
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  }
  all_started.count_down();
  threads.clear();
  if (error != 0) throw system_failure("the threads of a client cannot be started", error);
}

}  // namespace zklock::cli
