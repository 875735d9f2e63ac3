// SPDX-License-Identifier: Apache-2.0
// The start of a lease, and the replies that extend it.
#include <cstddef>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

class LeaseStartTest : public PathLockTest {
 protected:
  World& world() { return lock_.world(); }
  Duration timeout() { return lock_.core(0).keeper().timeout(); }
  Instant valid_until(std::size_t call) { return lock_.call(call).hold.valid_until(); }
  /// Returns a hold on a connection that is some time old, with heartbeats in time.
  std::size_t held_for_a_while() {
    const std::size_t call = granted(0);
    run_for(2 * timeout());
    return call;
  }
};

TEST_F(LeaseStartTest, LateReply_LeaseCountsFromRequest) {
  const auto call = held_for_a_while();
  const Instant before = valid_until(call);
  client(0).reset_counts();
  for (;;) {  // to the next heartbeat
    ASSERT_TRUE(world().clock().run_next());
    if (client(0).requests(OperationKind::check) > 0) break;
    run();
  }
  const Instant requested = world().now();
  while (client(0).can_serve()) world().run({Step::Kind::serve, 0});
  // Less than a pause of a server.
  world().clock().advance_to(requested + timeout() / 25);
  while (client(0).can_receive()) world().run({Step::Kind::receive, 0});
  EXPECT_GT(valid_until(call), before) << "a reply of the quorum arrived";
  EXPECT_LE(valid_until(call), requested + 2 * timeout() / 3);
  lock_.release(call);
  expect_rest();
}

TEST_F(LeaseStartTest, RepliesOfIsolatedServer_ExtendNothing) {
  const auto call = held_for_a_while();
  world().isolate(0);
  const Instant before = valid_until(call);
  int answers = 0;
  for (Instant end = world().now() + timeout() / 3; world().now() < end;) {
    client(0).submit({.operation = client::request::Get{"/"}},
                     [&answers](const client::Reply& reply) {
                       answers += reply.status == client::Status::ok ? 1 : 0;
                     });
    run_for(timeout() / 16);
  }
  EXPECT_GT(answers, 0) << "an isolated server answers reads";
  EXPECT_EQ(valid_until(call), before);
  run_for(timeout());
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
  world().heal(0);
  run_for(2 * timeout());
  lock_.release(call);
  expect_rest();
}

// The leader's timer starts with the handshake, not with its reply.
TEST_F(LeaseStartTest, ReconnectWithSlowHandshake_CountsFromItsStart) {
  client(0).disconnect();
  run();
  const Instant began = world().now();
  client(0).reconnect();
  while (client(0).can_serve()) client(0).serve();
  world().clock().advance_to(began + timeout() / 2);
  while (!client(0).is_connected()) ASSERT_TRUE(step());
  run();
  const auto call = granted(0);
  EXPECT_EQ(valid_until(call), began + timeout() - timeout() / 12);
  release(call);
  expect_rest();
}

// Each server has its own limits of the session timeout. The leader's timer restarts with the
// handshake, even if the session then ends earlier than before.
TEST_F(LeaseStartTest, ReconnectWithShorterTimeout_EndsTheLeaseEarlier) {
  const auto call = held_for_a_while();
  const auto waiter = waiting(1);
  const Duration shorter = timeout() / 5;
  client(0).disconnect();
  client(0).options().session_timeout = shorter;
  const Instant began = world().now();
  client(0).reconnect();
  while (!client(0).is_connected()) ASSERT_TRUE(step());
  EXPECT_EQ(timeout(), shorter);
  EXPECT_LE(valid_until(call), began + shorter - shorter / 12);
  client(0).cut_off();
  run_for(shorter + shorter / 4);
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
  EXPECT_TRUE(is_granted(waiter));
  client(0).disconnect();
  client(0).reconnect();
  run_for(shorter);
  lock_.release(call);
  lock_.release(waiter);
  expect_rest();
}

// A new leader uses the timeout with which the session was created.
TEST_F(LeaseStartTest, ReconnectWithLongerTimeout_LeaseUsesFirstTimeout) {
  const auto call = held_for_a_while();
  const Duration first = timeout();
  client(0).disconnect();
  client(0).options().session_timeout = 2 * first;
  client(0).reconnect();
  run_for(3 * first);
  EXPECT_EQ(timeout(), first);
  EXPECT_GT(valid_until(call), world().now());
  EXPECT_LE(valid_until(call), world().now() + first - first / 12);
  lock_.release(call);
  expect_rest();
}

// The loss is notified at the earlier end, without a query of the hold's state.
TEST_F(LeaseStartTest, ReconnectWithShorterTimeout_ReportsTheLossInTime) {
  const auto call = held_for_a_while();
  const Duration shorter = timeout() / 5;
  client(0).disconnect();
  client(0).options().session_timeout = shorter;
  client(0).reconnect();
  while (!client(0).is_connected()) ASSERT_TRUE(step());
  client(0).cut_off();
  const auto lost = lock_.call(call).hold.loss_token();
  world().run_for(valid_until(call) - world().now());
  EXPECT_TRUE(lost.stop_requested());
  client(0).mend();
  run_for(shorter);
  lock_.release(call);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
