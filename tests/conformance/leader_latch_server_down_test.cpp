// SPDX-License-Identifier: Apache-2.0
// LeaderLatch while its server is down.
#include <optional>

#include <boost/thread/thread.hpp>
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

TEST_F(LatchOnItsServer, ServerIsKilled_LeadsAgainAfterTheRestart) {
  const auto client = connect();
  const auto other = connect();
  Chronicle<FencingToken> writes;
  LeaderLatch first(*client, kPath);
  LeaderLatch second(*other, kPath);
  const auto write = [&](const Leadership& l) { writes.add(l.token()); };
  const auto first_subscription = first.add_listener(write, {});
  const auto second_subscription = second.add_listener(write, {});
  first.start();
  ASSERT_TRUE(first.wait_until_leader(kTestTimeout));
  second.start();
  ASSERT_TRUE(reaches_nodes(2));
  kill_and_restart();
  // The session may have survived or ended. One latch leads, and both are enqueued.
  ASSERT_TRUE(
      eventually([&] { return first.has_leadership() || second.has_leadership(); }, kTestTimeout));
  ASSERT_TRUE(reaches_nodes(2));
  LeaderLatch& leader = first.has_leadership() ? first : second;
  LeaderLatch& follower = &leader == &first ? second : first;
  leader.close();
  EXPECT_TRUE(follower.wait_until_leader(kTestTimeout));
  const auto tokens = writes.all();
  for (std::size_t i = 1; i < tokens.size(); ++i) EXPECT_GT(tokens[i], tokens[i - 1]);
}

}  // namespace
}  // namespace zklock::testing
