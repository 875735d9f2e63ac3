// SPDX-License-Identifier: Apache-2.0
// A waiter behind a contender of its own client is granted at the release, without the ensemble.
#include <chrono>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/session_handoff_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

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
  release(next);
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
  release(fifth);
}

TEST_F(SessionHandoffTest, NeighboursCancelled_GrantsRemainingContender) {
  const auto holder = granted(0);
  const auto first = waiting(0);
  const auto second = waiting(0);
  const auto third = waiting(0);
  lock_.cancel(first);
  run();
  lock_.cancel(third);
  run();
  expect_handed_off(holder, second);
  release(second);
}

// The client has not learned that the znode in between was deleted.
TEST_F(SessionHandoffTest, ZnodeBetweenDeletedByHand_GrantsNext) {
  for (const bool leaves : {false, true}) {
    const auto holder = granted(0);
    const auto without = waiting(0);
    const auto next = waiting(0);
    const std::string node = lock_.path_lock(0)->node_of(lock_.call(without).owner);
    ASSERT_EQ(ensemble().remove(child(node)), Status::ok);
    run();
    if (leaves) lock_.cancel(without);
    run();
    expect_handed_off(holder, next);
    run();
    release(next);
    if (!leaves) release(without);
  }
}

TEST_F(SessionHandoffTest, ManyImmediateReleases_GrantInLoop) {
  constexpr std::size_t kCrowd = 3'000;
  const auto holder = granted(0);
  std::size_t grants = 0;
  for (std::size_t i = 0; i < kCrowd; ++i) {
    detail::PendingAcquire::start(lock_.path_lock(0),
                                  {.owner = Owner::unique(),
                                   .time_limit = detail::TimeLimit::endless(),
                                   .done =
                                       [&](const detail::AcquireOutcome& outcome) {
                                         ASSERT_TRUE(outcome.contender);
                                         const Hold hold =
                                             outcome.contender->make_hold(core::CountKind::hold);
                                         EXPECT_EQ(hold.state(), HoldState::held);
                                         ++grants;
                                       }},
                                  {});
  }
  run();
  ASSERT_EQ(lock_.nodes().size(), kCrowd + 1);
  lock_.release(holder);
  EXPECT_EQ(grants, kCrowd) << "each by the one before, and none of them on the stack of another";
  run();
  EXPECT_TRUE(lock_.nodes().empty());
}

TEST_F(SessionHandoffTest, ContenderWithoutZnode_IsNotGrantedAtOnce) {
  const auto holder = granted(0);
  const auto next = lock_.acquire(0);
  release_node(holder);
  EXPECT_FALSE(is_granted(next));
  run();
  EXPECT_TRUE(is_granted(next));
  release(next);
}

// ---- without a connection ----------------------------------------------------------------------

TEST_F(SessionHandoffTest, DisconnectedWithinLease_GrantsNext) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  lock_.world().disconnect(0);
  run();
  expect_handed_off(holder, next);
  EXPECT_EQ(lock_.call(next).hold.state(), HoldState::suspended);
  lock_.world().reconnect(0);
  run();
  EXPECT_EQ(lock_.call(next).hold.state(), HoldState::held);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  release(next);
}

TEST_F(SessionHandoffTest, LostWithLease_NextWaitsForEnsemble) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  client(0).cut_off();
  run_for(5s);
  ASSERT_EQ(lock_.call(holder).hold.state(), HoldState::lost);
  lock_.release(holder);
  EXPECT_FALSE(is_granted(next));
  client(0).mend();
  run_for(10s);
  EXPECT_TRUE(is_granted(next));
  release(next);
}

// The first holder's znode is deleted after the second's. The other clients do not wait for it.
TEST_F(SessionHandoffTest, DeletePending_NextReleasesToOtherClient) {
  const auto holder = granted(0);
  const auto next = waiting(0);
  const auto stranger = waiting(1);
  const auto last = waiting(2);
  client(0).fail_next(Kind::remove, Status::throttled);
  expect_handed_off(holder, next);
  release(next);
  EXPECT_EQ(lock_.nodes().size(), 3U);
  EXPECT_TRUE(is_granted(stranger));
  EXPECT_FALSE(is_granted(last));
  release(stranger);
  EXPECT_TRUE(is_granted(last));
  release(last);
  run_for(1s);
  EXPECT_TRUE(lock_.nodes().empty());
}

class SessionHandoffAtTheEnd : public PathLockTest {};

}  // namespace
}  // namespace zklock::model
