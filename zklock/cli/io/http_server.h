// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "zklock/cli/core/text.h"

namespace zklock::cli {

/// Returns the next events of one stream; null if there are none now.
using EventSource = std::function<SharedText()>;

struct HttpAnswer {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  SharedText body = {};  ///< compressed like `events`, unless it is short
  std::string content_security_policy = "default-src 'none'; frame-ancestors 'none'";
  /// If it is set, the answer is a stream of server-sent events, and has no other body. The stream
  /// is compressed if the client accepts gzip.
  EventSource events = {};
};

/// Returns an answer with one line of text.
inline HttpAnswer text_answer(unsigned status, const std::string& line) {
  return {.status = status, .body = shared(line + '\n')};
}

struct HttpLimits {
  std::size_t connections = 128;
  std::size_t streams = 64;
  std::chrono::milliseconds head_time{5'000};       ///< from accept to the head's end
  std::chrono::milliseconds progress_time{10'000};  ///< without progress of an answer
  std::chrono::milliseconds answer_time{60'000};    ///< whole answer, except streams
  std::chrono::milliseconds linger_time{1'000};     ///< until the client closes
};

/// Answers GET and HEAD requests, one for each connection. http_rules.h says which are refused.
///
/// | state of a connection | event                                          | next                   |
/// |-----------------------|------------------------------------------------|------------------------|
/// | reading the head      | the head is complete, or malformed             | answering              |
/// |                       | HttpLimits::head_time, or the client closes    | closed                 |
/// | answering             | all is sent                                    | lingering or streaming |
/// |                       | a limit of time, or an error                   | closed                 |
/// | streaming             | wake_streams(), and the source has events      | streaming: sends them  |
/// |                       | HttpLimits::progress_time, or an error         | closed                 |
/// | lingering             | the client closes, or HttpLimits::linger_time  | closed                 |
///
/// If a client connects beyond HttpLimits::connections, the server closes the oldest connection
/// that is neither answering nor streaming, else the oldest that is answering. So slow clients do
/// not block others. REQUIRES: fewer streams than connections are permitted.
/// Beyond HttpLimits::streams, it answers 503.
///
/// A lingering connection reads and drops what the client still sends. Otherwise the client could
/// lose the answer, as the kernel resets a connection that is closed with unread data.
///
/// Thread-safety: one thread, that of the io_context. REQUIRES: destroyed before the io_context.
class HttpServer {
 public:
  /// Returns the answer to a permitted request for a path. `query`: the text after the question
  /// mark.
  using Handler = std::function<HttpAnswer(std::string_view path, std::string_view query)>;
  using Endpoint = boost::asio::ip::tcp::endpoint;

  /// Listens at once. `allowed_hosts`: names that a Host field may have besides localhost, or
  /// kAnyHost of http_rules.h.
  /// Throws: boost::system::system_error.
  HttpServer(boost::asio::io_context& io, const Endpoint& endpoint, Handler handler,
             std::vector<std::string> allowed_hosts = {}, const HttpLimits& limits = {});
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Closes all connections.
  ~HttpServer();

  /// Returns the address that it listens at, with the actual port.
  Endpoint endpoint() const { return acceptor_.local_endpoint(); }
  /// Sends new events on all streams.
  void wake_streams();
  std::size_t connections() const noexcept { return connections_.size(); }
  std::size_t streams() const noexcept;

 private:
  class Connection;

  void accept();
  void add(boost::asio::ip::tcp::socket socket);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  const Handler handler_;
  const std::vector<std::string> allowed_hosts_;
  const HttpLimits limits_;
  std::vector<std::shared_ptr<Connection>> connections_;  ///< oldest first
  /// The handlers of acceptor_ and pause_ may run after the end of the server, and look at this.
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>();
};

/// Parses "127.0.0.1:9465" or "[::1]:9465".
/// Throws: Failure with ExitCode::kUsage.
HttpServer::Endpoint parse_endpoint(const std::string& text);

/// Returns "http://127.0.0.1:9465/".
std::string url_of(const HttpServer::Endpoint& endpoint);

}  // namespace zklock::cli
