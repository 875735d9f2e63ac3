// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/io/events.h"

namespace zklock::cli {

namespace {

constexpr int kSequenceTime = 50;  ///< most milliseconds within a key's sequence

termios saved_mode{};
bool is_changed = false;

void write_all(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void restore() noexcept {
  if (!std::exchange(is_changed, false)) return;
  write_all("\x1b[?7h\x1b[?25h\x1b[?1049l");
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved_mode);
}

/// Single keys, the alternate screen, no cursor, and no wrap of lines whose width is another than
/// expected.
void set_up() noexcept {
  termios mode = saved_mode;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C still sends a signal
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  is_changed = true;
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode);
  write_all("\x1b[?1049h\x1b[?25l\x1b[?7l");
}

bool is_in_background() noexcept {
  const pid_t foreground = ::tcgetpgrp(STDIN_FILENO);
  return foreground > 0 && foreground != ::getpgrp();
}

bool reads_within(int timeout_ms) noexcept {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, timeout_ms) > 0 && (input.revents & POLLIN) != 0;
}

struct Sequence {
  std::string_view bytes;
  Key key;
};
constexpr std::array kSequences{Sequence{"\x1b[A", kUp},      Sequence{"\x1b[B", kDown},
                                Sequence{"\x1bOA", kUp},      Sequence{"\x1bOB", kDown},
                                Sequence{"\x1b[5~", kPageUp}, Sequence{"\x1b[6~", kPageDown},
                                Sequence{"\r", kEnter},       Sequence{"\n", kEnter},
                                Sequence{"\x7f", kBackspace}, Sequence{"\b", kBackspace}};

}  // namespace

bool ends_in_sequence(std::string_view bytes) {
  const auto at = bytes.rfind('\x1b');
  if (at == std::string_view::npos) return false;
  const std::string_view end = bytes.substr(at);
  return std::ranges::any_of(kSequences, [end](const Sequence& each) {
    return each.bytes.size() > end.size() && each.bytes.starts_with(end);
  });
}

std::vector<Key> keys_of(std::string_view bytes) {
  std::vector<Key> keys;
  while (!bytes.empty()) {
    const auto known = std::ranges::find_if(
        kSequences, [bytes](const Sequence& each) { return bytes.starts_with(each.bytes); });
    if (known != kSequences.end()) {
      keys.push_back(known->key);
      bytes.remove_prefix(known->bytes.size());
    } else if (bytes == "\x1b") {
      keys.push_back(kEscape);
      break;
    } else if (bytes.front() == '\x1b') {
      break;  // a sequence of another key
    } else {
      const char text = bytes.front();
      if (text >= ' ' && text != '\x7f') keys.push_back(text);
      bytes.remove_prefix(1);
    }
  }
  return keys;
}

bool Terminal::is_there() noexcept {
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
}

Terminal::Terminal() {
  if (!is_there() || ::tcgetattr(STDIN_FILENO, &saved_mode) != 0) {
    throw Failure(ExitCode::kSystem, "this is no terminal");
  }
  std::atexit([] { restore(); });
  set_up();
}

void Terminal::suspend() noexcept {
  restore();
  // Without a shell that could continue the process, the kernel ignores SIGTSTP.
  const sigset_t stop = signal_set({SIGTSTP});
  ::raise(SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  while (is_in_background()) ::raise(SIGSTOP);
  set_up();
}

Terminal::~Terminal() {
  restore();
}

Terminal::Size Terminal::size() const noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {.columns = size.ws_col, .lines = size.ws_row};
}

void Terminal::show(const std::vector<std::string>& lines) {
  // Each line is erased first: after a full one, the cursor is on its last character.
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_selected = lines[i].starts_with('>');
    text += std::string("\x1b[K") + (is_selected ? "\x1b[7m" : "") + lines[i] +
            (is_selected ? "\x1b[0m" : "");
    if (i + 1 < lines.size()) text += "\r\n";
  }
  write_all(text + "\x1b[J");
}

std::optional<std::vector<Key>> Terminal::read_keys() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, 0) <= 0) return std::vector<Key>();
  if ((input.revents & POLLIN) == 0) return std::nullopt;
  std::array<char, 256> bytes{};
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count > 0) {
    std::string typed(bytes.data(), static_cast<std::size_t>(count));
    while (ends_in_sequence(typed) && reads_within(kSequenceTime)) {
      const ssize_t more = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (more <= 0) break;
      typed.append(bytes.data(), static_cast<std::size_t>(more));
    }
    return keys_of(typed);
  }
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return std::vector<Key>();
  return std::nullopt;
}

}  // namespace zklock::cli
