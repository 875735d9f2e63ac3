// SPDX-License-Identifier: Apache-2.0
#include "support/host_list.h"

#include <algorithm>
#include <cstddef>

#include <netdb.h>
#include <sys/socket.h>

namespace zklock::testing {
namespace {

// Resolves the name as the C client does. Returns 0 for an unknown name, which the client reports.
std::size_t address_count(const std::string& entry) {
  const auto colon = entry.rfind(':');
  addrinfo hints{};
  hints.ai_flags = AI_ADDRCONFIG;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::size_t count = 0;
  if (::getaddrinfo(entry.substr(0, colon).c_str(), nullptr, &hints, &found) != 0) return 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) ++count;
  ::freeaddrinfo(found);
  return count;
}

}  // namespace

std::string with_odd_address_count(const std::string& hosts) {
  const auto slash = std::min(hosts.find('/'), hosts.size());
  const std::string servers = hosts.substr(0, slash);
  std::size_t total = 0;
  std::string repeatable;  // an entry with an odd number of addresses
  for (std::size_t start = 0; start <= servers.size();) {
    const auto end = std::min(servers.find(',', start), servers.size());
    const std::string entry = servers.substr(start, end - start);
    const std::size_t count = address_count(entry);
    total += count;
    if (count % 2 == 1) repeatable = entry;
    start = end + 1;
  }
  if (total % 2 == 1 || repeatable.empty()) return hosts;
  return servers + "," + repeatable + hosts.substr(slash);
}

}  // namespace zklock::testing
