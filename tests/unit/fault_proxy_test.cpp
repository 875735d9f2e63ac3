// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/fault_proxy.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/descriptor_limit.h"
#include "thread_facts.h"
#include "zklock/core/sanitizers.h"
#include "zklock/testing/servers/loopback.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kPollMs = 20;

// A TCP connection, with short texts instead of a protocol.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  ~Line() { hang_up(); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void hang_up() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void say(const std::string& text) const {
    static_cast<void>(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL));
  }
  // Returns what arrives within `timeout`; "" if nothing does, "end" if the connection has ended.
  std::string hear(std::chrono::milliseconds timeout = 30s) const {
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(timeout.count())) <= 0) return "";
    std::array<char, 256> buffer{};
    const auto size = ::recv(fd_, buffer.data(), buffer.size(), 0);
    return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : "end";
  }

 private:
  int fd_;
};

int connected_to_port(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

/// Returns a socket with a port of its own. It does not listen yet.
int bound_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(0);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

// Sends everything back that it receives, for one connection at a time.
class EchoServer {
 public:
  EchoServer() {
    EXPECT_EQ(::listen(listener_, 8), 0);
    thread_ = std::jthread([this](const std::stop_token& end) { run(end); });
  }
  ~EchoServer() {
    thread_.request_stop();
    thread_.join();
    ::close(listener_);
  }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  std::uint16_t port() const { return port_of(listener_); }

 private:
  void run(const std::stop_token& end) const {
    while (!end.stop_requested()) {
      pollfd waiting{listener_, POLLIN, 0};
      if (::poll(&waiting, 1, kPollMs) <= 0) continue;
      const Line line(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
      for (std::string text; text != "end" && !end.stop_requested();) {
        text = line.hear(std::chrono::milliseconds(kPollMs));
        if (text != "end") line.say(text);
      }
    }
  }

  const int listener_ = bound_socket();
  std::jthread thread_;
};

class FaultProxyTest : public ::testing::Test {
 protected:
  EchoServer server_;
  FaultProxy proxy_{{server_.port()}, FaultProxy::Protocol::bytes};
};

TEST_F(FaultProxyTest, Cut_BytesArriveAfterMend) {
  EXPECT_EQ(proxy_.hosts(), "127.0.0.1:" + std::to_string(proxy_.port()));
  const Line line(connected_to_port(proxy_.port()));
  line.say("one");
  EXPECT_EQ(line.hear(), "one");
  EXPECT_EQ(proxy_.connected_to(), 0U);
  proxy_.cut();
  line.say("two");
  EXPECT_EQ(line.hear(100ms), "");
  proxy_.mend();
  EXPECT_EQ(line.hear(), "two");
}

TEST_F(FaultProxyTest, Refused_ConnectsAgainAfterAccept) {
  const Line first(connected_to_port(proxy_.port()));
  first.say("one");
  EXPECT_EQ(first.hear(), "one");
  proxy_.refuse();
  EXPECT_EQ(first.hear(), "end");
  EXPECT_TRUE(eventually([&] { return connected_to_port(proxy_.port()) < 0; }));
  EXPECT_EQ(proxy_.connected_to(), std::nullopt);
  proxy_.accept();
  int fd = -1;
  EXPECT_TRUE(eventually([&] { return (fd = connected_to_port(proxy_.port())) >= 0; }));
  const Line second(fd);
  second.say("two");
  EXPECT_EQ(second.hear(), "two");
}

TEST_F(FaultProxyTest, Delay_ActsInEachDirection) {
  proxy_.delay(50ms);
  const Line line(connected_to_port(proxy_.port()));
  const auto begin = std::chrono::steady_clock::now();
  line.say("one");
  EXPECT_EQ(line.hear(), "one");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms);
}

// So members of an ensemble find a leader that was elected before it listens.
TEST(FaultProxy, ServerListensLater_ConnectionWaits) {
  const int listener = bound_socket();
  const FaultProxy proxy({port_of(listener)}, FaultProxy::Protocol::bytes);
  const Line client(connected_to_port(proxy.port()));
  client.say("one");
  EXPECT_EQ(client.hear(100ms), "");
  ASSERT_EQ(::listen(listener, 8), 0);
  const Line server(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_EQ(server.hear(), "one");
  ::close(listener);
}

// Two descriptors are free: for the claim of the port, and for the eventfd.
TEST(FaultProxy, NoDescriptorToListen_ThrowsAndClosesItsFiles) {
#if ZKLOCK_ADDRESS_SANITIZER
  GTEST_SKIP() << "to check the type of an object, the sanitizer opens a pipe";
#endif
  const int first = ::eventfd(0, EFD_CLOEXEC);
  const int second = ::eventfd(0, EFD_CLOEXEC);
  ::close(first);
  ::close(second);
  const auto before = open_file_descriptors();
  {
    const DescriptorLimit two(static_cast<rlim_t>(second) + 1);
    EXPECT_THROW(FaultProxy({1}), std::system_error);
  }
  EXPECT_EQ(open_file_descriptors(), before);
}

}  // namespace
}  // namespace zklock::testing
