// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/free_ports.h"

#include <atomic>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "zklock/testing/servers/loopback.h"

namespace zklock::testing {
namespace {

constexpr std::uint32_t kFirstPort = 20000;
constexpr std::uint32_t kPortCount =
    12000;  // ends below 32768, where Linux's ephemeral range starts

// Returns the next candidate. The sequence starts at a random port, and repeats a port only after
// all others. A client of an earlier test must not meet a new server on its old port.
std::uint16_t next_candidate() {
  static std::atomic<std::uint32_t> counter{std::random_device{}()};
  return static_cast<std::uint16_t>(kFirstPort + counter.fetch_add(1) % kPortCount);
}

// Claims a port by binding an abstract Unix socket named after it. Only one process can bind a
// name; the kernel frees it when that process dies, and no file is left. Network namespaces
// separate these names as they separate ports. Returns -1 if the port is claimed already.
int claim(std::uint16_t port) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "zklock-test-port-" + std::to_string(port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // a leading NUL: abstract
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0) return fd;
  ::close(fd);
  return -1;
}

bool can_bind(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  // The servers set this option too: a port in TIME_WAIT is free, a listening one is not.
  const int on = 1;
  (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback(port);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

FreePorts::FreePorts(std::size_t count) {
  ports_.reserve(count);
  claims_.reserve(count);
  for (std::uint32_t tried = 0; tried < kPortCount && ports_.size() < count; ++tried) {
    const std::uint16_t port = next_candidate();
    const int fd = claim(port);
    if (fd < 0) continue;
    if (!can_bind(port)) {
      ::close(fd);
      continue;
    }
    ports_.push_back(port);
    claims_.push_back(fd);
  }
  if (ports_.size() < count) {
    release();
    throw std::runtime_error("no " + std::to_string(count) + " free loopback ports");
  }
}

FreePorts::~FreePorts() {
  release();
}

void FreePorts::release() noexcept {
  for (const int fd : claims_) ::close(fd);
  claims_.clear();
}

}  // namespace zklock::testing
