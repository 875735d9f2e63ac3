// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/fault_proxy.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zklock/testing/servers/carried_connection.h"
#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/loopback.h"
#include "zklock/testing/servers/quiet_thread.h"

namespace zklock::testing {
namespace {

using detail::CarriedConnection;
using detail::PlannedLoss;
using detail::TrafficFaults;
using std::chrono::milliseconds;

constexpr milliseconds kLongestPoll{20};
// The members of an ensemble retry for so long to connect to a leader that does not listen yet.
constexpr std::chrono::seconds kPatience{5};

// Returns -1 if there is no descriptor left.
int tcp_socket() {
  return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// Returns -1 and sets errno if the port is not available.
int listen_on(std::uint16_t port) {
  const int fd = tcp_socket();
  if (fd < 0) return -1;
  const int on = 1;
  static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  const sockaddr_in address = loopback(port);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(fd, 16) == 0) {
    return fd;
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

void without_delay(int fd) {
  const int on = 1;
  static_cast<void>(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
}

// Returns -1 if no server listens on the port.
int connect_to(std::uint16_t port) {
  const int fd = tcp_socket();
  if (fd < 0) return -1;
  without_delay(fd);
  const sockaddr_in address = loopback(port);
  int error = 0;
  socklen_t size = sizeof error;
  const int result = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if ((result == 0 || errno == EINPROGRESS) &&
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
    return fd;
  }
  ::close(fd);
  return -1;
}

}  // namespace

// A thread carries all connections. The members of FaultProxy change the controls under the mutex,
// and wake the thread.
class FaultProxy::Impl {
 public:
  struct Controls {
    TrafficFaults faults;
    std::optional<PlannedLoss> loss;
    bool loss_happened = false;
    bool reset_wanted = false;
    bool ended = false;
    std::vector<bool> refused;  // by server
  };

  Impl(const std::vector<std::uint16_t>& servers, Protocol protocol);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const FreePorts& ports() const noexcept { return ports_; }
  template <class Change>
  void change(Change change) {
    {
      const std::lock_guard guard(mutex_);
      change(controls_);
    }
    wake();
  }
  void plan_loss(PlannedLoss loss);
  bool loss_happened() const;
  bool cancel_loss();
  std::optional<std::size_t> connected_to() const;

 private:
  struct Door {
    std::uint16_t server;
    int listener = -1;
    int waiting = -1;  // a client that was accepted before the server listens
    CarriedConnection::Clock::time_point patient_until = {};
  };

  void start();
  void close_all() noexcept;
  void wake() const;
  void run();
  void wait(const TrafficFaults& faults);
  void tend_doors();
  void let_in(std::size_t door);
  void carry();

  const Protocol protocol_;
  const FreePorts ports_;
  std::vector<Door> doors_;  // used only by the thread
  int wake_fd_ = -1;

  mutable std::mutex mutex_;  // guards the following members
  Controls controls_;
  std::list<std::unique_ptr<CarriedConnection>> carried_;  // only the thread adds and removes

  std::thread thread_;
};

FaultProxy::Impl::Impl(const std::vector<std::uint16_t>& servers, Protocol protocol)
    : protocol_(protocol), ports_(servers.size()) {
  for (const std::uint16_t server : servers) doors_.push_back({.server = server});
  controls_.refused.resize(servers.size());
  try {
    start();
  } catch (...) {
    close_all();
    throw;
  }
}

void FaultProxy::Impl::start() {
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  for (std::size_t i = 0; i < doors_.size(); ++i) {
    doors_[i].listener = listen_on(ports_[i]);
    if (doors_[i].listener < 0) throw std::system_error(errno, std::generic_category(), "listen");
  }
  thread_ = start_quiet_thread("zklock-proxy", [this] { run(); });
}

FaultProxy::Impl::~Impl() {
  change([](Controls& controls) { controls.ended = true; });
  thread_.join();
  close_all();
}

void FaultProxy::Impl::close_all() noexcept {
  for (const Door& door : doors_) {
    if (door.listener >= 0) ::close(door.listener);
    if (door.waiting >= 0) ::close(door.waiting);
  }
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

void FaultProxy::Impl::plan_loss(PlannedLoss loss) {
  change([&](Controls& controls) {
    controls.loss = loss;
    controls.loss_happened = false;
  });
}

bool FaultProxy::Impl::loss_happened() const {
  const std::lock_guard guard(mutex_);
  return controls_.loss_happened;
}

bool FaultProxy::Impl::cancel_loss() {
  const std::lock_guard guard(mutex_);
  controls_.loss.reset();
  for (const auto& connection : carried_) connection->cancel_loss();
  return !controls_.loss_happened;
}

std::optional<std::size_t> FaultProxy::Impl::connected_to() const {
  const std::lock_guard guard(mutex_);
  if (carried_.empty()) return std::nullopt;
  return carried_.back()->server_index();
}

void FaultProxy::Impl::wake() const {
  static_cast<void>(::eventfd_write(wake_fd_, 1));
}

void FaultProxy::Impl::run() {
  for (;;) {
    TrafficFaults faults;
    {
      const std::lock_guard guard(mutex_);
      if (controls_.ended) break;
      faults = controls_.faults;
    }
    wait(faults);
    const std::lock_guard guard(mutex_);
    tend_doors();
    for (std::size_t i = 0; i < doors_.size() && !controls_.faults.cut; ++i) let_in(i);
    carry();
  }
  carried_.clear();
}

// Blocks until there is work. Reads the lists without the mutex, as only this thread changes them.
void FaultProxy::Impl::wait(const TrafficFaults& faults) {
  std::vector<pollfd> waiting{{wake_fd_, POLLIN, 0}};
  auto length = kLongestPoll;
  if (!faults.cut) {
    for (const Door& door : doors_) {
      waiting.push_back({door.waiting < 0 ? door.listener : -1, POLLIN, 0});
    }
    for (const auto& connection : carried_) {
      waiting.push_back({connection->client(), POLLIN, 0});
      waiting.push_back({connection->server(), POLLIN, 0});
      if (const auto due = connection->next_due()) {
        length = std::min(length,
                          std::chrono::ceil<milliseconds>(*due - CarriedConnection::Clock::now()));
      }
    }
  }
  static_cast<void>(::poll(waiting.data(), waiting.size(),
                           static_cast<int>(std::max(length, milliseconds(1)).count())));
  eventfd_t ignored = 0;
  static_cast<void>(::eventfd_read(wake_fd_, &ignored));
}

void FaultProxy::Impl::tend_doors() {
  for (std::size_t i = 0; i < doors_.size(); ++i) {
    Door& door = doors_[i];
    const bool refused = controls_.refused[i];
    if (refused && door.listener >= 0) ::close(std::exchange(door.listener, -1));
    if (refused && door.waiting >= 0) ::close(std::exchange(door.waiting, -1));
    if (!refused && door.listener < 0) door.listener = listen_on(ports_[i]);
  }
}

void FaultProxy::Impl::let_in(std::size_t index) {
  Door& door = doors_[index];
  if (door.waiting < 0) {
    if (door.listener < 0) return;
    door.waiting = ::accept4(door.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (door.waiting < 0) return;
    without_delay(door.waiting);
    door.patient_until = CarriedConnection::Clock::now() + kPatience;
  }
  const int server = connect_to(door.server);
  if (server >= 0) {
    carried_.push_back(std::make_unique<CarriedConnection>(std::exchange(door.waiting, -1), server,
                                                           index, protocol_));
  } else if (protocol_ == Protocol::zookeeper ||
             CarriedConnection::Clock::now() >= door.patient_until) {
    ::close(std::exchange(door.waiting, -1));
  }
}

void FaultProxy::Impl::carry() {
  const bool reset = std::exchange(controls_.reset_wanted, false);
  for (auto connection = carried_.begin(); connection != carried_.end();) {
    const auto& carried = *connection;
    bool over = reset || controls_.refused[carried->server_index()];
    if (over) carried->reset();
    over = over || !carried->carry(controls_.faults, controls_.loss);
    if (carried->loss_happened()) controls_.loss_happened = true;
    connection = over ? carried_.erase(connection) : std::next(connection);
  }
}

FaultProxy::FaultProxy(std::vector<std::uint16_t> server_ports, Protocol protocol)
    : impl_(std::make_unique<Impl>(server_ports, protocol)) {}

FaultProxy::~FaultProxy() = default;

std::string FaultProxy::hosts() const {
  std::string hosts;
  for (const std::uint16_t port : impl_->ports().all()) {
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return hosts;
}

std::uint16_t FaultProxy::port(std::size_t server) const {
  return impl_->ports()[server];
}

void FaultProxy::cut() {
  impl_->change([](Impl::Controls& controls) { controls.faults.cut = true; });
}

void FaultProxy::mend() {
  impl_->change([](Impl::Controls& controls) { controls.faults.cut = false; });
}

void FaultProxy::break_connections() {
  impl_->change([](Impl::Controls& controls) { controls.reset_wanted = true; });
}

void FaultProxy::refuse(std::size_t server) {
  impl_->change([&](Impl::Controls& controls) { controls.refused.at(server) = true; });
}

void FaultProxy::refuse() {
  impl_->change(
      [](Impl::Controls& controls) { controls.refused.assign(controls.refused.size(), true); });
}

void FaultProxy::accept() {
  impl_->change(
      [](Impl::Controls& controls) { controls.refused.assign(controls.refused.size(), false); });
}

void FaultProxy::delay(milliseconds each_way) {
  impl_->change([&](Impl::Controls& controls) { controls.faults.delay = each_way; });
}

void FaultProxy::delay_events(milliseconds by) {
  impl_->change([&](Impl::Controls& controls) { controls.faults.events_delay = by; });
}

void FaultProxy::drop_events(bool on) {
  impl_->change([&](Impl::Controls& controls) { controls.faults.events_dropped = on; });
}

void FaultProxy::stutter(bool on) {
  impl_->change([&](Impl::Controls& controls) { controls.faults.stutter = on; });
}

void FaultProxy::hold_replies(bool on) {
  impl_->change([&](Impl::Controls& controls) { controls.faults.replies_held = on; });
}

void FaultProxy::lose_reply(RequestKind kind) {
  impl_->plan_loss({kind, PlannedLoss::Lost::reply});
}

void FaultProxy::lose_request(RequestKind kind) {
  impl_->plan_loss({kind, PlannedLoss::Lost::request});
}

bool FaultProxy::loss_happened() const {
  return impl_->loss_happened();
}

bool FaultProxy::cancel_loss() {
  return impl_->cancel_loss();
}

std::optional<std::size_t> FaultProxy::connected_to() const {
  return impl_->connected_to();
}

}  // namespace zklock::testing
