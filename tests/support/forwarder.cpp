// SPDX-License-Identifier: Apache-2.0
#include "support/forwarder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zklock/testing/servers/loopback.h"

namespace zklock::testing {
namespace {

constexpr int kPollMs = 20;  // reaction time of cut(), mend() and the destructor

// A socket of two threads. The last of them closes it.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

int tcp_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
  return fd;
}

bool readable(int fd, int longest_ms = kPollMs) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, longest_ms) > 0;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Bytes that have arrived but are not due yet.
class Delayed {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Delayed(std::chrono::milliseconds delay) : delay_(delay) {}
  void add(std::string bytes) { chunks_.push_back({Clock::now() + delay_, std::move(bytes)}); }
  int ms_until_due() const {
    if (chunks_.empty()) return kPollMs;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(chunks_.front().due - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, kPollMs));
  }
  // Returns false if the connection is closed.
  bool send_due(int fd) {
    while (!chunks_.empty() && chunks_.front().due <= Clock::now()) {
      if (!send_all(fd, chunks_.front().bytes)) return false;
      chunks_.pop_front();
    }
    return true;
  }

 private:
  struct Chunk {
    Clock::time_point due;
    std::string bytes;
  };
  const std::chrono::milliseconds delay_;
  std::deque<Chunk> chunks_;
};

// Removes the watch events from the bytes that a server sends.
class EventFilter {
 public:
  // Adds arrived bytes. Returns all complete frames that are no watch events.
  std::string through(std::string_view more) {
    arrived_ += more;
    std::string rest;
    while (arrived_.size() >= 2 * sizeof(std::uint32_t)) {
      const std::size_t size = sizeof(std::uint32_t) + number_at(0);
      if (arrived_.size() < size) break;
      if (number_at(1) != kEvent) rest.append(arrived_, 0, size);
      arrived_.erase(0, size);
    }
    return rest;
  }

 private:
  static constexpr std::uint32_t kEvent = 0xffffffff;  // xid of a watch event

  std::uint32_t number_at(std::size_t place) const {
    std::uint32_t number = 0;
    std::memcpy(&number, arrived_.data() + place * sizeof number, sizeof number);
    return ntohl(number);
  }

  std::string arrived_;
};

}  // namespace

Forwarder::Forwarder(std::uint16_t target, Events events, std::chrono::milliseconds delay)
    : target_(target), events_(events), delay_(delay), listener_(tcp_socket()) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    const int error = errno;
    ::close(listener_);
    throw std::system_error(error, std::generic_category(), "bind");
  }
  port_ = ntohs(address.sin_port);
  accepting_ = std::jthread([this] { accept_all(); });
}

Forwarder::~Forwarder() {
  ended_ = true;
  accepting_.join();
  threads_.clear();
  ::close(listener_);
}

void Forwarder::accept_all() {
  while (!ended_) {
    if (!readable(listener_) || cut_) continue;
    const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) continue;
    const auto here = std::make_shared<Socket>(accepted);
    const auto there = std::make_shared<Socket>(tcp_socket());
    const sockaddr_in address = loopback(target_);
    if (::connect(there->fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      continue;  // the target refuses: ends the connection here too
    }
    threads_.emplace_back([this, here, there] { pass(here->fd(), there->fd(), Events::passed); });
    threads_.emplace_back([this, here, there] { pass(there->fd(), here->fd(), events_); });
  }
}

void Forwarder::pass(int from, int to, Events events) {
  EventFilter filter;
  Delayed delayed(delay_);
  std::array<char, 16384> buffer{};
  while (!ended_) {
    if (cut_) {
      ::poll(nullptr, 0, kPollMs);
      continue;
    }
    if (!delayed.send_due(to)) break;
    if (!readable(from, delayed.ms_until_due())) continue;
    const auto size = ::recv(from, buffer.data(), buffer.size(), 0);
    if (size <= 0) break;
    std::string bytes(buffer.data(), static_cast<std::size_t>(size));
    if (events == Events::swallowed) bytes = filter.through(bytes);
    delayed.add(std::move(bytes));
  }
  ::shutdown(from, SHUT_RDWR);
  ::shutdown(to, SHUT_RDWR);
}

}  // namespace zklock::testing
