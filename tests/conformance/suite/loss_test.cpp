// SPDX-License-Identifier: Apache-2.0
// Losses of sessions, znodes and servers, for waiting calls and for holds.
#include <future>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "conformance/suite/event_recorder.h"
#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

class Loss : public SuiteTest {};
INSTANTIATE_TEST_SUITE_P(, Loss,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(Loss, SessionExpiresWhileHeld_NotifiesOnceAndGrantsNext) {
  Client& client = connect();
  const auto lock = make(client);
  const auto others = make(connect());
  auto hold = acquire(*lock);
  const LossCounter losses(hold);
  const FencingToken token = hold.token();
  auto waiting = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(2));
  environment().expire(client);
  auto next = get_in_time(waiting);
  EXPECT_GT(next.token(), token);
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(environment().comes([&] { return losses.count() == 1; }));
  EXPECT_TRUE(hold.loss_token().stop_requested());
  EXPECT_TRUE(hold);  // the lost hold still has its count
  EXPECT_EQ(hold.token(), token);
  EXPECT_EQ(hold.valid_until(), LeaseClock::time_point::min());
  hold.release();  // affects neither this lock nor the next hold
  EXPECT_TRUE(client.flush(kTestTimeout));
  EXPECT_EQ(next.state(), HoldState::held);
  EXPECT_TRUE(environment().exists(next.node()));
  EXPECT_EQ(losses.count(), 1);
}

TEST_P(Loss, SessionExpired_LostHoldBlocksNestingOfOwner) {
  Client& client = connect();
  const auto lock = make(client);
  const Owner owner = Owner::unique();
  auto old = acquire(*lock, {.owner = owner});
  environment().expire(client);
  ASSERT_TRUE(becomes_lost(old));
  std::optional<Grant> newer;
  if (adapter().nests) {
    EXPECT_EQ(error_of([&] { return acquire(*lock, {.owner = owner}); }), Errc::lock_lost);
    newer = acquire(*lock);  // only that owner has a lost lock
    old.release();
  } else if (adapter().frees_all_by_loss) {
    newer = acquire(*lock, {.owner = owner});
    old.release();
  } else {
    old.release();
    newer = acquire(*lock, {.owner = owner});
  }
  EXPECT_TRUE(client.flush(kTestTimeout));
  EXPECT_EQ(newer->state(), HoldState::held);
  EXPECT_TRUE(environment().exists(newer->node()));
  newer.reset();
  EXPECT_EQ(acquire(*lock, {.owner = owner}).state(), HoldState::held);
}

TEST_P(Loss, SessionExpiresAfterLock_LockIsLost) {
  if (!adapter().has_lock) GTEST_SKIP() << "has no lock()";
  Client& client = connect();
  const auto lock = make(client);
  lock->lock();
  environment().expire(client);
  ASSERT_TRUE(environment().comes_in_time([&] { return !lock->is_locked(); }));
  if (adapter().nests) {
    EXPECT_EQ(error_of([&] { lock->lock(); }), Errc::lock_lost);
    EXPECT_EQ(error_of([&] { return lock->try_lock(); }), Errc::lock_lost);
  }
  lock->unlock();  // no error: it undoes the lost lock()
  EXPECT_EQ(error_of([&] { lock->unlock(); }), Errc::not_owner);
  lock->lock();
  EXPECT_TRUE(lock->is_locked());
  lock->unlock();
}

TEST_P(Loss, SessionExpiresWhileWaiting_EnqueuesAtEnd) {
  Client& client = connect();
  const auto lock = make(client);
  const auto others = make(connect());
  auto hold = rival_acquire(*others);
  auto waiting = async_acquire(*lock);
  ASSERT_TRUE(reaches_nodes(2));
  auto behind = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(3));
  const std::string behinds_node = node_at(2);
  const auto old_session = client.session_id();
  environment().expire(client);
  ASSERT_TRUE(environment().comes_in_time(
      [&] { return environment().nodes().size() == 3 && client.session_id() != old_session; }));
  EXPECT_FALSE(is_ready(waiting));
  hold.release();
  auto next = get(behind);
  if (adapter().keeps_node) {
    EXPECT_EQ(next.node(), behinds_node);
  }
  EXPECT_FALSE(is_ready(waiting));
  next.release();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
}

TEST_P(Loss, SessionExpiresUnderFailPolicy_Throws) {
  if (!adapter().fails_by_policy) {
    GTEST_SKIP() << "has no such policy, or not here";
  }
  Client& client = connect();
  const auto lock = make(client, kFail);
  const auto others = make(connect());
  const auto hold = rival_acquire(*others);
  auto waiting = async_acquire(*lock);
  ASSERT_TRUE(reaches_nodes(2));
  environment().expire(client);
  EXPECT_EQ(error_of([&] { return get_in_time(waiting); }), Errc::session_expired);
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_P(Loss, NodeDeletedWhileHeld_NotifiesLoss) {
  Client& client = connect();
  const auto lock = make(client);
  auto hold = acquire(*lock);
  const LossCounter losses(hold);
  const auto session = client.session_id();
  remove_nodes_of(hold);
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(environment().comes([&] { return losses.count() == 1; }));
  EXPECT_EQ(client.session_id(), session);
  EXPECT_EQ(hold.loss_reason().value_or(LossReason::node_deleted), LossReason::node_deleted);
  if (!adapter().frees_all_by_loss) hold.release();
  EXPECT_EQ(acquire(*lock).state(), HoldState::held);
  hold.release();
  EXPECT_EQ(losses.count(), 1);
}

TEST_P(Loss, NodeDeletedWhileWaiting_EnqueuesAgainOrThrows) {
  Client& client = connect();
  const auto others = make(connect());
  auto hold = rival_acquire(*others);
  if (adapter().fails_by_policy) {
    const auto failing = make(client, kFail);
    auto waiting = async_acquire(*failing);
    ASSERT_TRUE(reaches_nodes(2));
    EXPECT_EQ(failing->participants().size(), 2U);  // the contender has read its queue
    environment().remove(node_at(1));
    EXPECT_EQ(error_of([&] { return get_in_time(waiting); }), Errc::node_deleted);
    EXPECT_TRUE(reaches_nodes(1));
  }
  const auto lock = make(client);
  auto waiting = async_acquire(*lock);
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_EQ(lock->participants().size(), 2U);
  const std::string old = node_at(1);
  environment().remove(old);
  ASSERT_TRUE(queues_again(old));
  EXPECT_FALSE(is_ready(waiting));
  hold.release();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
}

TEST_P(Loss, ParentDeleted_HoldIsLostAndWaiterEnqueuesAgain) {
  const auto lock = make(connect());
  const auto others = make(connect());
  auto hold = acquire(*lock);
  const LossCounter losses(hold);
  const FencingToken token = hold.token();
  auto waiting = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(2));
  remove_parents();
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(environment().comes([&] { return losses.count() == 1; }));
  if (!adapter().frees_all_by_loss) hold.release();
  // The token increases even if the sequence numbers restart. The znode may also be deleted just
  // after the grant.
  auto next = get_in_time(waiting);
  EXPECT_GT(next.token(), token);
  next.release();
  EXPECT_EQ(acquire(*others).state(), HoldState::held);
}

// The new queue starts at sequence number 0, so strangers can get names that the old queue had. The
// waiter must not take them for its own. It may enqueue ahead of, between or behind them.
TEST_P(Loss, ParentDeletedAndNamesReused_WaiterNoticesLoss) {
  const auto lock = make(connect());
  const auto others = make(connect());
  auto hold = acquire(*lock);
  const LossCounter losses(hold);
  const FencingToken token = hold.token();
  auto waiting = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(2));
  remove_parents();
  const std::vector<std::string> strangers{environment().enqueue("lock-"),
                                           environment().enqueue("lock-")};
  EXPECT_TRUE(becomes_lost(hold));
  for (const std::string& stranger : strangers) environment().remove(stranger);
  if (!adapter().frees_all_by_loss) hold.release();
  EXPECT_GT(get_in_time(waiting).token(), token);
}

TEST_P(Loss, ParentDeletedBetweenUses_GrantsAgain) {
  const auto lock = make(connect());
  FencingToken last;
  for (int round = 0; round < 3; ++round) {
    {
      const auto hold = acquire(*lock);
      EXPECT_GT(hold.token(), last);
      last = hold.token();
    }
    ASSERT_TRUE(becomes_empty());
    remove_parents();
  }
}

// ---- a server that is killed and restarted ------------------------------------------------------

class Outage : public SuiteTest {
 protected:
  Client& connect() { return SuiteTest::connect(SuiteEnvironment::kLongSession); }
};
INSTANTIATE_TEST_SUITE_P(, Outage,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::restartable_servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(Outage, ServersRestart_HolderAndWaiterRetainPositions) {
  Client& client = connect();
  EventRecorder recorder(adapter());
  const auto lock = make(client, {.listener = recorder.listener()});
  const auto others = make(connect());
  auto hold = acquire(*lock);
  const LossCounter losses(hold);
  auto waiting = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(2));
  const auto before = environment().nodes();
  environment().stop_servers();
  EXPECT_EQ(hold.state(), HoldState::suspended);
  // A call that begins during the outage waits for a server. If none comes in time, it leaves
  // nothing behind.
  auto hopeless = rival_async_acquire(*lock, {.deadline = environment().in(100ms)});
  if (adapter().calls) {
    EXPECT_EQ(error_of([&] { return get_in_time(hopeless); }), Errc::not_connected);
  } else {
    EXPECT_FALSE(get_in_time(hopeless));
  }
  environment().start_servers();
  EXPECT_TRUE(environment().comes_in_time([&] { return hold.state() == HoldState::held; }));
  EXPECT_EQ(environment().nodes(), before);
  EXPECT_FALSE(is_ready(waiting));
  EXPECT_EQ(losses.count(), 0);
  const auto received = [&](const EventRecorder::Texts& expected) {
    return environment().simulated() ? recorder.exactly(expected)
                                     : recorder.exactly_joining_breaks(expected);
  };
  EXPECT_TRUE(received({"acquired", "suspended", "resumed"})) << recorder;
  hold.release();
  EXPECT_TRUE(received({"acquired", "suspended", "resumed", "released"})) << recorder;
  const auto next = get_in_time(waiting);
  EXPECT_EQ(next.state(), HoldState::held);
  if (adapter().keeps_node) {
    EXPECT_EQ(next.node(), kPath + "/" + before.at(1));
  }
}

TEST_P(Outage, ReleaseDuringOutage_IsSentLaterAndTokenIncreases) {
  Client& client = connect();
  const auto lock = make(client);
  auto hold = acquire(*lock);
  const FencingToken token = hold.token();
  environment().stop_servers();
  hold.release();
  auto waiting = rival_async_acquire(*lock);
  environment().start_servers();
  EXPECT_GT(get_in_time(waiting).token(), token);
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
