// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace zklock::testing {

/// Returns the address of a port of this host, which no other host reaches.
inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

}  // namespace zklock::testing
