// SPDX-License-Identifier: Apache-2.0
// Session events that the completion thread handles long after the C client's state has changed.
#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/log_capture.h"
#include "integration/coordinator_probe.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using testing::eventually;
using Kind = Event::Kind;

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
