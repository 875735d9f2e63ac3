// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/four_letter_word.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "zklock/testing/servers/loopback.h"

namespace zklock::testing {
namespace {

using Clock = std::chrono::steady_clock;

class Connection {
 public:
  explicit Connection(std::chrono::milliseconds timeout)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), deadline_(Clock::now() + timeout) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
    timeval limit{};
    limit.tv_sec = micros / 1000000;
    limit.tv_usec = micros % 1000000;
    // The limit applies to connect() too: a paused server with a full backlog does not answer a
    // SYN.
    (void)::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connect(std::uint16_t port) const {
    const sockaddr_in address = loopback(port);
    return ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool send(std::string_view text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

  std::optional<std::string> receive_all() {
    std::string answer;
    std::array<char, 4096> buffer;
    while (wait_readable()) {
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) return std::nullopt;
      if (got == 0) return answer;
      answer.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return std::nullopt;
  }

 private:
  bool wait_readable() {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0) return false;
    pollfd entry{fd_, POLLIN, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left.count()));
    return ready > 0 || (ready < 0 && errno == EINTR);
  }

  int fd_;
  Clock::time_point deadline_;
};

}  // namespace

std::optional<std::string> four_letter_word(std::uint16_t port, std::string_view word,
                                            std::chrono::milliseconds timeout) {
  Connection connection(timeout);
  if (!connection.connect(port) || !connection.send(word)) return std::nullopt;
  auto answer = connection.receive_all();
  if (answer && answer->empty()) return std::nullopt;
  return answer;
}

std::optional<std::string> mntr_value(std::string_view answer, std::string_view key) {
  while (!answer.empty()) {
    const auto end = std::min(answer.find('\n'), answer.size());
    const auto line = answer.substr(0, end);
    const auto tab = line.find('\t');
    if (tab != std::string_view::npos && line.substr(0, tab) == key) {
      return std::string(line.substr(tab + 1));
    }
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  return std::nullopt;
}

}  // namespace zklock::testing
