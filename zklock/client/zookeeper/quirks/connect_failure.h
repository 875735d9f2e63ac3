// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace zklock::client {

// Quirk: only the log lines say why an attempt to connect has failed, and the client takes the
// answer of any server for a handshake. No report is known.
// Needed by: 3.8.0.
// When it is mended: take the cause from an event, and delete this and on_foreign_server().

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
/// | any           | error of a TLS handshake                               | tls           |
/// | any           | the system provides no socket                          | no_socket     |
/// | any           | any other socket error                                 | by its errno  |
/// | any           | any other line with the level ERROR                    | other         |
///
/// After an impossible timeout, the coordinator opens another handle. So a server of ZooKeeper that
/// replaces the other one gets a cause of its own, even if it only closes the connection.
///
/// Thread-safety: none.
class ConnectFailure {
 public:
  /// Takes a line of the C client, without its time and level. `is_error`: its level is ERROR.
  /// Returns whether an attempt to connect has failed, or a connection was lost, or the C client
  /// pauses after it has tried all servers. The I/O thread logs the first two before it closes the
  /// socket, and the third when there is none.
  bool on_line(std::string_view line, bool is_error = false);
  /// Returns the server, the cause, and what to do; empty without a cause. `servers`: the servers
  /// of the connection string, by ConnectionString::servers_text().
  std::string text(std::string_view servers) const;

 private:
  enum class Cause {
    none,
    refused,
    silent,
    closed,
    not_zookeeper,
    tls,
    no_socket,
    unreachable,
    other
  };

  bool on_socket_error(std::string_view server, std::string_view line);
  void on_established(std::string_view server, int timeout_ms);

  Cause cause_ = Cause::none;
  bool met_foreign_server_ = false;  ///< by the present handle
  std::string server_;               ///< address and port
  std::string error_;                ///< text of the errno, or the line
};

}  // namespace zklock::client
