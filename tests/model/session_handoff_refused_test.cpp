// SPDX-License-Identifier: Apache-2.0
// The cases in which a waiter of the same client is not granted before the znode is deleted.
#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/session_handoff_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

TEST_F(SessionHandoffTest, ZnodeExposed_NextWaitsForDelete) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  ASSERT_EQ(lock_.call(holder).hold.expose_node(), lock_.call(holder).node);
  expect_handed_off_by_servers(holder, next);
}

TEST_F(SessionHandoffTest, ZnodeExposedByFormerHolder_NextWaitsForDelete) {
  const Request kept{.local = {.keep_idle_for = 60s}};
  const auto first = granted(0, kept);
  ASSERT_FALSE(lock_.call(first).hold.expose_node().empty());
  release(first);
  const auto second = granted(0, anew(kept));
  ASSERT_EQ(lock_.call(second).node, lock_.call(first).node);
  const auto next = waiting(0, anew(kept));
  expect_handed_off_by_servers(second, next);
  lock_.end_use(0);
}

TEST_F(SessionHandoffTest, TransactionInFlight_NextWaitsForDelete) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  commit(holder);
  expect_handed_off_by_servers(holder, next);
  EXPECT_EQ(ensemble().find("/data")->data, "1");
}

TEST_F(SessionHandoffTest, TransactionDone_NextIsGrantedAtOnce) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  commit(holder);
  run();
  expect_handed_off(holder, next);
  release(next);
}

// The transaction can still arrive, and would find the znode.
TEST_F(SessionHandoffTest, TransactionOutcomeUnknown_NextWaits) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  commit(holder);
  lock_.world().disconnect(0, OnTheWay::linger);
  lock_.release(holder);
  EXPECT_FALSE(is_granted(next));
  lock_.world().reconnect(0);
  run();
  EXPECT_TRUE(is_granted(next));
  release(next);
}

TEST_F(SessionHandoffTest, OtherZnodeToDelete_NextWaits) {
  ASSERT_EQ(ensemble().create("/with"), Status::ok);
  std::shared_ptr<detail::Contender> holder;
  detail::PendingAcquire::start(
      lock_.path_lock(0),
      {.owner = Owner::unique(),
       .time_limit = detail::TimeLimit::endless(),
       .done = [&](const detail::AcquireOutcome& outcome) { holder = outcome.contender; }},
      {});
  run();
  ASSERT_TRUE(holder);
  Hold hold = holder->make_hold(core::CountKind::hold);
  {
    const detail::EngineLock lock(holder->entry());
    ASSERT_TRUE(holder->delete_with_node("/with"));
  }
  const auto next = waiting(0);
  hold.release();
  EXPECT_FALSE(is_granted(next));
  run();
  EXPECT_TRUE(is_granted(next));
  EXPECT_EQ(ensemble().find("/with"), nullptr);
  release(next);
}

TEST_F(SessionHandoffTest, DelayMarkerToDelete_NextWaits) {
  const auto holder = granted(0, delayed(500ms));
  const auto next = waiting(0);
  expect_handed_off_by_servers(holder, next);
}

TEST_F(SessionHandoffTest, NextHasLockDelay_MarksBeforeGrant) {
  const auto holder = granted(0);
  const auto next = waiting(0, delayed(500ms));
  lock_.release(holder);
  EXPECT_FALSE(is_granted(next));
  run();
  EXPECT_TRUE(is_granted(next));
  release(next);
}

TEST_F(SessionHandoffTest, ThreadOfHolderExits_NextWaits) {
  const Owner thread = Owner::unique();
  const auto holder = granted(0, {.owner = thread, .kind = core::CountKind::lock});
  const auto next = waiting(0);
  lock_.path_lock(0)->thread_exits(thread);
  EXPECT_FALSE(is_granted(next));
  run();
  EXPECT_TRUE(is_granted(next));
  lock_.release(holder);
  release(next);
}

// The client does not know whether a writer has only readers left, or how many permits are held.
TEST_F(SessionHandoffTest, OtherKindsThanMutex_NextWaits) {
  const std::vector<Request> others = {LockWorld::to_write(), LockWorld::permits(1, 1),
                                       LockWorld::at_gate(1)};
  for (const Request& other : others) {
    const auto holder = granted(0, other);
    const auto next = waiting(0, anew(other));
    expect_handed_off_by_servers(holder, next);
  }
  for (const bool writes_first : {true, false}) {
    const auto holder = granted(0, writes_first ? LockWorld::to_write() : Request{});
    const auto next = waiting(0, writes_first ? Request{} : LockWorld::to_write());
    expect_handed_off_by_servers(holder, next);
  }
}

}  // namespace
}  // namespace zklock::model
