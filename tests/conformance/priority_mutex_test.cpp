// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <future>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class PriorityMutexTest : public LockTest {
 protected:
  // Contends, and returns when the contender waits at the gate.
  std::future<Hold> contend(PriorityMutex& mutex, int weight) {
    const std::size_t before = nodes().size();
    auto future = mutex.async_acquire({}, weight);
    EXPECT_TRUE(reaches_nodes(before + 1));
    return future;
  }
};

TEST_F(PriorityMutexTest, Release_GrantsByWeightThenArrival) {
  const auto client = connect();
  PriorityMutex mutex(*client, kPath);
  Hold hold = mutex.acquire();
  std::vector<std::future<Hold>> waiting;
  for (const int weight : {1, 5, 10, 5, 10, 1}) waiting.push_back(contend(mutex, weight));
  EXPECT_EQ(hold.state(), HoldState::held);
  FencingToken last = hold.token();
  hold.release();
  for (const std::size_t i : {2U, 4U, 1U, 3U, 0U, 5U}) {
    Hold next = get(waiting[i]);
    EXPECT_GT(next.token(), last);
    last = next.token();
  }
  EXPECT_TRUE(becomes_empty());
}

TEST_F(PriorityMutexTest, Participants_AreListedInGrantOrder) {
  const auto client = connect();
  PriorityMutex mutex(*client, kPath);
  Hold hold = mutex.acquire();
  auto light = contend(mutex, 2);
  auto heavy = contend(mutex, 9);
  const auto queue = mutex.participants();
  ASSERT_EQ(queue.size(), 3U);
  EXPECT_TRUE(queue[0].holds && queue[0].mine);
  EXPECT_EQ(queue[0].access, Access::exclusive);
  EXPECT_EQ(queue[1].weight, 9);
  EXPECT_EQ(queue[2].weight, 2);
  EXPECT_TRUE(queue[2].mine && !queue[2].holds);
  EXPECT_EQ(queue[2].token, FencingToken{}) << "not yet";
  hold.release();
  hold = get(heavy);
  const auto next = mutex.participants();
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].token, hold.token());
  EXPECT_EQ(next[0].since, queue[1].since) << "it is the same contender";
  EXPECT_EQ(next[1], queue[2]);
  EXPECT_EQ(ReentrantMutex(*client, kPath).participants(), next);
}

TEST_F(PriorityMutexTest, Waiter_IsNotifiedOfItsPosition) {
  const auto client = connect();
  EventLog received;
  PriorityMutex mutex(*client, kPath);
  PriorityMutex listening(*client, kPath, {.listener = received.listener()});
  Hold hold = mutex.acquire();
  auto heavy = contend(mutex, 9);
  auto light = contend(listening, 1);
  EXPECT_TRUE(received.reaches({"waiting 2"}));
  hold.release();
  hold = get(heavy);
  EXPECT_TRUE(received.reaches({"waiting 2", "waiting 1"}));
  hold.release();
  hold = get(light);
  ASSERT_TRUE(received.reaches({"waiting 2", "waiting 1", "acquired"}));
  const auto events = received.all();
  EXPECT_EQ(events[0].token, FencingToken{}) << "that of its node at the gate is none";
  EXPECT_EQ(events[2].token, hold.token());
}

// Znodes at the gate are not part of the lock's queue.
TEST_F(PriorityMutexTest, WaiterAtGate_IsNotAheadInLockQueue) {
  const auto client = connect();
  PriorityMutex weighted(*client, kPath);
  ReentrantMutex plain(*client, kPath);
  LeaderLatch latch(*client, kPath);
  Hold hold = weighted.acquire();
  auto light = contend(weighted, 1);
  const Owner owner = Owner::unique();
  auto other = plain.async_acquire({.owner = owner});
  ASSERT_TRUE(reaches_nodes(3));
  EXPECT_EQ(plain.queue_position(owner), 1U);
  latch.start();
  ASSERT_TRUE(reaches_nodes(4));
  hold.release();
  get(other).release();
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  const auto leader = latch.leader();
  ASSERT_TRUE(leader) << "though another came before";
  EXPECT_TRUE(leader->mine && leader->holds);
  latch.close();
  EXPECT_TRUE(get(light));
}

TEST_F(PriorityMutexTest, NamedWaiterAtTheGate_IsWaitedForUntilItPasses) {
  const auto client = connect();
  const auto requester = connect();
  PriorityMutex mutex(*client, kPath);
  Hold first = mutex.acquire();
  auto waiting = contend(mutex, 5);
  const auto queue = mutex.participants();
  ASSERT_EQ(queue.size(), 2U);
  ASSERT_EQ(queue[1].access, Access::weighted);
  auto requested = in_thread([&, node = queue[1].node] {
    return request_release(*requester, kPath, {.node = node, .deadline = kTestTimeout});
  });
  ASSERT_TRUE(reaches_nodes(3)) << "the request";
  EXPECT_FALSE(is_ready(requested));
  first.release();
  const Hold second = get(waiting);
  EXPECT_TRUE(get(requested));
  EXPECT_EQ(second.state(), HoldState::held);
}

// The heavy contender overtook the light one, so it holds although it arrived later.
TEST_F(PriorityMutexTest, ReleaseRequest_ReachesHolderNotWaiterAtGate) {
  const auto client = connect();
  const auto requester = connect();
  PriorityMutex mutex(*client, kPath);
  Hold first = mutex.acquire();
  auto light = contend(mutex, 1);
  auto heavy = contend(mutex, 10);
  first.release();
  const Hold holder = get(heavy);
  EXPECT_TRUE(request_release(*requester, kPath, {.force = true, .deadline = kTestTimeout}));
  EXPECT_EQ(holder.state(), HoldState::lost);
  EXPECT_EQ(get(light).state(), HoldState::held);
}

// The error comes at once, without waiting at the gate first.
TEST_F(PriorityMutexTest, LockAfterLoss_ThrowsAtOnce) {
  const auto client = connect();
  const auto other = connect();
  PriorityMutex mutex(*client, kPath);
  mutex.lock();
  expire_session(chroot_.hosts(), client->session_id());
  ASSERT_TRUE(eventually([&] { return !mutex.is_held_by_this_thread(); }, kTestTimeout));
  const Hold others = ReentrantMutex(*other, kPath).acquire({.deadline = kTestTimeout});
  ASSERT_TRUE(others);
  EXPECT_EQ(error_of([&] { return mutex.try_lock_for(5s); }), Errc::lock_lost);
  mutex.unlock();
  EXPECT_FALSE(mutex.try_lock());
}

TEST_F(PriorityMutexTest, DifferentAgeing_IsRefused) {
  const auto client = connect();
  PriorityMutex mutex(*client, kPath);
  PriorityMutex other(*client, kPath, {.ageing = std::nullopt});
  const Hold hold = mutex.acquire();
  auto waiting = contend(mutex, 1);
  EXPECT_EQ(error_of([&] { return other.acquire({.owner = Owner::unique()}); }),
            Errc::settings_mismatch);
}

}  // namespace
}  // namespace zklock::testing
