// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::client {

/// The numeric addresses of a host; empty when it cannot be resolved.
using Resolver = std::function<std::vector<std::string>(const std::string& host)>;

/// Asks the system as the C client will.
std::vector<std::string> resolve_host(const std::string& host);

/// "host:port,host:port/chroot", taken apart and checked. IPv6 addresses stand in brackets.
///
/// Thread-safety: a value.
class ConnectionString {
 public:
  struct Server {
    std::string host;  ///< without brackets
    std::uint16_t port = 0;
  };

  /// Throws Error(Errc::invalid_hosts).
  static ConnectionString parse(std::string_view text);

  const std::vector<Server>& servers() const noexcept { return servers_; }
  /// Empty, or an absolute path.
  const std::string& chroot() const noexcept { return chroot_; }

  /// The servers in the form of the C client (without the chroot), with an odd number of resolved
  /// addresses: with an even one it may never find the live server again (ZOOKEEPER-2466). Servers
  /// that cannot be resolved are left out, since one of them would keep the C client from opening a
  /// session at all. Empty when none can. May block in the resolver.
  std::string for_c_client(const Resolver& resolve = resolve_host) const;

  /// The servers for people: "a:2181, b:2181".
  std::string servers_text() const;

 private:
  std::vector<Server> servers_;
  std::string chroot_;
};

}  // namespace zklock::client
