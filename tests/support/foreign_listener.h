// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zklock/testing/servers/loopback.h"

namespace zklock::testing {

// A program that listens on a port, and is no server of ZooKeeper.
class ForeignListener {
 public:
  enum class Then { stay, close };
  // Never answers.
  ForeignListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_, any, length) != 0 || ::listen(socket_, 64) != 0 ||
        ::getsockname(socket_, any, &length) != 0) {
      throw std::runtime_error("no listener");
    }
    port_ = ntohs(address.sin_port);
  }
  // Answers the first bytes of each connection with `answer`.
  ForeignListener(std::string answer, Then then) : ForeignListener() {
    answering_ = std::jthread([this, answer = std::move(answer), then](const std::stop_token& end) {
      answer_all(answer, then, end);
    });
  }
  ~ForeignListener() {
    answering_ = {};
    for (const int each : connections_) ::close(each);
    ::close(socket_);
  }
  ForeignListener(const ForeignListener&) = delete;
  ForeignListener& operator=(const ForeignListener&) = delete;

  std::string hosts() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  static bool is_readable(int socket) {
    pollfd polled{socket, POLLIN, 0};
    return ::poll(&polled, 1, 20) > 0;
  }

  void answer_all(const std::string& answer, Then then, const std::stop_token& end) {
    while (!end.stop_requested()) {
      if (!is_readable(socket_)) continue;
      const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      while (!end.stop_requested() && !is_readable(connection)) {
      }
      char received[256];
      (void)::recv(connection, received, sizeof received, MSG_DONTWAIT);
      if (!answer.empty()) (void)::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      if (then == Then::close) {
        ::close(connection);
      } else {
        connections_.push_back(connection);
      }
    }
  }

  const int socket_;
  std::uint16_t port_ = 0;
  std::vector<int> connections_;  // used by the thread, then by the destructor
  std::jthread answering_;
};

}  // namespace zklock::testing
