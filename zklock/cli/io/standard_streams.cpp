// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/standard_streams.h"

#include <cstddef>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zklock/cli/core/text.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

namespace {

/// A pipe that is ready for output accepts 4,096 bytes without blocking.
constexpr std::size_t kLongestLine = 4'000;

}  // namespace

void fill_standard_streams() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int access = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (::open("/dev/null", access | O_CLOEXEC) < 0) return;  // the lowest free number
  }
}

void write_line(std::string line) noexcept {
  line.resize(line.size() < kLongestLine ? line.size() : kLongestLine);
  line += '\n';
  struct stat status {};
  if (::fstat(STDERR_FILENO, &status) != 0) return;
  if (S_ISSOCK(status.st_mode)) {
    (void)::send(STDERR_FILENO, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
  // A blocking write waits until a terminal has room for all bytes, and another process may fill a
  // pipe after the poll(). So the output is opened again, because the command shares the flags of
  // the old description. A file would lose its position.
  UniqueFd again;
  if (!S_ISREG(status.st_mode)) {
    again = UniqueFd(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
  const int fd = again.get() >= 0 ? again.get() : STDERR_FILENO;
  pollfd error_output{fd, POLLOUT, 0};
  if (::poll(&error_output, 1, 0) != 1 || (error_output.revents & POLLOUT) == 0) return;
  (void)!::write(fd, line.data(), line.size());
}

void say(const std::string& place, const std::string& text) {
  write_line("zklock: " + display_text(place) + ": " + text);
}

}  // namespace zklock::cli
