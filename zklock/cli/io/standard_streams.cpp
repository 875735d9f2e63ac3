// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/standard_streams.h"

#include <cstddef>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

namespace {

/// A pipe that is ready for output accepts 4,096 bytes without blocking.
constexpr std::size_t kLongestLine = 4'000;

}  // namespace

void fill_standard_streams() noexcept {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd > STDERR_FILENO) ::close(fd);
}

void replace_standard_input_and_output() noexcept {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.get() < 0) return;
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(null.get(), STDOUT_FILENO);
}

void write_line(std::string line) noexcept {
  line.resize(line.size() < kLongestLine ? line.size() : kLongestLine);
  line += '\n';
  pollfd error_output{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&error_output, 1, 0) != 1 || (error_output.revents & POLLOUT) == 0) return;
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace zklock::cli
