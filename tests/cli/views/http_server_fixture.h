// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "zklock/cli/io/http_server.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::cli::testing {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Few connections, and no limit of time that a busy machine exceeds.
inline HttpLimits few_connections() {
  HttpLimits limits;
  limits.connections = 8;
  limits.streams = 2;
  limits.head_time = 1h;
  limits.progress_time = 1h;
  limits.linger_time = 200ms;
  return limits;
}

inline HttpLimits short_times() {
  HttpLimits limits = few_connections();
  limits.head_time = 300ms;
  limits.progress_time = 500ms;
  return limits;
}

/// A server on a free port, with its thread. The path /big has a body of 8 MiB, and /events streams
/// what push() receives.
class HttpServerTest : public ::testing::Test {
 protected:
  /// Runs a function on the server's thread.
  template <class F>
  auto run(F function) {
    std::packaged_task<decltype(function())()> task(std::move(function));
    auto done = task.get_future();
    asio::post(io_, [&task] { task(); });
    return done.get();
  }

  explicit HttpServerTest(const HttpLimits& limits = few_connections()) {
    server_.emplace(
        io_, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0),
        [this](std::string_view path, std::string_view query) { return answer(path, query); },
        std::vector<std::string>{"locks.example.org"}, limits);
    port_ = server_->endpoint().port();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~HttpServerTest() override {
    run([this] { server_.reset(); });
    work_.reset();
    thread_.join();
  }

  void push(const std::string& event) {
    run([&] {
      events_.push_back(event);
      server_->wake_streams();
    });
  }
  std::size_t connections() {
    return run([this] { return server_->connections(); });
  }

  /// Waits until the server has that many connections.
  bool has_connections(std::size_t count) {
    return zklock::testing::eventually([&] { return connections() == count; });
  }
  /// Waits until the server has waited for bytes anew, with all that were sent before.
  void await_turns() {
    for (int i = 0; i < 3; ++i) run([] {});
  }

  tcp::socket connect() {
    tcp::socket socket(client_io_);
    socket.connect({asio::ip::make_address("127.0.0.1"), port_});
    return socket;
  }
  static void send(tcp::socket& socket, const std::string& text) {
    error_code ignored;
    asio::write(socket, asio::buffer(text), ignored);
  }
  /// Reads until the server closes.
  static std::string read_all(tcp::socket& socket) {
    std::string text;
    std::string part(std::size_t{64} * 1024, '\0');
    error_code error;
    while (!error) text.append(part, 0, socket.read_some(asio::buffer(part), error));
    return text;
  }
  static std::string read_some(tcp::socket& socket) {
    std::string part(std::size_t{64} * 1024, '\0');
    part.resize(socket.read_some(asio::buffer(part)));
    return part;
  }
  std::string request(const std::string& text) {
    auto socket = connect();
    send(socket, text);
    return read_all(socket);
  }
  std::string get(const std::string& target, const std::string& fields = {}) {
    return request("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
  }
  /// Reads until the server closes. Returns false if it sends nothing for a minute.
  static bool closes(tcp::socket& socket) {
    pollfd polled{socket.native_handle(), POLLIN, 0};
    std::array<char, 4096> part{};
    while (::poll(&polled, 1, 60'000) == 1) {
      if (::recv(polled.fd, part.data(), part.size(), 0) <= 0) return true;
    }
    return false;
  }

  /// Returns how many connections and events refer to the body of /big.
  long users_of_big() {
    return run([this] { return big_.use_count() - 1; });
  }

 private:
  HttpAnswer answer(std::string_view path, std::string_view query) {
    if (path == "/") return {.body = shared("page\n")};
    if (path == "/query") return {.body = shared(std::string(query) + "\n")};
    if (path == "/big") return {.body = big_};
    if (path == "/kilobyte") return {.body = shared(std::string(1'024, 'x'))};
    if (path == "/empty") return {.body = shared("")};
    if (path == "/events") {
      const auto next = std::make_shared<std::size_t>(0);
      return {.events = [this, next] {
        return *next < events_.size() ? shared(events_[(*next)++]) : SharedText();
      }};
    }
    return {.status = 404, .body = shared("no such page\n")};
  }

  const SharedText big_ = shared(std::string(std::size_t{8} * 1024 * 1024, 'x'));
  asio::io_context io_;
  asio::io_context client_io_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{
      asio::make_work_guard(io_)};
  std::optional<HttpServer> server_;
  std::deque<std::string> events_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace zklock::cli::testing
