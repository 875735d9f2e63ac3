// SPDX-License-Identifier: Apache-2.0
#include "probe_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <list>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace billing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostConnections = 8;
constexpr std::size_t kLongestRequest = 1024;
constexpr std::chrono::seconds kTimeForRequest{2};
constexpr int kPollMs = 200;

[[noreturn]] void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {
    const timeval longest{kTimeForRequest.count(), 0};
    static_cast<void>(::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest));
  }
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }

  // Reads without blocking, and replies to a complete request. Returns whether the connection must
  // be closed.
  bool serve(const ProbeServer::Handler& handler) {
    std::array<char, kLongestRequest> buffer{};
    const auto size = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size > 0) request_.append(buffer.data(), static_cast<std::size_t>(size));
    if (request_.find("\r\n\r\n") != std::string::npos) {
      reply(handler);
      return true;
    }
    const bool ended = size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
    return ended || request_.size() > kLongestRequest || Clock::now() > until_;
  }

 private:
  void reply(const ProbeServer::Handler& handler) const {
    const auto first = request_.find(' ');
    const auto second = request_.find(' ', first + 1);
    const bool is_get = request_.starts_with("GET ") && second != std::string::npos;
    const std::string path = is_get ? request_.substr(first + 1, second - first - 1) : "";
    const Reply reply = is_get ? handler(path) : Reply{405, "text/plain", "only GET\n"};
    const std::string text = "HTTP/1.1 " + std::to_string(reply.status) +
                             (reply.status == 200 ? " OK" : " Error") +
                             "\r\nContent-Type: " + reply.content_type +
                             "\r\nContent-Length: " + std::to_string(reply.body.size()) +
                             "\r\nConnection: close\r\n\r\n" + reply.body;
    static_cast<void>(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL));
  }

  const int fd_;
  const Clock::time_point until_ = Clock::now() + kTimeForRequest;
  std::string request_;
};

}  // namespace

Descriptor::Descriptor(int fd, const char* call) : fd_(fd) {
  if (fd < 0) fail(call);
}

Descriptor::~Descriptor() {
  ::close(fd_);
}

ProbeServer::ProbeServer(const std::string& address, std::uint16_t port, Handler handler)
    : handler_(std::move(handler)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket"),
      end_(::eventfd(0, EFD_CLOEXEC), "eventfd") {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1) {
    errno = EINVAL;
    fail("address");
  }
  socklen_t size = sizeof where;
  const int on = 1;
  static_cast<void>(::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  auto* const generic = reinterpret_cast<sockaddr*>(&where);
  if (::bind(listener_.get(), generic, size) != 0) fail("bind");
  if (::listen(listener_.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.get(), generic, &size) != 0) {
    fail("listen");
  }
  port_ = ntohs(where.sin_port);
  thread_ = std::thread([this] { run(); });
}

ProbeServer::~ProbeServer() {
  static_cast<void>(::eventfd_write(end_.get(), 1));
  thread_.join();
}

void ProbeServer::run() const {
  std::list<Connection> connections;
  bool can_accept = true;
  for (;;) {
    std::vector<pollfd> waiting{{end_.get(), POLLIN, 0}};
    for (const Connection& each : connections) waiting.push_back({each.fd(), POLLIN, 0});
    if (connections.size() < kMostConnections && can_accept) {
      waiting.push_back({listener_.get(), POLLIN, 0});
    }
    const int longest = connections.empty() && can_accept ? -1 : kPollMs;
    static_cast<void>(::poll(waiting.data(), waiting.size(), longest));
    if (waiting.front().revents != 0) return;
    connections.remove_if([this](Connection& each) { return each.serve(handler_); });
    if (connections.size() >= kMostConnections) continue;
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) connections.emplace_back(fd);
    // Without a free descriptor, the listener stays readable, so poll() would not wait.
    can_accept =
        fd >= 0 || (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM);
  }
}

}  // namespace billing
