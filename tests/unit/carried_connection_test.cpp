// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/carried_connection.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zklock/testing/servers/frame.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing::detail {
namespace {

using namespace std::chrono_literals;

std::string number(std::int32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}
std::string framed(const std::string& body) {
  return number(static_cast<std::int32_t>(body.size())) + body;
}
std::string request(std::int32_t xid, std::int32_t code) {
  return framed(number(xid) + number(code) + "and what else it has");
}
std::string reply(std::int32_t xid) {
  return framed(number(xid) + "a zxid, an error, an answer");
}

constexpr std::int32_t kCreate2 = 15;
constexpr std::int32_t kMulti = 14;
constexpr std::int32_t kPing = 11;
constexpr std::int32_t kDelete = 2;

// A client and a server, with the carried connection between them.
class CarriedConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    ASSERT_EQ(::socketpair(AF_UNIX, type, 0, client_.data()), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, type, 0, server_.data()), 0);
    carried_.emplace(client_[1], server_[1], 0, FaultProxy::Protocol::zookeeper);
    // The first frame in each direction opens the session and has a format of its own.
    say(client_[0], framed("let me in"));
    say(server_[0], framed("come in"));
    carry();
    EXPECT_EQ(received(server_[0]), framed("let me in"));
    EXPECT_EQ(received(client_[0]), framed("come in"));
  }
  void TearDown() override {
    ::close(client_[0]);
    ::close(server_[0]);
  }

  static void say(int end, const std::string& bytes) {
    ASSERT_EQ(::send(end, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  static std::string received(int end) {
    std::array<char, 4096> buffer{};
    const auto size = ::recv(end, buffer.data(), buffer.size(), 0);
    return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : "";
  }
  bool carry() { return carried_->carry(faults_, loss_); }
  // Carries until `size` bytes have arrived at this end.
  std::string received(int end, std::size_t size) {
    std::string all;
    EXPECT_TRUE(testing::eventually([&] {
      carry();
      all += received(end);
      return all.size() >= size;
    }));
    return all;
  }

  std::array<int, 2> client_{};
  std::array<int, 2> server_{};
  std::optional<CarriedConnection> carried_;
  TrafficFaults faults_;
  std::optional<PlannedLoss> loss_;
};

TEST_F(CarriedConnectionTest, NoFault_ForwardsBytesUnchanged) {
  say(client_[0], request(1, kCreate2) + request(2, kMulti).substr(0, 6));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(server_[0]), request(1, kCreate2));
  say(client_[0], request(2, kMulti).substr(6));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(server_[0]), request(2, kMulti));
  say(server_[0], reply(1) + reply(2));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(client_[0]), reply(1) + reply(2));
}

TEST_F(CarriedConnectionTest, RepliesHeld_AreForwardedAfterwards) {
  faults_.replies_held = true;
  say(client_[0], request(1, kCreate2));
  say(server_[0], reply(1));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(server_[0]), request(1, kCreate2));
  EXPECT_EQ(received(client_[0]), "");
  faults_.replies_held = false;
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(client_[0]), reply(1));
}

TEST_F(CarriedConnectionTest, RequestOfTheKindLost_ServerReceivesNone) {
  loss_ = PlannedLoss{RequestKind::remove, PlannedLoss::Lost::request};
  const std::string others = request(-2, kPing) + request(1, kMulti) + request(2, kCreate2);
  say(client_[0], others + request(3, kDelete) + request(4, kMulti));
  EXPECT_FALSE(carry());
  EXPECT_TRUE(carried_->loss_happened());
  EXPECT_FALSE(loss_);
  EXPECT_EQ(received(server_[0]), others);
}

TEST_F(CarriedConnectionTest, ReplyLost_ClientReceivesNone) {
  loss_ = PlannedLoss{RequestKind::create, PlannedLoss::Lost::reply};
  say(client_[0], request(1, kMulti) + request(2, kCreate2));
  EXPECT_TRUE(carry());
  EXPECT_FALSE(carried_->loss_happened());
  EXPECT_EQ(received(server_[0]), request(1, kMulti) + request(2, kCreate2));
  say(server_[0], reply(1));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(client_[0]), reply(1));
  say(server_[0], reply(2) + reply(3));
  EXPECT_FALSE(carry());
  EXPECT_TRUE(carried_->loss_happened());
  EXPECT_EQ(received(client_[0]), "");
}

TEST_F(CarriedConnectionTest, AnyRequestLost_PingPasses) {
  loss_ = PlannedLoss{RequestKind::any, PlannedLoss::Lost::request};
  say(client_[0], request(-2, kPing));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(server_[0]), request(-2, kPing));
  say(client_[0], request(1, kMulti));
  EXPECT_FALSE(carry());
  EXPECT_EQ(received(server_[0]), "");
}

TEST_F(CarriedConnectionTest, LossCancelled_ReplyArrives) {
  loss_ = PlannedLoss{RequestKind::multi, PlannedLoss::Lost::reply};
  say(client_[0], request(1, kMulti));
  EXPECT_TRUE(carry());
  EXPECT_FALSE(loss_);
  carried_->cancel_loss();
  say(server_[0], reply(1));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(client_[0]), reply(1));
}

TEST_F(CarriedConnectionTest, EventsDropped_RepliesArrive) {
  faults_.events_dropped = true;
  say(server_[0], reply(1) + reply(kEventXid) + reply(2));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(client_[0]), reply(1) + reply(2));
}

TEST_F(CarriedConnectionTest, EventDelayed_LaterRepliesWait) {
  faults_.events_delay = 30ms;
  say(server_[0], reply(1) + reply(kEventXid) + reply(2));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(client_[0]), reply(1));
  EXPECT_EQ(received(client_[0], reply(kEventXid).size() + reply(2).size()),
            reply(kEventXid) + reply(2));
}

TEST_F(CarriedConnectionTest, Stuttering_ChangesNoByte) {
  faults_.stutter = true;
  const std::string all = request(1, kCreate2) + request(2, kMulti);
  say(client_[0], all);
  carry();
  const std::string first = received(server_[0]);
  EXPECT_LT(first.size(), all.size());
  EXPECT_EQ(first + received(server_[0], all.size() - first.size()), all);
}

TEST_F(CarriedConnectionTest, BytesSentBeforeShutdown_Arrive) {
  faults_.delay = 10s;
  say(client_[0], request(1, kCreate2));
  ::shutdown(client_[0], SHUT_WR);
  while (carry()) {
  }
  EXPECT_EQ(received(server_[0]), request(1, kCreate2));
}

}  // namespace
}  // namespace zklock::testing::detail
