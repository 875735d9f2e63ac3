// SPDX-License-Identifier: Apache-2.0
#include "chaos/carried.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chaos/fault.h"
#include "chaos/frame.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::chaos {
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

TEST(Frame, AllBytesReceived_FrameIsComplete) {
  const std::string frame = request(7, kCreate2);
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_EQ(frame_size(frame.substr(0, size)), std::nullopt);
  }
  EXPECT_EQ(frame_size(frame + "more"), frame.size());
  EXPECT_EQ(xid_of(frame), 7);
  EXPECT_EQ(request_of(frame), Request::create);
  EXPECT_EQ(request_of(request(1, kMulti)), Request::multi);
  EXPECT_EQ(request_of(request(1, 2)), Request::remove);
  EXPECT_EQ(request_of(request(1, 77)), Request::other);
  EXPECT_EQ(xid_of(reply(kEventXid)), kEventXid);
}

// A client and a server, with the carried connection between them.
class CarriedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    ASSERT_EQ(::socketpair(AF_UNIX, type, 0, client_.data()), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, type, 0, server_.data()), 0);
    carried_.emplace(client_[1], server_[1], 0);
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
  bool carry() { return carried_->turn(weather_, trap_); }
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
  std::optional<Carried> carried_;
  Weather weather_;
  std::optional<Trap> trap_;
};

TEST_F(CarriedTest, NoFault_ForwardsBytesUnchanged) {
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

TEST_F(CarriedTest, Silence_HoldsBytesUntilItEnds) {
  weather_.silent = true;
  say(client_[0], request(1, kCreate2));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(server_[0]), "");
  weather_.silent = false;
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(server_[0]), request(1, kCreate2));
}

TEST_F(CarriedTest, RepliesHeld_AreForwardedAfterwards) {
  weather_.replies_held = true;
  say(client_[0], request(1, kCreate2));
  say(server_[0], reply(1));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(server_[0]), request(1, kCreate2));
  EXPECT_EQ(received(client_[0]), "");
  weather_.replies_held = false;
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(client_[0]), reply(1));
}

TEST_F(CarriedTest, TrapBeforeRequest_ServerReceivesNone) {
  trap_ = Trap{Request::create, Trap::When::before};
  say(client_[0], request(1, kMulti) + request(2, kCreate2) + request(3, kMulti));
  EXPECT_FALSE(carry());
  EXPECT_TRUE(carried_->sprung());
  EXPECT_FALSE(trap_);
  EXPECT_EQ(received(server_[0]), request(1, kMulti));
}

TEST_F(CarriedTest, TrapAfterRequest_ClientReceivesNoReply) {
  trap_ = Trap{Request::create, Trap::When::after};
  say(client_[0], request(1, kMulti) + request(2, kCreate2));
  EXPECT_TRUE(carry());
  EXPECT_FALSE(carried_->sprung());
  EXPECT_EQ(received(server_[0]), request(1, kMulti) + request(2, kCreate2));
  say(server_[0], reply(1));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(client_[0]), reply(1));
  say(server_[0], reply(2) + reply(3));
  EXPECT_FALSE(carry());
  EXPECT_TRUE(carried_->sprung());
  EXPECT_EQ(received(client_[0]), "");
}

TEST_F(CarriedTest, EventDelayed_LaterRepliesWait) {
  weather_.events_delay = 30ms;
  say(server_[0], reply(1) + reply(kEventXid) + reply(2));
  EXPECT_TRUE(carry());
  EXPECT_EQ(received(client_[0]), reply(1));
  EXPECT_EQ(received(client_[0], reply(kEventXid).size() + reply(2).size()),
            reply(kEventXid) + reply(2));
}

TEST_F(CarriedTest, Stuttering_ChangesNoByte) {
  weather_.stutter = true;
  const std::string all = request(1, kCreate2) + request(2, kMulti);
  say(client_[0], all);
  carry();
  const std::string first = received(server_[0]);
  EXPECT_LT(first.size(), all.size());
  EXPECT_EQ(first + received(server_[0], all.size() - first.size()), all);
}

TEST_F(CarriedTest, BytesSentBeforeShutdown_Arrive) {
  weather_.delay = 10s;
  say(client_[0], request(1, kCreate2));
  ::shutdown(client_[0], SHUT_WR);
  while (carry()) {
  }
  EXPECT_EQ(received(server_[0]), request(1, kCreate2));
}

TEST(FaultPlan, SameSeed_GivesSamePlan) {
  FaultPlan one(FaultPlan::of_clients(), 1s, 7);
  FaultPlan same(FaultPlan::of_clients(), 1s, 7);
  FaultPlan other(FaultPlan::of_clients(), 1s, 8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const PlannedFault planned = one.next();
    const PlannedFault again = same.next();
    EXPECT_EQ(planned.fault, again.fault);
    EXPECT_EQ(planned.choice, again.choice);
    EXPECT_EQ(planned.length, again.length);
    EXPECT_EQ(planned.pause, again.pause);
    differs = other.next().fault != planned.fault || differs;
  }
  EXPECT_TRUE(differs);
}

TEST(FaultPlan, EachRound_HasEveryFaultOnce) {
  const auto classes = FaultPlan::of_clients();
  FaultPlan plan(classes, 1s, 7);
  for (int round = 0; round < 3; ++round) {
    std::vector<Fault> seen;
    for (std::size_t i = 0; i < classes.size(); ++i) seen.push_back(plan.next().fault);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, classes);
  }
}

TEST(FaultPlan, EveryFault_IsPlannedAndNamed) {
  std::size_t planned = 0;
  for (const auto& classes :
       {FaultPlan::of_clients(), FaultPlan::of_servers(), FaultPlan::of_nodes()}) {
    for (const Fault fault : classes) EXPECT_NE(name_of(fault), "?");
    planned += classes.size();
  }
  EXPECT_EQ(planned, kFaults);
}

}  // namespace
}  // namespace zklock::chaos
