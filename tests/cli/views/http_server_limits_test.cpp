// SPDX-License-Identifier: Apache-2.0
// Slow clients, many clients and event streams.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http_server_fixture.h"

namespace zklock::cli::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpServerLimits : public HttpServerTest {
 protected:
  HttpServerLimits() : HttpServerTest(short_times()) {}
};

TEST_F(HttpServerLimits, SlowHead_IsClosedInTime) {
  auto silent = connect();
  EXPECT_TRUE(closes(silent));
  auto slow = connect();
  send(slow, "GET / HT");
  std::atomic<bool> stops = false;
  std::thread writer([&] {
    while (!stops) {
      send(slow, "x");
      std::this_thread::sleep_for(50ms);  // slow enough for the limit of a head's size
    }
  });
  EXPECT_TRUE(closes(slow));
  stops = true;
  writer.join();
}

TEST_F(HttpServerLimits, SlowReaders_ShareOneBody) {
  std::vector<tcp::socket> slow;
  for (int i = 0; i < 3; ++i) {
    slow.push_back(connect());
    slow.back().set_option(asio::socket_base::receive_buffer_size(4096));
    send(slow.back(), "GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(read_some(slow.back()), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  EXPECT_EQ(users_of_big(), 3);
  EXPECT_TRUE(has_connections(0));
  EXPECT_EQ(users_of_big(), 0);
}

TEST_F(HttpServerTest, ManySlowClients_DoNotEndAnAnswer) {
  auto reader = connect();
  send(reader, "GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string answer = read_some(reader);
  std::vector<tcp::socket> slow;
  for (int i = 0; i < 50; ++i) slow.push_back(connect());
  answer += read_all(reader);
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, 8U * 1024 * 1024);
}

TEST_F(HttpServerTest, EventsDuringALongOne_FollowIt) {
  auto socket = connect();
  send(socket, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(read_some(socket), StartsWith("HTTP/1.1 200 OK\r\n"));
  const std::string big(std::size_t{8} * 1024 * 1024, 'x');
  push(big);
  push("b");
  push("c");
  std::string events;
  while (events.size() < big.size() + 2) events += read_some(socket);
  EXPECT_TRUE(events == big + "bc");
}

TEST_F(HttpServerTest, Events_ReachEachStream) {
  auto first = connect();
  auto second = connect();
  for (auto* socket : {&first, &second}) {
    send(*socket, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(read_some(*socket), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                                          HasSubstr("\r\nX-Accel-Buffering: no\r\n")));
  }
  push("event: a\n\n");
  EXPECT_EQ(read_some(first), "event: a\n\n");
  EXPECT_EQ(read_some(second), "event: a\n\n");
  EXPECT_THAT(get("/events"), StartsWith("HTTP/1.1 503 "));
  first.close();
  push("event: b\n\n");
  push("event: c\n\n");
  EXPECT_THAT(read_some(second), StartsWith("event: b\n\n"));
  push("event: d\n\n");
  EXPECT_TRUE(has_connections(1)) << "the closed stream is dropped";
}

TEST_F(HttpServerLimits, StreamThatReadsNothing_IsClosed) {
  auto socket = connect();
  socket.set_option(asio::socket_base::receive_buffer_size(4096));
  send(socket, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(read_some(socket), StartsWith("HTTP/1.1 200 OK\r\n"));
  push(std::string(std::size_t{8} * 1024 * 1024, 'x'));
  EXPECT_TRUE(has_connections(0));
}

TEST_F(HttpServerTest, StartedPrograms_InheritNothing) {
  auto socket = connect();
  EXPECT_TRUE(has_connections(1));
  // Each socket of this process but those of the test itself is close-on-exec.
  std::size_t inherited = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const auto target = std::filesystem::read_symlink(entry.path()).string();
    const int fd = std::stoi(entry.path().filename());
    if (!target.starts_with("socket:") || fd == socket.native_handle()) continue;
    inherited += (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0 ? 1 : 0;
  }
  EXPECT_EQ(inherited, 0U);
}

}  // namespace
}  // namespace zklock::cli::testing
