// SPDX-License-Identifier: Apache-2.0
// LeaderLatch while its server is down.
#include <optional>

#include <gtest/gtest.h>

#include "conformance/leader_fixture.h"
#include "conformance/log_capture.h"

namespace zklock::testing {
namespace {

class LatchOnItsServer : public LeaderTest<OwnServerTest> {
 protected:
  ClientOptions impatient() const {
    ClientOptions result = options();
    result.connection_timeout = 100ms;
    result.logger = log_.logger();
    return result;
  }
  bool fails_to_contend() const {
    return eventually([this] { return log_.contains("lead /lock: "); }, kTestTimeout);
  }
  LogCapture log_;
};

TEST_F(LatchOnItsServer, StartedBeforeTheServer_LeadsLater) {
  server_.kill();
  Client client(impatient());
  LeaderLatch latch(client, kPath, {.retry_delay_min = 1ms, .retry_delay_max = 50ms});
  latch.start();
  EXPECT_FALSE(latch.wait_until_leader(100ms));
  ASSERT_TRUE(fails_to_contend());
  EXPECT_EQ(latch.error(), std::nullopt);  // a transient failure is no error
  EXPECT_EQ(error_of([&] { return latch.leader(); }), Errc::not_connected);
  start_again();
  EXPECT_TRUE(latch.wait_until_leader(kTestTimeout));
  EXPECT_EQ(nodes().size(), 1U);
}

TEST_F(LatchOnItsServer, ClosedBeforeTheServerStarts_CreatesNoZnode) {
  server_.kill();
  Client client(impatient());
  LeaderLatch contending(client, kPath);
  contending.start();
  LeaderLatch failing(client, kPath, {.retry_delay_min = 1h, .retry_delay_max = 2h});
  failing.start();
  ASSERT_TRUE(fails_to_contend());
  auto waiting = in_thread([&] { return failing.wait_until_leader(); });
  contending.close();
  failing.close();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  server_.start();
  ASSERT_TRUE(client.wait_until_connected(kTestTimeout));
  EXPECT_TRUE(is_free());  // a create of `client` would have come first
  EXPECT_TRUE(client.flush(kTestTimeout));
  EXPECT_TRUE(nodes().empty());
}

TEST_F(LatchOnItsServer, ClientIsClosedDuringARetryDelay_WaitThrows) {
  server_.kill();
  Client client(impatient());
  LeaderLatch latch(client, kPath, {.retry_delay_min = 1h, .retry_delay_max = 2h});
  latch.start();
  ASSERT_TRUE(fails_to_contend());
  auto waiting = in_thread([&] { return latch.wait_until_leader(); });
  client.close();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(latch.error()->errc(), Errc::closed);
  start_again();  // the fixture needs a server to clean up
}

}  // namespace
}  // namespace zklock::testing
