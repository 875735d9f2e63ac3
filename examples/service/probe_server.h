// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace billing {

struct Reply {
  int status = 200;
  std::string content_type;
  std::string body;
};

// An open file. Closed by the destructor.
class Descriptor {
 public:
  // Takes the result of a system call. Throws std::system_error if it is -1.
  Descriptor(int fd, const char* call);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  const int fd_;
};

// Answers GET requests of probes and of Prometheus, for a program without a web framework. One
// thread serves at most 8 connections at a time. Each has 2 s and 1 KB for its request, and is
// closed after the reply.
//
// Thread-safety: all members, from any thread.
class ProbeServer {
 public:
  // Called by the thread of the server, with the path. Must not throw, and should not block.
  using Handler = std::function<Reply(std::string_view path)>;

  // Listens on `address`, for example "127.0.0.1" or "0.0.0.0". Port 0: any free port.
  // Throws std::system_error.
  ProbeServer(const std::string& address, std::uint16_t port, Handler handler);
  ~ProbeServer();
  ProbeServer(const ProbeServer&) = delete;
  ProbeServer& operator=(const ProbeServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  void run() const;

  const Handler handler_;
  const Descriptor listener_;
  const Descriptor end_;  // readable when the thread must end
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace billing
