// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zklock/testing/request_kind.h"

namespace zklock::testing {

/// Carries TCP connections to servers of this machine, and injects faults. It listens on a loopback
/// port for each server. Faults apply to all connections, including later ones, until they are
/// ended.
/// @code
///   FaultProxy proxy({server.port()});
///   Client client(proxy.hosts());
///   proxy.lose_reply(RequestKind::create);   // the server executes it, the client does not know
/// @endcode
///
/// Thread-safety: all members, from any thread. They take effect within milliseconds.
class FaultProxy {
 public:
  /// The protocol of the connections.
  ///
  /// | protocol  | effect                                                                     |
  /// |-----------|----------------------------------------------------------------------------|
  /// | zookeeper | clients of ZooKeeper, without TLS                                          |
  /// | bytes     | any other. Members for watch events and single requests have no effect.    |
  /// |           | A connection waits for up to 5 s for a server that does not listen yet     |
  enum class Protocol { zookeeper, bytes };

  /// Throws std::runtime_error or std::system_error if a port or a thread is not available.
  explicit FaultProxy(std::vector<std::uint16_t> server_ports,
                      Protocol protocol = Protocol::zookeeper);
  /// Closes all connections.
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  /// Returns the value for ClientOptions::hosts, without a chroot.
  [[nodiscard]] std::string hosts() const;
  /// Returns the port that leads to the server with this index.
  [[nodiscard]] std::uint16_t port(std::size_t server = 0) const;

  /// Stops all bytes until mend(), without notifying either end. Then the bytes arrive that were
  /// sent meanwhile.
  void cut();
  void mend();
  /// Breaks all connections by a TCP reset. The client can connect again at once.
  void break_connections();
  /// Breaks the connections to one server, or to all, and refuses new ones until accept().
  void refuse(std::size_t server);
  void refuse();
  void accept();

  /// Delays all bytes, in each direction. 0 ends the delay.
  void delay(std::chrono::milliseconds each_way);
  /// Delays watch events, and what the server sends after them. 0 ends the delay.
  void delay_events(std::chrono::milliseconds by);
  /// Watch events do not reach the client.
  void drop_events(bool on = true);
  /// Bytes arrive in small pieces.
  void stutter(bool on = true);
  /// Nothing reaches the client. Requests still reach the server.
  void hold_replies(bool on = true);

  /// The next request of this kind is executed, but its reply is lost, and the connection with it.
  void lose_reply(RequestKind kind = RequestKind::any);
  /// The next request of this kind is lost, and the connection with it.
  void lose_request(RequestKind kind = RequestKind::any);
  /// Returns whether the last lose_reply() or lose_request() has taken effect.
  [[nodiscard]] bool loss_happened() const;
  /// Cancels the last lose_reply() or lose_request(). Returns false if it has taken effect before.
  bool cancel_loss();

  /// Returns the server of the newest connection; nullopt if there is none.
  [[nodiscard]] std::optional<std::size_t> connected_to() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace zklock::testing
