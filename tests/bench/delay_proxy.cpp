// SPDX-License-Identifier: Apache-2.0
//   zklock_bench_delay MICROSECONDS PORT...
// Listens on a loopback port for each PORT, and forwards every connection to that PORT. Each byte
// is sent that long after its arrival, in both directions. Prints the ports on which it listens, in
// one line. One thread does all. The delay is equal for all bytes, so the bytes of all connections
// are sent in the order of their arrival. FaultProxy of the test kit has faults, but it counts
// whole milliseconds.
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "zklock/testing/servers/loopback.h"

namespace zklock::bench {
namespace {

using Clock = std::chrono::steady_clock;
using testing::loopback;

int checked(int result, const char* what) {
  if (result >= 0) return result;
  std::fprintf(stderr, "zklock_bench_delay: %s: %s\n", what, std::strerror(errno));
  std::_Exit(1);
}

int tcp_socket() {
  return checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
}

/// The two sockets of one connection. Side 0 is the client's, side 1 the server's.
class Connection {
 public:
  Connection(int client, int server) : sockets_{client, server} {
    for (const int fd : sockets_) {
      const int on = 1;
      checked(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
      checked(::fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
    }
  }
  ~Connection() {
    for (const int fd : sockets_) ::close(fd);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket(std::size_t side) const { return sockets_[side]; }

  /// Sends the bytes to a side, or puts them behind those that the socket does not accept yet.
  void send(std::size_t side, std::string_view bytes) {
    std::string& unsent = unsent_[side];
    if (!unsent.empty()) {
      unsent += bytes;
    } else {
      unsent = bytes.substr(send_now(side, bytes));
    }
  }
  void send_rest(std::size_t side) { unsent_[side].erase(0, send_now(side, unsent_[side])); }
  bool has_rest(std::size_t side) const { return !unsent_[side].empty(); }

 private:
  std::size_t send_now(std::size_t side, std::string_view bytes) {
    const auto sent = ::send(sockets_[side], bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    // After any other error, recv() ends the connection.
    return errno == EAGAIN ? 0 : bytes.size();
  }

  const std::array<int, 2> sockets_;
  std::array<std::string, 2> unsent_;  // by side
};

class Proxy {
 public:
  explicit Proxy(std::chrono::microseconds delay)
      : delay_(delay),
        poll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
        timer_(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timer")) {
    // Edge-triggered, so that it need not be read.
    control(EPOLL_CTL_ADD, timer_, EPOLLIN | EPOLLET);
  }

  /// Returns the port on which it listens for connections to the target.
  std::uint16_t listen_for(std::uint16_t target) {
    const int listener = tcp_socket();
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    checked(::bind(listener, generic, size), "bind");
    checked(::listen(listener, SOMAXCONN), "listen");
    checked(::getsockname(listener, generic, &size), "getsockname");
    checked(::fcntl(listener, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
    targets_[listener] = target;
    control(EPOLL_CTL_ADD, listener, EPOLLIN);
    return ntohs(address.sin_port);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> events{};
    for (;;) {
      const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
      if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
      for (std::size_t i = 0; static_cast<int>(i) < count; ++i) {
        on_event(events[i].data.fd, events[i].events);
      }
      send_due();
    }
  }

 private:
  struct Side {
    std::shared_ptr<Connection> connection;
    std::size_t side = 0;
  };
  /// Bytes for a side of a connection. No bytes: the other side has ended.
  struct Chunk {
    Clock::time_point due;
    Side to;
    std::string bytes;
  };

  void control(int operation, int fd, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    checked(::epoll_ctl(poll_, operation, fd, &event), "epoll_ctl");
  }

  void on_event(int fd, std::uint32_t events) {
    if (const auto found = targets_.find(fd); found != targets_.end()) {
      accept(fd, found->second);
    } else if (const auto open = sides_.find(fd); open != sides_.end()) {
      const Side from = open->second;
      if ((events & EPOLLOUT) != 0) send_rest(from);
      if ((events & ~std::uint32_t{EPOLLOUT}) != 0) receive(fd, from);
    }
  }

  void accept(int listener, std::uint16_t target) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = tcp_socket();
    const sockaddr_in address = loopback(target);
    // Blocks, but on loopback it takes no time.
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(client);
      ::close(server);
      return;
    }
    const auto connection = std::make_shared<Connection>(client, server);
    for (const std::size_t side : {0U, 1U}) {
      sides_[connection->socket(side)] = {connection, side};
      control(EPOLL_CTL_ADD, connection->socket(side), EPOLLIN);
    }
  }

  void receive(int fd, const Side& from) {
    const auto size = ::recv(fd, buffer_.data(), buffer_.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    std::string bytes;
    if (size > 0) {
      bytes.assign(buffer_.data(), static_cast<std::size_t>(size));
    } else {
      forget(fd);
    }
    in_flight_.push_back(
        {Clock::now() + delay_, {from.connection, 1 - from.side}, std::move(bytes)});
  }

  void send_due() {
    for (const auto now = Clock::now(); !in_flight_.empty() && in_flight_.front().due <= now;) {
      const Chunk chunk = std::move(in_flight_.front());
      in_flight_.pop_front();
      Connection& connection = *chunk.to.connection;
      const int fd = connection.socket(chunk.to.side);
      if (chunk.bytes.empty()) {
        forget(fd);  // the last reference to the connection closes both sockets
        continue;
      }
      connection.send(chunk.to.side, chunk.bytes);
      if (connection.has_rest(chunk.to.side) && sides_.contains(fd)) {
        control(EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLOUT);
      }
    }
    if (!in_flight_.empty()) set_timer(in_flight_.front().due);
  }

  void send_rest(const Side& to) {
    to.connection->send_rest(to.side);
    if (to.connection->has_rest(to.side)) return;
    control(EPOLL_CTL_MOD, to.connection->socket(to.side), EPOLLIN);
  }

  void forget(int fd) {
    if (sides_.erase(fd) > 0) control(EPOLL_CTL_DEL, fd, 0);
  }

  void set_timer(Clock::time_point due) {
    if (due == armed_) return;
    armed_ = due;
    const auto since = std::chrono::nanoseconds(due.time_since_epoch()).count();
    itimerspec when{};
    when.it_value = {since / 1'000'000'000, since % 1'000'000'000};
    checked(::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr), "timerfd_settime");
  }

  const std::chrono::microseconds delay_;
  const int poll_;
  const int timer_;
  Clock::time_point armed_;
  std::unordered_map<int, std::uint16_t> targets_;  // by listening socket
  std::unordered_map<int, Side> sides_;             // by socket, until its end was received
  std::deque<Chunk> in_flight_;                     // in the order in which they are due
  std::array<char, 65536> buffer_{};
};

template <class Number>
Number number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  std::fputs("usage: zklock_bench_delay MICROSECONDS PORT...\n", stderr);
  std::_Exit(2);
}

}  // namespace
}  // namespace zklock::bench

int main(int argc, char** argv) {
  using zklock::bench::number_in;
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto delay = number_in<std::uint32_t>(words.empty() ? "" : words.front());
  zklock::bench::Proxy proxy{std::chrono::microseconds(delay)};
  std::string ports;
  for (std::size_t i = 1; i < words.size(); ++i) {
    ports += std::to_string(proxy.listen_for(number_in<std::uint16_t>(words[i]))) + ' ';
  }
  std::puts(ports.c_str());
  std::fflush(stdout);
  proxy.run();
}
