// SPDX-License-Identifier: Apache-2.0
#include "chaos/collector_link.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace zklock::chaos {
namespace {

constexpr int kAloneCode = 9;

int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::system_error(errno, std::generic_category(), "connect to " + path);
  }
  return fd;
}

}  // namespace

CollectorLink::CollectorLink(const std::string& socket_path) : fd_(connect_to(socket_path)) {}

CollectorLink::~CollectorLink() {
  ::close(fd_);
}

void CollectorLink::send_line(const std::string& line) {
  const std::lock_guard guard(mutex_);
  send(line + '\n');
}

bool CollectorLink::query(const std::string& line) {
  const std::lock_guard guard(mutex_);
  send(line + '\n');
  std::string answer;
  while (answer.size() < 2) {
    char bytes[2];
    const auto size = ::recv(fd_, bytes, 2 - answer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) ::_exit(kAloneCode);
    answer.append(bytes, static_cast<std::size_t>(size));
  }
  return answer[0] == '1';
}

void CollectorLink::send(const std::string& line) const {
  for (std::size_t sent = 0; sent < line.size();) {
    const auto size = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) ::_exit(kAloneCode);
    sent += static_cast<std::size_t>(size);
  }
}

}  // namespace zklock::chaos
