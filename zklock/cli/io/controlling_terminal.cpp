// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/controlling_terminal.h"

#include <cerrno>

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

namespace {

UniqueFd open_terminal() noexcept {
  return UniqueFd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
}

bool has_process(pid_t group) noexcept {
  return group > 0 && (::kill(-group, 0) == 0 || errno == EPERM);
}

}  // namespace

ControllingTerminal::ControllingTerminal() noexcept {
  const UniqueFd terminal = open_terminal();
  exists_ = terminal.get() >= 0;
  termios modes{};
  if (exists_ && ::tcgetpgrp(terminal.get()) == ::getpgrp() &&
      ::tcgetattr(terminal.get(), &modes) == 0) {
    modes_ = modes;
  }
}

void ControllingTerminal::restore() const noexcept {
  if (!modes_) return;
  const UniqueFd terminal = open_terminal();
  const pid_t foreground = ::tcgetpgrp(terminal.get());
  if (foreground != ::getpgrp()) {
    if (has_process(foreground)) return;
    ::tcsetpgrp(terminal.get(), ::getpgrp());
  }
  ::tcsetattr(terminal.get(), TCSANOW, &*modes_);
}

}  // namespace zklock::cli
