// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace zklock::client {

/// The longest session timeout of a ZooKeeper server. The C client takes the first 41 bytes of any
/// answer for the handshake. In the text of another protocol, the bytes of the timeout mean days.
/// In the echo of the request they mean 0.
inline constexpr std::chrono::hours kLongestSessionTimeout{24};

/// Returns whether a server of ZooKeeper can have granted this session timeout.
constexpr bool is_session_timeout(std::chrono::nanoseconds timeout) noexcept {
  return timeout.count() > 0 && timeout <= kLongestSessionTimeout;
}

/// Why the last attempt to connect failed, or why the connection was lost. The C client reports
/// this only by the lines that it logs.
///
/// | cause         | line                                                   | next          |
/// |---------------|--------------------------------------------------------|---------------|
/// | any           | session established, with a possible timeout           | none          |
/// | any           | session established, with an impossible timeout        | not_zookeeper |
/// | not_zookeeper | socket error of the same server on the same handle:    | not_zookeeper |
/// |               | closed, or silent                                      |               |
/// | any           | any other socket error                                 | by its errno  |
///
/// After an impossible timeout, the coordinator opens another handle. So a server of ZooKeeper that
/// replaces the other one gets a cause of its own, even if it only closes the connection.
///
/// Thread-safety: none.
class ConnectFailure {
 public:
  /// Takes a line of the C client, without its time and level.
  void on_line(std::string_view line);
  /// Returns the server, the cause, and what to do; empty without a cause. `servers`: the servers
  /// of the connection string, by ConnectionString::servers_text().
  std::string text(std::string_view servers) const;

 private:
  enum class Cause { none, refused, silent, closed, not_zookeeper, unreachable };

  void on_established(std::string_view server, int timeout_ms);

  Cause cause_ = Cause::none;
  bool met_foreign_server_ = false;  ///< by the present handle
  std::string server_;               ///< address and port
  std::string error_;                ///< the system's text of the errno
};

}  // namespace zklock::client
