// SPDX-License-Identifier: Apache-2.0
#include "chaos/proxy.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chaos/workload.h"
#include "zklock/testing/servers/loopback.h"

namespace zklock::chaos {
namespace {

using std::chrono::milliseconds;
using testing::loopback;

constexpr milliseconds kLongestPoll{20};

int tcp_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
  return fd;
}

// Returns -1 if the port is in use.
int listen_on(std::uint16_t port) {
  const int fd = tcp_socket();
  const int on = 1;
  static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  const sockaddr_in address = loopback(port);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(fd, 16) == 0) {
    return fd;
  }
  ::close(fd);
  return -1;
}

void without_delay(int fd) {
  const int on = 1;
  static_cast<void>(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
}

}  // namespace

Proxy::Proxy(std::vector<std::uint16_t> servers) : ports_(servers.size()) {
  for (const std::uint16_t server : servers) doors_.push_back({.server = server});
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  tend_doors();
  thread_ = std::thread([this] { run(); });
}

Proxy::~Proxy() {
  {
    const std::lock_guard guard(mutex_);
    ended_ = true;
  }
  wake();
  thread_.join();
  for (const Door& door : doors_) {
    if (door.listener >= 0) ::close(door.listener);
  }
  ::close(wake_fd_);
}

std::string Proxy::hosts() const {
  std::string hosts;
  for (const std::uint16_t port : ports_.all()) {
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return hosts + kChroot;
}

void Proxy::set(const Weather& weather) {
  {
    const std::lock_guard guard(mutex_);
    weather_ = weather;
  }
  wake();
}

void Proxy::arm(const Trap& trap) {
  const std::lock_guard guard(mutex_);
  trap_ = trap;
  sprung_ = false;
}

bool Proxy::disarm() {
  const std::lock_guard guard(mutex_);
  trap_.reset();
  return sprung_;
}

bool Proxy::sprung() const {
  const std::lock_guard guard(mutex_);
  return sprung_;
}

void Proxy::reset_connections() {
  {
    const std::lock_guard guard(mutex_);
    reset_wanted_ = true;
  }
  wake();
}

void Proxy::refuse(std::size_t server) {
  {
    const std::lock_guard guard(mutex_);
    doors_.at(server).refused = true;
  }
  wake();
}

void Proxy::refuse_all() {
  for (std::size_t i = 0; i < doors_.size(); ++i) refuse(i);
}

void Proxy::accept_all() {
  {
    const std::lock_guard guard(mutex_);
    for (Door& door : doors_) door.refused = false;
  }
  wake();
}

std::optional<std::size_t> Proxy::connected_to() const {
  const std::lock_guard guard(mutex_);
  if (carried_.empty()) return std::nullopt;
  return carried_.back()->server_index();
}

void Proxy::wake() const {
  static_cast<void>(::eventfd_write(wake_fd_, 1));
}

void Proxy::run() {
  for (;;) {
    Weather weather;
    {
      const std::lock_guard guard(mutex_);
      if (ended_) break;
      weather = weather_;
    }
    wait(weather);
    const std::lock_guard guard(mutex_);
    tend_doors();
    for (std::size_t i = 0; i < doors_.size(); ++i) let_in(i);
    carry();
  }
  carried_.clear();
}

// Blocks until there is work. Reads the list of connections without the lock, as only this thread
// changes it.
void Proxy::wait(const Weather& weather) {
  std::vector<pollfd> waiting{{wake_fd_, POLLIN, 0}};
  for (const Door& door : doors_) waiting.push_back({door.listener, POLLIN, 0});
  auto length = kLongestPoll;
  for (const auto& connection : carried_) {
    if (weather.silent) break;
    waiting.push_back({connection->client(), POLLIN, 0});
    waiting.push_back({connection->server(), POLLIN, 0});
    if (const auto due = connection->next_due()) {
      length = std::min(length, std::chrono::ceil<milliseconds>(*due - Clock::now()));
    }
  }
  static_cast<void>(::poll(waiting.data(), waiting.size(),
                           static_cast<int>(std::max(length, milliseconds(1)).count())));
  eventfd_t ignored = 0;
  static_cast<void>(::eventfd_read(wake_fd_, &ignored));
}

void Proxy::tend_doors() {
  for (std::size_t i = 0; i < doors_.size(); ++i) {
    Door& door = doors_[i];
    if (door.refused && door.listener >= 0) ::close(std::exchange(door.listener, -1));
    if (!door.refused && door.listener < 0) door.listener = listen_on(ports_[i]);
  }
}

void Proxy::let_in(std::size_t index) {
  Door& door = doors_[index];
  if (door.listener < 0) return;
  const int client = ::accept4(door.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  const int server = tcp_socket();
  without_delay(client);
  without_delay(server);
  const sockaddr_in address = loopback(door.server);
  // A failure shows at the first read.
  static_cast<void>(::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  carried_.push_back(std::make_unique<Carried>(client, server, index));
}

void Proxy::carry() {
  const bool reset = std::exchange(reset_wanted_, false);
  for (auto connection = carried_.begin(); connection != carried_.end();) {
    const auto& carried = *connection;
    bool over = reset || doors_[carried->server_index()].refused;
    if (over) carried->reset();
    over = over || !carried->turn(weather_, trap_);
    if (carried->sprung()) sprung_ = true;
    connection = over ? carried_.erase(connection) : std::next(connection);
  }
}

}  // namespace zklock::chaos
