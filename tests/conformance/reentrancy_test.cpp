// SPDX-License-Identifier: Apache-2.0
// One owner nests, different owners exclude each other, and a release affects only its own hold.
#include <future>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class Reentrancy : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  static AcquireOptions at_once(const Owner& owner) {
    return {.owner = owner, .deadline = Deadline::passed()};
  }
  // Returns whether another thread can lock.
  bool another_thread_gets_it() {
    auto attempt = in_thread([this] { return mutex_.try_lock(); });
    return get(attempt);
  }
};

TEST_F(Reentrancy, ThreeNestedLocks_UseOneNode) {
  mutex_.lock();
  EXPECT_TRUE(mutex_.try_lock());
  EXPECT_TRUE(mutex_.try_lock_for(kTestTimeout));
  EXPECT_EQ(mutex_.hold_count(), 3);
  EXPECT_EQ(nodes().size(), 1U);

  mutex_.unlock();
  mutex_.unlock();
  EXPECT_EQ(mutex_.hold_count(), 1);
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_FALSE(is_free());

  mutex_.unlock();
  EXPECT_EQ(mutex_.hold_count(), 0);
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(is_free());
}

TEST_F(Reentrancy, TwoObjectsOnOnePath_Nest) {
  ReentrantMutex second(*client_, kPath);
  mutex_.lock();
  second.lock();
  EXPECT_EQ(mutex_.hold_count(), 2);
  EXPECT_EQ(second.hold_count(), 2);
  EXPECT_EQ(nodes().size(), 1U);
  // One object may undo the lock() of the other: counts belong to client and path.
  mutex_.unlock();
  mutex_.unlock();
  EXPECT_EQ(error_of([&] { second.unlock(); }), Errc::not_owner);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Reentrancy, OtherPathOrClient_DoesNotNest) {
  ReentrantMutex elsewhere(*client_, "/elsewhere");
  const auto other = connect();
  ReentrantMutex of_other_client(*other, kPath);
  mutex_.lock();
  EXPECT_EQ(elsewhere.hold_count(), 0);
  EXPECT_FALSE(of_other_client.try_lock());  // each client has its own registry of holds
  EXPECT_TRUE(elsewhere.try_lock());
  elsewhere.unlock();
  mutex_.unlock();
}

TEST_F(Reentrancy, TokenWithinGrant_RepeatsAndIncreasesWithNext) {
  Hold first = mutex_.acquire();
  const FencingToken token = first.token();
  const std::string node = first.node();
  EXPECT_GT(token, FencingToken{});
  EXPECT_EQ(node.rfind(kPath + "/lock-", 0), 0U) << node;
  EXPECT_EQ(raw().exists(node).stat.czxid, token.zxid);

  Hold second = mutex_.acquire();
  EXPECT_EQ(second.token(), token);
  EXPECT_EQ(second.node(), node);
  first.release();
  EXPECT_EQ(mutex_.acquire().token(), token);
  second.release();
  EXPECT_GT(mutex_.acquire().token(), token);
}

TEST_F(Reentrancy, TwoThreadsOfOneOwner_WaitWithOneNode) {
  const auto other = connect();
  ReentrantMutex others_mutex(*other, kPath);
  Hold others_hold = others_mutex.acquire();
  const Owner owner = Owner::unique();
  const auto acquire = [&] { return mutex_.acquire({.owner = owner}); };
  auto first = in_thread(acquire);
  auto second = in_thread(acquire);
  ASSERT_TRUE(reaches_nodes(2));  // one of the holder, one shared by both calls
  auto third = in_thread([&] { return mutex_.acquire({.owner = owner, .deadline = 100ms}); });
  EXPECT_FALSE(static_cast<bool>(get(third)));  // a call of one owner can time out alone
  EXPECT_EQ(nodes().size(), 2U);

  others_hold.release();
  Hold hold = get(first);
  const Hold same = get(second);
  EXPECT_EQ(hold.token(), same.token());
  EXPECT_EQ(hold.node(), same.node());
  hold.release();
  EXPECT_EQ(same.state(), HoldState::held);
  EXPECT_FALSE(is_free());
}

TEST_F(Reentrancy, LocksAndHoldsOfThread_AreCountedTogether) {
  Hold hold = mutex_.acquire();
  mutex_.lock();
  mutex_.lock();
  MultiMutex both(*client_, {kPath, "/other"});
  both.lock();
  EXPECT_EQ(mutex_.hold_count(), 4);
  mutex_.unlock();
  mutex_.unlock();
  auto elsewhere = in_thread([&] { hold.release(); });
  get(elsewhere);
  EXPECT_EQ(mutex_.hold_count(), 1);
  EXPECT_FALSE(another_thread_gets_it());
  mutex_.lock();
  both.unlock();
  EXPECT_EQ(mutex_.hold_count(), 1);
  EXPECT_FALSE(another_thread_gets_it());
  mutex_.unlock();
  EXPECT_TRUE(becomes_empty());
  EXPECT_EQ(error_of([&] { mutex_.unlock(); }), Errc::not_owner);
}

TEST_F(Reentrancy, LockLostByOneThread_AnotherThreadNests) {
  mutex_.lock();
  mutex_.lock();
  const std::vector<std::string> mine = nodes();
  ASSERT_EQ(mine.size(), 1U);
  ASSERT_EQ(raw().delete_node(kPath + "/" + mine.front()), 0);
  ASSERT_TRUE(eventually([&] { return !mutex_.is_held_by_this_thread(); }));
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::lock_lost);

  std::promise<void> locked;
  std::promise<void> go_on;
  auto next = in_thread([&] {
    mutex_.lock();
    mutex_.lock();
    locked.set_value();
    go_on.get_future().get();
    const int count = mutex_.hold_count();
    mutex_.unlock();
    mutex_.unlock();
    return count;
  });
  auto has_locked = locked.get_future();
  get(has_locked);
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::lock_lost);
  mutex_.unlock();
  mutex_.unlock();
  EXPECT_EQ(error_of([&] { mutex_.unlock(); }), Errc::not_owner);
  EXPECT_FALSE(mutex_.try_lock());
  go_on.set_value();
  EXPECT_EQ(get(next), 2);
  mutex_.lock();
  mutex_.lock();
  EXPECT_EQ(mutex_.hold_count(), 2);
  mutex_.unlock();
  EXPECT_FALSE(another_thread_gets_it());
  mutex_.unlock();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Reentrancy, MovedFromHold_IsEmptyAndSafe) {
  Hold source = mutex_.acquire();
  const FencingToken token = source.token();
  Hold target = std::move(source);
  Hold empty;
  for (Hold* hold : {&source, &empty}) {  // NOLINT(bugprone-use-after-move)
    EXPECT_FALSE(static_cast<bool>(*hold));
    EXPECT_EQ(hold->state(), HoldState::lost);
    EXPECT_LT(hold->token(), token);
    EXPECT_TRUE(hold->loss_token().stop_requested());
    EXPECT_EQ(hold->valid_until(), LeaseClock::time_point::min());
    EXPECT_FALSE(hold->is_valid());
    EXPECT_EQ(hold->node(), "");
    EXPECT_EQ(hold->expose_node(), "");
    EXPECT_EQ(hold->owner(), Owner::this_thread());
    EXPECT_EQ(hold->permits(), 0);
    EXPECT_FALSE(hold->release_request_token().stop_possible());
    EXPECT_FALSE(hold->renew());
    EXPECT_FALSE(hold->renew(1h));
    EXPECT_EQ(error_of([&] { return hold->renew(0ms); }), Errc::invalid_option);
    hold->release();
  }
  EXPECT_EQ(target.token(), token);
  EXPECT_EQ(target.permits(), 1);
  EXPECT_EQ(target.state(), HoldState::held);
  EXPECT_EQ(mutex_.hold_count(), 1);

  target = std::move(empty);  // releases its former hold
  EXPECT_EQ(mutex_.hold_count(), 0);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Reentrancy, SelfAssignedHold_IsRetained) {
  Hold hold = mutex_.acquire();
  Hold& alias = hold;
  hold = std::move(alias);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(mutex_.hold_count(), 1);
}

TEST_F(Reentrancy, MutexDestroyedWhileLocked_AnotherObjectUnlocks) {
  {
    ReentrantMutex mutex(*client_, "/other");
    mutex.lock();
  }
  ReentrantMutex again(*client_, "/other");
  EXPECT_TRUE(again.is_held_by_this_thread());
  again.unlock();
  EXPECT_TRUE(becomes_empty("/other"));
  auto ended = in_thread([this] { std::make_unique<ReentrantMutex>(*client_, "/other")->lock(); });
  get(ended);
  EXPECT_TRUE(becomes_empty("/other")) << "or until its thread ends";
}

}  // namespace
}  // namespace zklock::testing
