// SPDX-License-Identifier: Apache-2.0
// Requests and watches when the session ends, also in a long outage. Session events that the
// completion thread handles long after the C client's state has changed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/log_capture.h"
#include "integration/coordinator_probe.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using testing::eventually;
using Kind = Event::Kind;

// A connection attempt at the moment of the session's end can block for two thirds of this timeout.
constexpr std::chrono::seconds kShort{6};

TEST(ZkCoordinatorFaults, SessionExpired_NewSessionFollows) {
  const auto server = serving();
  Probe probe(with_timeout(*server, kShort));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const std::string node = probe.contend("/p");
  ASSERT_EQ(probe.call(probe.watch(1, node)).status, Status::ok);
  const SessionId old = probe.session();
  testing::expire_session(server->hosts(), old.value);
  ASSERT_TRUE(probe.journal().wait(1, Kind::ended));
  EXPECT_EQ(probe.journal().last(Kind::ended).status, Status::session_ended);
  EXPECT_EQ(probe.journal().last(Kind::ended).session, old);
  ASSERT_TRUE(probe.journal().wait(1, [old](const Event& event) {
    return event.kind == Kind::connected && event.session > old;
  }));
  const Event fresh = probe.journal().last(Kind::connected);
  EXPECT_TRUE(fresh.flag);

  EXPECT_EQ(probe.call(rq::Check{node}, old).status, Status::session_ended);
  const Reply current = probe.call(rq::ListChildren{"/p"}, fresh.session);
  EXPECT_EQ(current.status, Status::ok);
  EXPECT_TRUE(current.children.empty()) << "the node was deleted with its session";
  for (const Event& event : probe.journal().of_kind(Kind::watch)) {
    EXPECT_EQ(event.session, old) << "the servers may report the node's end in time";
  }
  EXPECT_EQ(probe.call(rq::Exists{"/p"}).session, fresh.session);
}

TEST(ZkCoordinatorFaults, SessionEnded_OnlyBoundRequestsFail) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  const SessionId old = probe.session();
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  for (int i = 0; i < 20; i += 2) {
    probe.send(i, rq::CreateContender{"/", "lock-", ""}, old);
    probe.send(i + 1, rq::Exists{"/"});
  }
  // The restarted server does not know the session.
  std::filesystem::remove_all(server->directory() / "data" / "version-2");
  restart(*server);
  ASSERT_TRUE(probe.journal().wait(20, Kind::reply));
  bool ended = false;
  for (const Event& event : probe.journal().events()) {
    ended = ended || event.kind == Kind::ended;
    if (event.kind != Kind::reply) continue;
    EXPECT_TRUE(ended) << event.tag;
    EXPECT_EQ(event.status, event.tag % 2 == 0 ? Status::session_ended : Status::ok) << event.tag;
    EXPECT_NE(event.session, old) << event.tag;
  }
}

// The threads submit all the time, also at the moment when a session ends.
TEST(ZkCoordinatorFaults, BoundRequestsWhileSessionsEnd_StayOnTheirs) {
  const auto server = serving();
  ClientOptions options = with_timeout(*server, kShort);
  options.retry_delay_min = options.retry_delay_max = std::chrono::milliseconds(1);
  std::atomic<int> sent{0};
  std::atomic<int> replied{0};
  std::atomic<int> succeeded{0};
  Probe probe(options);
  std::atomic<SessionId> current{probe.session()};
  std::atomic<bool> stop{false};
  const auto send = [&] {
    while (!stop) {
      const SessionId session = current;
      ++sent;
      probe->submit({rq::Exists{"/"}, session}, [&, session](const Reply& reply) {
        ++replied;
        if (reply.status != Status::ok) return;
        EXPECT_EQ(reply.session, session);
        ++succeeded;
      });
      std::this_thread::sleep_for(std::chrono::microseconds(20));  // limits the rate
    }
  };
  {
    std::vector<std::jthread> senders;
    for (int i = 0; i < 3; ++i) senders.emplace_back(send);
    for (int round = 0; round < 10; ++round) {
      const int before = succeeded;
      EXPECT_TRUE(testing::eventually([&] { return succeeded > before + 100; }));
      const SessionId old = current;
      testing::expire_session(server->hosts(), old.value);
      EXPECT_TRUE(probe.journal().wait(1, [old](const Event& event) {
        return event.kind == Kind::connected && event.session > old;
      }));
      current = probe.journal().last(Kind::connected).session;
    }
    stop = true;
  }
  EXPECT_TRUE(testing::eventually([&] { return replied == sent; }));
}

TEST(ZkCoordinatorOutage, NoServerForTheTimeout_EndsTheSession) {
  const auto server = serving();
  Probe probe(with_timeout(*server, std::chrono::seconds(2)));
  const SessionId session = probe.session();
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  probe.send(1, rq::Exists{"/"}, session);
  ASSERT_TRUE(probe.journal().wait(1, Kind::ended)) << "although no server runs";
  EXPECT_EQ(probe.journal().last(Kind::ended).session, session);
  EXPECT_EQ(probe.journal().last(Kind::ended).status, Status::session_ended);
  ASSERT_TRUE(probe.journal().wait(1, Kind::reply));
  EXPECT_EQ(probe.journal().last(Kind::reply).status, Status::session_ended);
  EXPECT_EQ(probe.journal().count(Kind::connected), 1U);

  restart(*server);
  ASSERT_TRUE(probe.journal().wait(2, Kind::connected));
  EXPECT_TRUE(probe.journal().last(Kind::connected).flag) << "a new session";
  EXPECT_NE(probe.journal().last(Kind::connected).session, session);
  EXPECT_EQ(probe.journal().count(Kind::ended), 1U);
}

// The first lease counts from attempt_began. With an earlier time it would expire before the first
// grant.
TEST(ZkCoordinatorOutage, NoServerAtFirst_AttemptBeganIsOfLastAttempt) {
  const auto server = serving();
  server->kill();
  Probe probe(with_timeout(*server, std::chrono::seconds(2)));
  const Instant timeout_over = LeaseClock::now() + std::chrono::seconds(2);
  std::this_thread::sleep_until(timeout_over);
  server->start();
  ASSERT_TRUE(probe.journal().wait(1, Kind::connected)) << server->log();
  EXPECT_GT(probe.journal().last(Kind::connected).time, timeout_over);
}

/// A reply handler that blocks the completion thread until release(). The C client's other thread
/// continues.
class BlockedCompletions {
 public:
  explicit BlockedCompletions(Probe& probe) {
    probe->submit({rq::Exists{"/"}, {}}, [this](const Reply&) {
      entered_.set_value();
      released_.get_future().wait();
    });
    entered_.get_future().wait();
  }
  void release() { released_.set_value(); }

 private:
  std::promise<void> entered_;
  std::promise<void> released_;
};

class ZkCoordinatorLateEvents : public ::testing::Test {
 protected:
  ClientOptions options() const {
    ClientOptions options = Probe::with(server_->hosts());
    options.session_timeout = std::chrono::seconds(60);  // outlasts every restart
    options.logger = log_.logger();
    return options;
  }
  void SetUp() override { (void)probe_.session(); }

  /// Restarts the server, and returns when the C client has the answer to its handshake.
  void reconnect() {
    const std::size_t before = logged("session establishment complete");
    server_->kill();
    server_->start();
    ASSERT_TRUE(server_->wait_until_serving()) << server_->log();
    ASSERT_TRUE(eventually([&] { return logged("session establishment complete") > before; }));
  }
  /// Kills the server, and returns when an attempt to reconnect was refused. From then on the C
  /// client is between two attempts for nearly all the time.
  void disconnect() {
    const std::size_t before = logged("refused to accept the client");
    server_->kill();
    ASSERT_TRUE(eventually([&] { return logged("refused to accept the client") > before; }));
  }
  /// Returns the number of lines of the C client's log that contain `text`.
  std::size_t logged(const std::string& text) const {
    const auto lines = log_.lines();
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }

  testing::LogCapture log_;
  std::unique_ptr<testing::TestServer> server_ = serving();
  Probe probe_{options()};
};

TEST_F(ZkCoordinatorLateEvents, LossSeenAfterNextHandshake_DatesItNoLater) {
  BlockedCompletions blocked(probe_);
  reconnect();
  const Instant after_handshake = LeaseClock::now();
  blocked.release();
  ASSERT_TRUE(probe_.journal().wait(2, Kind::connected));
  EXPECT_LT(probe_.journal().last(Kind::connected).time, after_handshake);
}

TEST_F(ZkCoordinatorLateEvents, ConnectionSeenAfterItsLoss_IsNotDatedByTheLoss) {
  BlockedCompletions blocked(probe_);
  reconnect();
  const Instant after_handshake = LeaseClock::now();
  disconnect();
  blocked.release();
  ASSERT_TRUE(probe_.journal().wait(2, Kind::connected));
  EXPECT_LT(probe_.journal().last(Kind::connected).time, after_handshake);
}

}  // namespace
}  // namespace zklock::client
