// SPDX-License-Identifier: Apache-2.0
// The requests that keep a lease, and when it begins.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

class Keeper : public PathLockTest {
 protected:
  static constexpr Duration kT = 6s;  ///< ClientOptions::session_timeout
  bool is_held(std::size_t call) { return lock_.call(call).hold.state() == HoldState::held; }
};

// Client 2 has nothing, and client 1 waits.
TEST_F(Keeper, NothingHeld_SendsTwentyFourSyncsInSevenTimeouts) {
  const auto call = granted(0);
  const auto next = waiting(1);
  run_for(kT);  // by then its own znode is watched, too
  reset_counts();
  run_for(7 * kT);
  for (const std::size_t c : {1U, 2U}) {
    EXPECT_EQ(client(c).requests(Kind::sync), 24U);
    EXPECT_EQ(client(c).requests(), 24U) << "the servers log nothing";
  }
  release(call);
  EXPECT_EQ(client(1).requests(Kind::check), 1U) << "its lease had lapsed";
  run_for(kT);
  EXPECT_TRUE(is_held(next));
}

// A server is cut off right after the leader was paused. So the leader has received no packet of
// its clients since the pause began. A client that noticed nothing would take a lease of its full
// length. A waiting client's own reads take the place of no sync.
TEST_F(Keeper, LeaderWasPaused_ClientNoticesIt) {
  client(1).options().relay_interval = kT / 4;
  client(1).options().relay_jitter = kT / 24;
  std::size_t grants = 0;
  for (const bool waits : {true, false}) {
    for (const Duration pause : {kT / 2, 2 * kT / 3, kT - kT / 20}) {
      SCOPED_TRACE(std::to_string(waits) + ", " + std::to_string(pause.count()));
      const auto holder = granted(0);
      std::optional<std::size_t> next;
      if (waits) next = waiting(1);
      run_for(2 * kT);
      world().ensemble().pause_leader();
      for (int i = 0; i < 8; ++i) {
        if (waits) client(1).submit({.operation = client::request::Get{"/"}}, [](const auto&) {});
        run_for(pause / 8);
      }
      world().ensemble().resume_leader();
      lock_.release(holder);
      if (!waits) next = lock_.acquire(1);
      run();
      world().isolate(1);
      if (is_granted(*next)) {
        ++grants;
        const auto contact = world().ensemble().last_touch(client(1).session());
        EXPECT_LE(lock_.call(*next).hold.valid_until(), *contact + kT);
      }
      run_for(2 * kT);
      world().heal(1);
      run_for(2 * kT);
      release(*next);
    }
  }
  EXPECT_GT(grants, 0U) << "no row compares a lease";
}

// A quorum lock counts such an ensemble as unreachable.
TEST_F(Keeper, ServerIsolated_NoContactAlthoughConnected) {
  detail::EngineContext& core = lock_.core(0);
  const auto has_contact = [&core] {
    const detail::EngineLock lock({core});
    return core.keeper().has_contact();
  };
  run_for(kT);
  EXPECT_TRUE(has_contact());
  world().isolate(0);
  for (Duration waited{}; has_contact() && waited < kT; waited += kT / 96) run_for(kT / 96);
  EXPECT_FALSE(has_contact());
  EXPECT_TRUE(core.keeper().is_connected());
  world().heal(0);
  run_for(kT);
  EXPECT_TRUE(has_contact());
}

TEST_F(Keeper, LockHeld_EveryThirdRequestIsHeartbeat) {
  const auto call = granted(0);
  run_for(kT);  // by then its own znode is watched, too
  reset_counts();
  run_for(3 * kT);
  EXPECT_EQ(client(0).requests(), 30U);
  EXPECT_EQ(client(0).requests(Kind::check), 10U);
  EXPECT_EQ(client(0).requests(Kind::sync), 20U);
  EXPECT_GE(lock_.call(call).hold.valid_until(), world().now() + 11 * kT / 24 - kT / 10 - 1ms);
}

// A request of the user shifts the lease against the ticks, which come every T/20.
TEST_F(Keeper, LeaseBelowElevenTwentyFourths_IsHeartbeat) {
  struct Case {
    Duration used_at;  ///< after a tick with a heartbeat
    std::size_t heartbeats;
  };
  for (const Case& each : {Case{kT / 24, 0}, Case{kT / 30, 1}}) {
    const auto call = granted(0);
    run_for(kT);
    reset_counts();
    ASSERT_TRUE(world().run_until([&] { return client(0).requests(Kind::check) > 0; }, kT));
    run_for(each.used_at);
    client(0).submit({.operation = client::request::Check{"/"}}, [](const auto&) {});
    run();
    run_for(kT / 4 - each.used_at - 1ns);
    reset_counts();
    run_for(1ns);
    EXPECT_EQ(client(0).requests(Kind::check), each.heartbeats);
    EXPECT_EQ(client(0).requests(Kind::sync), 1 - each.heartbeats);
    release(call);
  }
}

// The user's own requests are evidence enough.
TEST_F(Keeper, LockUsedAllTheTime_NoRequestsOfTheKeeper) {
  run_for(kT);
  const auto cycle = [this] {
    release(granted(0));
    run_for(kT / 10);
  };
  cycle();
  reset_counts();
  for (int i = 0; i < 20; ++i) cycle();
  EXPECT_EQ(client(0).requests(Kind::check), 0U);
  EXPECT_EQ(client(0).requests(Kind::sync), 0U);
}

// A server can have paused meanwhile, and may not have answered a session request of the leader
// since.
TEST_F(Keeper, VerySlowReplyAfterIdleTime_GrantsWithinOneRound) {
  for (const Duration slow : {kT / 20, kT / 12, kT / 8, kT / 6}) {
    run_for(5 * kT);
    const auto call = lock_.acquire(0);
    client(0).cut_off();
    run_for(slow);
    client(0).mend();
    run();
    run_for(kT / 20);
    ASSERT_TRUE(lock_.call(call).granted()) << slow.count();
    run_for(2 * kT);
    EXPECT_TRUE(is_held(call)) << slow.count();
    release(call);
  }
}

// The first call that fails is notified before the last lock node is. So it can end those calls
// whose lock nodes are next. Each call is behind one of another client.
TEST_F(Keeper, ManyLockNodes_AreNotifiedInSlices) {
  std::vector<std::size_t> others{granted(1)};
  std::vector<std::shared_ptr<detail::PendingAcquire>> calls;
  std::vector<int> ends(150);
  std::ptrdiff_t waiting_then = 0;
  const auto on_first_end = [&] {
    waiting_then = std::ranges::count(calls, false, &detail::PendingAcquire::has_ended);
    for (std::size_t i = 60; i < 70; ++i) calls[i]->cancel();
  };
  for (int& count : ends) {
    calls.push_back(detail::PendingAcquire::start(lock_.path_lock(0),
                                                  {.owner = Owner::unique(),
                                                   .time_limit = detail::TimeLimit::endless(),
                                                   .queue_again = false,
                                                   .done =
                                                       [&](const detail::AcquireOutcome&) {
                                                         if (++count == 1 && waiting_then == 0)
                                                           on_first_end();
                                                       }},
                                                  {}));
    run();
    others.push_back(waiting(1));
  }
  world().expire(0);
  run();
  EXPECT_GT(waiting_then, 50);
  EXPECT_EQ(std::ranges::count(ends, 1), 150);
}

class LeaseStartTest : public PathLockTest {
 protected:
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
  const auto lost = lock_.call(call).hold.loss_token();
  world().run_for(valid_until(call) - world().now());
  EXPECT_TRUE(lost.stop_requested()) << "without a query of the state";
  run_for(shorter);
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
  EXPECT_TRUE(is_granted(waiter));
  client(0).disconnect();
  client(0).reconnect();
  run_for(shorter);
}

}  // namespace
}  // namespace zklock::model
