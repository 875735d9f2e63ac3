// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::client {

/// Returns the numeric addresses of a host; none if it cannot be resolved.
using Resolver = std::function<std::vector<std::string>(const std::string& host)>;

/// The default Resolver: calls getaddrinfo() like the C client.
std::vector<std::string> resolve_host(const std::string& host);

/// A parsed and checked connection string: "host:port,host:port/chroot". IPv6 addresses are in
/// brackets.
///
/// Thread-safety: a value.
class ConnectionString {
 public:
  struct Server {
    std::string host;  ///< without brackets
    std::uint16_t port = 0;
  };

  /// Throws Error(Errc::invalid_hosts), which names the operation.
  static ConnectionString parse(std::string_view text, const char* operation = "connect");

  const std::vector<Server>& servers() const noexcept { return servers_; }
  /// Returns the chroot, an absolute path. Empty: none.
  const std::string& chroot() const noexcept { return chroot_; }

  /// Returns the addresses of the servers in the form of the C client, without the chroot. Returns
  /// an empty text if no server can be resolved. Does not depend on the order in which the resolver
  /// returns the addresses of a host. May block in the resolver. If the hosts have an even count of
  /// addresses, one address is listed twice. With an even count the C client may never find the
  /// live server again (ZOOKEEPER-2466). It has no host names, because the C client would resolve
  /// all of them before each attempt. If one of them had no address, it would make no attempt.
  std::string for_c_client(const Resolver& resolve = resolve_host) const;

  /// Returns the servers in the form "a:2181, b:2181", for log and error texts.
  std::string servers_text() const;

 private:
  std::vector<Server> servers_;
  std::string chroot_;
};

}  // namespace zklock::client
