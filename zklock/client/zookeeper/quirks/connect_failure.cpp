// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/quirks/connect_failure.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <iterator>

namespace zklock::client {
namespace {

/// Returns the part of `text` between the first `begin` and the next `end`; empty if there is none.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t start = text.find(begin);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + begin.size());
  const std::size_t stop = text.find(end);
  return stop == std::string_view::npos ? std::string_view() : text.substr(0, stop);
}

/// Returns the number behind the first `begin` in `text`; 0 if there is none.
int number_behind(std::string_view begin, std::string_view text) noexcept {
  const std::size_t start = text.find(begin);
  if (start == std::string_view::npos) return 0;
  text.remove_prefix(start + begin.size());
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

// The line of a failure has "Socket 10.0.0.1:2181 zk retcode=-4, errno=111(Connection refused): ".
// The line of a session has "session establishment complete on server 10.0.0.1:2181, ", and later
// "negotiated timeout=6000". A new handle begins with "Initiating client connection". The pause
// after all servers begins with "Delaying connection after".
bool ConnectFailure::on_line(std::string_view line, bool is_error) {
  if (line.find("Delaying connection after") != std::string_view::npos) return true;
  if (line.find("Initiating client connection") != std::string_view::npos) {
    met_foreign_server_ = false;
    return false;
  }
  const auto established = between(line, "session establishment complete on server ", ",");
  if (!established.empty()) {
    on_established(established, number_behind("negotiated timeout=", line));
    return false;
  }
  const auto server = between(line, "Socket ", " zk retcode=");
  if (!server.empty()) return on_socket_error(server, line);
  // The line about a failed ping follows a socket error.
  if (!is_error || line.find("failed to send PING") != std::string_view::npos) return false;
  cause_ = Cause::other;
  server_.clear();
  const std::size_t text = line.find(": ");  // after "function@line"
  error_ = text == std::string_view::npos ? line : line.substr(text + 2);
  return false;
}

bool ConnectFailure::on_socket_error(std::string_view server, std::string_view line) {
  const int code = number_behind(" zk retcode=", line);
  const int error = number_behind(", errno=", line);
  constexpr int kSystemError = -1;
  constexpr int kConnectionLoss = -4;
  constexpr int kOperationTimeout = -7;
  constexpr int kTlsError = -15;  // ZSSLCONNECTIONERROR
  constexpr int kCodes[] = {kSystemError, kConnectionLoss, kOperationTimeout, kTlsError};
  if (std::ranges::find(kCodes, code) == std::end(kCodes)) return false;
  Cause cause = Cause::unreachable;
  if (error == ECONNREFUSED) cause = Cause::refused;
  if (error == ETIMEDOUT) cause = Cause::silent;
  // The C client sets EHOSTDOWN if it reads the end of the stream.
  if (error == EHOSTDOWN || error == ECONNRESET || error == EPIPE) cause = Cause::closed;
  if (code == kTlsError) cause = Cause::tls;
  if (code == kSystemError) cause = Cause::no_socket;
  // With such a timeout, the C client can be the one that ends the connection at once.
  const bool is_known = met_foreign_server_ && server_ == server;
  if (is_known && (cause == Cause::closed || cause == Cause::silent)) return true;
  cause_ = cause;
  server_ = server;
  error_ = between(line, "(", "): ");
  return true;
}

void ConnectFailure::on_established(std::string_view server, int timeout_ms) {
  const bool is_zookeeper = is_session_timeout(std::chrono::milliseconds(timeout_ms));
  met_foreign_server_ = !is_zookeeper;
  cause_ = is_zookeeper ? Cause::none : Cause::not_zookeeper;
  server_ = server;
}

std::string ConnectFailure::text(std::string_view servers) const {
  std::string text = server_;
  if (servers != server_) text.append(" (of ").append(servers).append(")");
  switch (cause_) {
    case Cause::none: return {};
    case Cause::refused:
      return text + " refused the connection; check ClientOptions::hosts and the servers";
    case Cause::silent:
      return text + " did not answer; check ClientOptions::hosts, the network and the servers";
    case Cause::closed:
      return text +
             " closed the connection; check its quorum, its limit of connections (maxClientCnxns), "
             "and whether it lags or was restored";
    case Cause::not_zookeeper: return text + " is no ZooKeeper server; check ClientOptions::hosts";
    case Cause::tls:
      return text +
             " and this client could not agree on TLS; check the certificates on both sides with "
             "openssl s_client, and the port";
    case Cause::no_socket:
      return "the system provides no socket for the connection to " + text + " (" + error_ +
             "); raise the limit of open files, or close some";
    case Cause::unreachable:
      return text + " cannot be reached (" + error_ +
             "); check ClientOptions::hosts and the network";
    case Cause::other: return "no connection to " + std::string(servers) + ": " + error_;
  }
  return {};
}

}  // namespace zklock::client
