// SPDX-License-Identifier: Apache-2.0
// A waiter behind a contender of its own client is granted at the release, without the ensemble.
// And the cases in which it is not granted before the znode is deleted.
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

class SessionHandoffTest : public PathLockTest {
 protected:
  void SetUp() override {
    PathLockTest::SetUp();
    lock_.use(0);
    reset_counts();
  }
  static Request delayed(std::chrono::milliseconds delay) { return {.lock_delay = delay}; }
  static Request anew(Request request) {
    request.owner = Owner::unique();
    return request;
  }
  /// Expects that the release grants `next` immediately. No message is sent or received.
  void expect_handed_off(std::size_t holder, std::size_t next) {
    const auto there = lock_.nodes().size();
    lock_.release(holder);
    EXPECT_TRUE(is_granted(next));
    EXPECT_EQ(lock_.nodes().size(), there);
    EXPECT_EQ(lock_.violation(), "");
  }
  /// Expects that `next` is granted when the znode before its own is deleted.
  void expect_handed_off_by_servers(std::size_t holder, std::size_t next) {
    const std::string node = lock_.call(holder).node;
    release_node(holder);
    while (!is_granted(next)) ASSERT_TRUE(step());
    EXPECT_EQ(ensemble().find(node), nullptr);
    run();
    release(next);
  }
  void commit(std::size_t call) {
    ASSERT_EQ(ensemble().create("/data"), Status::ok);
    GuardedTransaction transaction(lock_.call(call).hold);
    transaction.set("/data", "1");
    transaction.async_commit([](const std::exception_ptr&) {});
  }
};

TEST_F(SessionHandoffTest, Release_GrantsNextBeforeDelete) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  reset_counts();
  expect_handed_off(holder, next);
  EXPECT_NE(lock_.call(next).node, lock_.call(holder).node);
  EXPECT_GT(lock_.call(next).token.zxid, lock_.call(holder).token.zxid);
  run();
  EXPECT_EQ(lock_.nodes().size(), 1U);
  EXPECT_EQ(client(0).requests(Kind::remove), 1U) << "no other client is notified";
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 0U);
  release(next);
  EXPECT_EQ(client(0).requests(Kind::list_children), 0U);
}

TEST_F(SessionHandoffTest, MarkedHold_NextIsGrantedAtOnce) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  run_for(3500ms);
  ASSERT_EQ(lock_.hold_markers().size(), 1U);
  expect_handed_off(holder, next);
  run();
  EXPECT_TRUE(lock_.hold_markers().empty());
}

TEST_F(SessionHandoffTest, ContendersOfTwoClients_AreGrantedInOrder) {
  const auto holder = granted(0);
  const auto second = waiting(0);
  const auto stranger = waiting(1);
  const auto fourth = waiting(0);
  const auto fifth = waiting(0);
  reset_counts();
  expect_handed_off(holder, second);
  run();
  EXPECT_FALSE(is_granted(stranger));
  lock_.release(second);
  EXPECT_FALSE(is_granted(stranger) || is_granted(fourth));
  run();
  EXPECT_TRUE(is_granted(stranger));
  EXPECT_EQ(client(1).requests(), 0U) << "the announcement was received";
  EXPECT_FALSE(is_granted(fourth));
  release(stranger);
  EXPECT_TRUE(is_granted(fourth));
  expect_handed_off(fourth, fifth);
}

TEST_F(SessionHandoffTest, ManyImmediateReleases_GrantInLoop) {
  constexpr std::size_t kCrowd = 3'000;
  const auto holder = granted(0);
  std::size_t grants = 0;
  for (std::size_t i = 0; i < kCrowd; ++i) {
    acquire_path(lock_.path_lock(0), [&](const auto& outcome) {
      ASSERT_TRUE(outcome.contender);
      const Hold hold = outcome.contender->make_hold(core::CountKind::hold);
      EXPECT_EQ(hold.state(), HoldState::held);
      ++grants;
    });
  }
  run();
  ASSERT_EQ(lock_.nodes().size(), kCrowd + 1);
  lock_.release(holder);
  EXPECT_EQ(grants, kCrowd) << "each by the one before, and none of them on the stack of another";
}

TEST_F(SessionHandoffTest, DisconnectedWithinLease_GrantsNext) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  disconnect(0);
  expect_handed_off(holder, next);
  EXPECT_EQ(lock_.call(next).hold.state(), HoldState::suspended);
  reconnect(0);
  EXPECT_EQ(lock_.call(next).hold.state(), HoldState::held);
  EXPECT_EQ(lock_.nodes().size(), 1U);
}

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
}

TEST_F(SessionHandoffTest, OtherZnodeToDelete_NextWaits) {
  ASSERT_EQ(ensemble().create("/with"), Status::ok);
  std::shared_ptr<detail::Contender> holder;
  acquire_path(lock_.path_lock(0), [&](const auto& outcome) { holder = outcome.contender; });
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
  EXPECT_EQ(ensemble().find("/with"), nullptr);
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
}

TEST_F(SessionHandoffTest, ThreadOfHolderExits_NextWaits) {
  const Owner thread = Owner::unique();
  granted(0, {.owner = thread, .kind = core::CountKind::lock});
  const auto next = waiting(0);
  lock_.path_lock(0)->thread_exits(thread);
  EXPECT_FALSE(is_granted(next));
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
