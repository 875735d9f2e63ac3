// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/service_notify.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>

#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

bool notify_service(std::string_view state) noexcept {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  const std::string_view name = variable != nullptr ? variable : "";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A path needs its final NUL. An abstract name has none, and '@' stands for its first byte, NUL.
  const bool is_abstract = name.starts_with('@');
  if (name.size() < 2 || (!is_abstract && name.front() != '/')) return false;
  if (name.size() + (is_abstract ? 0 : 1) > sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (is_abstract) address.sun_path[0] = '\0';
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1));
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket.get() >= 0 && ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                                       reinterpret_cast<const sockaddr*>(&address),
                                       length) == static_cast<ssize_t>(state.size());
}

}  // namespace zklock::cli
