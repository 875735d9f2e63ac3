// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {

namespace {

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
  write_all("\x1b[?25h\x1b[?1049l");
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved_mode);
}

struct Sequence {
  std::string_view bytes;
  Key::Kind kind;
};
constexpr std::array kSequences{
    Sequence{"\x1b[A", Key::Kind::up},       Sequence{"\x1b[B", Key::Kind::down},
    Sequence{"\x1bOA", Key::Kind::up},       Sequence{"\x1bOB", Key::Kind::down},
    Sequence{"\x1b[5~", Key::Kind::page_up}, Sequence{"\x1b[6~", Key::Kind::page_down},
    Sequence{"\r", Key::Kind::enter},        Sequence{"\n", Key::Kind::enter},
    Sequence{"\x7f", Key::Kind::backspace},  Sequence{"\b", Key::Kind::backspace}};

}  // namespace

std::vector<Key> keys_of(std::string_view bytes) {
  std::vector<Key> keys;
  while (!bytes.empty()) {
    const auto known = std::ranges::find_if(
        kSequences, [bytes](const Sequence& each) { return bytes.starts_with(each.bytes); });
    if (known != kSequences.end()) {
      keys.push_back({.kind = known->kind});
      bytes.remove_prefix(known->bytes.size());
    } else if (bytes == "\x1b") {
      keys.push_back({.kind = Key::Kind::escape});
      break;
    } else if (bytes.front() == '\x1b') {
      break;  // a sequence of another key
    } else {
      const char text = bytes.front();
      if (text >= ' ' && text != '\x7f') keys.push_back({.kind = Key::Kind::text, .text = text});
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
  termios mode = saved_mode;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C still sends a signal
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  std::atexit([] { restore(); });
  is_changed = true;
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode);
  write_all("\x1b[?1049h\x1b[?25l");
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
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_selected = lines[i].starts_with('>');
    text += (is_selected ? "\x1b[7m" : "") + lines[i] + (is_selected ? "\x1b[0m" : "") + "\x1b[K";
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
  if (count > 0) return keys_of({bytes.data(), static_cast<std::size_t>(count)});
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return std::vector<Key>();
  return std::nullopt;
}

}  // namespace zklock::cli
