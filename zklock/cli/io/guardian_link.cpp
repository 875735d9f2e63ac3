// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/guardian_link.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {

namespace {

static_assert(std::is_trivially_copyable_v<Order> && std::is_trivially_copyable_v<Notice>);

int send_parts(int fd, const void* head, std::size_t size, std::string_view text) noexcept {
  // The kernel does not write to these parts.
  std::array<iovec, 2> parts{iovec{const_cast<void*>(head), size},
                             iovec{const_cast<char*>(text.data()), text.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  while (::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Returns the length of the message; std::nullopt if there is none.
std::optional<std::size_t> receive_into(int fd, void* buffer, std::size_t size, bool& at_end) {
  while (true) {
    const ssize_t length = ::recv(fd, buffer, size, MSG_DONTWAIT);
    if (length > 0) return static_cast<std::size_t>(length);
    // The other process has ended with unread messages. Its own messages follow this error.
    if (length < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    at_end = length == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return std::nullopt;
  }
}

}  // namespace

int send_message(int fd, const Order& order, std::string_view variables) noexcept {
  if (variables.size() > kMostVariables) return E2BIG;
  return send_parts(fd, &order, sizeof order, variables);
}

int send_message(int fd, const Notice& notice) noexcept {
  return send_parts(fd, &notice, sizeof notice, {});
}

std::optional<ReceivedOrder> receive_order(int fd, bool& at_end) {
  std::string buffer(sizeof(Order) + kMostVariables, '\0');
  const auto length = receive_into(fd, buffer.data(), buffer.size(), at_end);
  if (!length || *length < sizeof(Order)) return std::nullopt;
  ReceivedOrder received;
  std::memcpy(&received.order, buffer.data(), sizeof(Order));
  received.variables = buffer.substr(sizeof(Order), *length - sizeof(Order));
  return received;
}

std::optional<Notice> receive_notice(int fd, bool& at_end) {
  Notice notice;
  const auto length = receive_into(fd, &notice, sizeof notice, at_end);
  if (!length || *length != sizeof notice) return std::nullopt;
  return notice;
}

SharedTime::SharedTime() {
  void* const memory =
      ::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw system_failure("mmap");
  count_ = ::new (memory) Count(0);
}

SharedTime::~SharedTime() {
  ::munmap(count_, sizeof(Count));
}

}  // namespace zklock::cli
