// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/http_server.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/io/gzip.h"
#include "zklock/cli/io/http_rules.h"

namespace zklock::cli {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostDropped = 65'536;         ///< bytes that a lingering client may send
constexpr std::size_t kShortestPacked = 1'024;       ///< bytes; a shorter body is not compressed
constexpr milliseconds kPauseAfterAcceptError{100};  ///< no descriptor is free

/// A peer that answers no packet must not occupy a stream for the 15 minutes of the kernel.
void set_socket_options(tcp::socket& socket, milliseconds longest_silence) {
  const int fd = socket.native_handle();
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const auto silence = static_cast<unsigned>(longest_silence.count());
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence);
}

std::string head_of(const HttpAnswer& answer, bool is_gzip) {
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " " +
                     std::string(http::obsolete_reason(http::int_to_status(answer.status))) +
                     "\r\nConnection: close\r\nContent-Type: " + answer.content_type + "\r\n";
  head += "Vary: Accept-Encoding\r\n";
  if (is_gzip) head += "Content-Encoding: gzip\r\n";
  if (answer.events) {
    head += "X-Accel-Buffering: no\r\n";  // proxies must send each event at once
  } else {
    const std::size_t length = answer.body ? answer.body->size() : 0;
    head += "Content-Length: " + std::to_string(length) + "\r\n";
  }
  if (answer.status == 405) head += "Allow: GET, HEAD\r\n";
  return head +
         "Cache-Control: no-store\r\n"
         "X-Content-Type-Options: nosniff\r\n"
         "Referrer-Policy: no-referrer\r\n"
         "Cross-Origin-Resource-Policy: same-origin\r\n"
         "Content-Security-Policy: " +
         answer.content_security_policy + "\r\n\r\n";
}

}  // namespace

class HttpServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer& server, tcp::socket socket)
      : server_(server), stream_(std::move(socket)), buffer_(kMostHeadBytes) {
    parser_.header_limit(static_cast<std::uint32_t>(kMostHeadBytes));
    // The body is never read; refusal_of() decides.
    parser_.body_limit(std::numeric_limits<std::uint64_t>::max());
  }

  void start() {
    // Not extended by a read, so it limits the whole head.
    stream_.expires_after(server_.limits_.head_time);
    http::async_read_header(stream_, buffer_, parser_,
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              self->on_head(error);
                            });
  }
  bool is_streaming() const noexcept { return static_cast<bool>(events_); }
  /// Returns whether it reads its head, or lingers.
  bool is_idle() const noexcept { return !is_answering_; }
  /// Sends new events, unless earlier ones are being sent: on_sent() continues with the new ones.
  void wake() {
    if (!is_streaming() || is_sending_) return;
    take_next();
    if (out_) send();
  }
  void close() {
    if (std::exchange(is_closed_, true)) return;
    events_ = {};
    stream_.close();
    std::erase(server_.connections_, shared_from_this());
  }

 private:
  void on_head(const error_code& error) {
    if (is_closed_) return;
    const auto refusal =
        error ? refusal_of(error) : refusal_of(parser_.get().base(), server_.allowed_hosts_);
    if (refusal) {
      return answer(text_answer(refusal->status, std::string(refusal->text)), false, false);
    }
    if (error) return close();
    const HttpHead& head = parser_.get().base();
    answer(server_.handler_(path_of(head), query_of(head)), head.method() == http::verb::head,
           accepts_gzip(head));
  }

  void answer(HttpAnswer answer, bool is_head, bool may_pack) {
    if (answer.events && !is_head && server_.streams() >= server_.limits_.streams) {
      answer = text_answer(503, "too many streams");
    }
    const bool is_long = answer.body && answer.body->size() >= kShortestPacked;
    is_gzip_ = may_pack && (answer.events || is_long);
    if (is_gzip_ && answer.body) answer.body = shared(gzip(*answer.body));
    std::string head = head_of(answer, is_gzip_);
    if (answer.events && !is_head && is_gzip_) head += gzip_header();
    out_ = shared(std::move(head));
    if (!is_head) {
      body_ = std::move(answer.body);
      events_ = std::move(answer.events);
    }
    is_answering_ = true;
    end_of_answer_ = Clock::now() + server_.limits_.answer_time;
    send();
  }

  void send() {
    is_sending_ = true;
    const auto end = Clock::now() + server_.limits_.progress_time;
    stream_.expires_at(is_streaming() ? end : std::min(end, end_of_answer_));
    stream_.async_write_some(
        asio::buffer(out_->data() + sent_, out_->size() - sent_),
        [self = shared_from_this()](const error_code& error, std::size_t count) {
          self->on_sent(error, count);
        });
  }

  void on_sent(const error_code& error, std::size_t count) {
    is_sending_ = false;
    if (is_closed_) return;
    if (error) return close();
    sent_ += count;
    if (sent_ == out_->size()) {
      take_next();
      if (!out_ && !is_streaming()) return linger();
      if (!out_) return;
    }
    send();
  }

  /// Takes what follows out_: the body, or an event. An empty text is none.
  void take_next() {
    sent_ = 0;
    out_ = std::exchange(body_, {});
    const bool is_event = !out_ && is_streaming();
    if (is_event) out_ = events_();
    if (out_ && out_->empty()) out_.reset();
    if (out_ && is_event && is_gzip_) out_ = shared(gzip_blocks(*out_));
  }

  void linger() {
    is_answering_ = false;
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(server_.limits_.linger_time);
    drop_input();
  }

  void drop_input() {
    stream_.async_read_some(asio::buffer(scrap_), [self = shared_from_this()](
                                                      const error_code& error, std::size_t count) {
      self->dropped_ += count;
      if (error || self->dropped_ > kMostDropped) return self->close();
      if (!self->is_closed_) self->drop_input();
    });
  }

  HttpServer& server_;  ///< not used after close(), which its destructor calls
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  EventSource events_;
  SharedText out_;        ///< being sent
  SharedText body_;       ///< follows the head
  std::size_t sent_ = 0;  ///< bytes of out_
  bool is_sending_ = false;
  bool is_gzip_ = false;       ///< the answer is compressed
  bool is_answering_ = false;  ///< even while it is streaming
  bool is_closed_ = false;
  Clock::time_point end_of_answer_;
  std::array<char, 1024> scrap_{};
  std::size_t dropped_ = 0;
};

HttpServer::HttpServer(asio::io_context& io, const Endpoint& endpoint, Handler handler,
                       std::vector<std::string> allowed_hosts, const HttpLimits& limits)
    : acceptor_(io),
      pause_(io),
      handler_(std::move(handler)),
      allowed_hosts_(std::move(allowed_hosts)),
      limits_(limits) {
  acceptor_.open(endpoint.protocol());
  ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
  acceptor_.set_option(tcp::acceptor::reuse_address(true));
  acceptor_.bind(endpoint);
  acceptor_.listen();
  accept();
}

HttpServer::~HttpServer() {
  while (!connections_.empty()) {
    const auto connection = connections_.back();
    connection->close();
  }
}

void HttpServer::accept() {
  const std::weak_ptr alive = alive_;
  acceptor_.async_accept([this, alive](const error_code& error, tcp::socket socket) {
    if (alive.expired()) return;
    if (!error) {
      add(std::move(socket));
      return accept();
    }
    pause_.expires_after(kPauseAfterAcceptError);
    pause_.async_wait([this, alive](const error_code&) {
      if (!alive.expired()) accept();
    });
  });
}

void HttpServer::add(tcp::socket socket) {
  set_socket_options(socket, 2 * limits_.progress_time);
  if (connections_.size() >= limits_.connections) {
    auto oldest = std::ranges::find_if(connections_, &Connection::is_idle);
    if (oldest == connections_.end()) {
      oldest = std::ranges::find_if_not(connections_, &Connection::is_streaming);
    }
    if (oldest == connections_.end()) return;
    const auto closed = *oldest;  // close() removes it from the list
    closed->close();
  }
  connections_.push_back(std::make_shared<Connection>(*this, std::move(socket)));
  connections_.back()->start();
}

void HttpServer::wake_streams() {
  for (const auto& each : connections_) each->wake();
}

std::size_t HttpServer::streams() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(connections_, &Connection::is_streaming));
}

HttpServer::Endpoint parse_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto fail = [&text] {
    return Failure(ExitCode::kUsage,
                   "\"" + text + "\" is no address: write 127.0.0.1:9465 or [::1]:9465");
  };
  if (colon == std::string::npos) throw fail();
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error || parsed.ec != std::errc() || parsed.ptr != end) throw fail();
  return {address, port};
}

std::string url_of(const HttpServer::Endpoint& endpoint) {
  std::ostringstream url;
  url << "http://" << endpoint << '/';
  return url.str();
}

}  // namespace zklock::cli
