// SPDX-License-Identifier: Apache-2.0
// Holding, waiting and releasing, for every class, on servers and on the simulation.
#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

class Basics : public SuiteTest {};
INSTANTIATE_TEST_SUITE_P(, Basics,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(Basics, LockFree_GrantsWithOneNodeAndHigherToken) {
  Client& client = connect();
  const auto lock = make(client);
  EXPECT_FALSE(environment().exists(kPath));  // the constructor sends no request
  FencingToken last;
  for (int round = 0; round < 3; ++round) {
    auto hold = acquire(*lock);
    EXPECT_TRUE(hold);
    EXPECT_EQ(hold.state(), HoldState::held);
    EXPECT_FALSE(hold.loss_token().stop_requested());
    EXPECT_GT(hold.token(), last);
    ASSERT_TRUE(reaches_nodes(1));
    EXPECT_EQ(hold.node(), node_at(0));
    last = hold.token();
    hold.release();
    EXPECT_EQ(hold.state(), HoldState::lost);
    EXPECT_TRUE(client.flush(kTestTimeout));
    EXPECT_TRUE(environment().nodes().empty());
  }
}

TEST_P(Basics, TwoContenders_SecondWaitsForFirst) {
  const auto lock = make(connect());
  const auto others = make(connect());
  auto first = rival_acquire(*others);
  auto waiting = async_acquire(*lock);
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(waiting));
  const FencingToken token = first.token();
  first.release();
  auto second = get(waiting);
  EXPECT_EQ(second.state(), HoldState::held);
  EXPECT_GT(second.token(), token);

  auto again = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(again));
  second.release();
  EXPECT_EQ(get(again).state(), HoldState::held);
}

TEST_P(Basics, DifferentOwners_ExcludeEachOtherUnlessShared) {
  const auto lock = make(connect());
  const auto others = make(connect());
  const auto hold = acquire(*lock);
  const bool shares = adapter().shares;
  EXPECT_EQ(static_cast<bool>(try_acquire(*lock)), shares);
  EXPECT_EQ(static_cast<bool>(try_acquire(*others)), shares);
  EXPECT_FALSE(rival_try_acquire(*others));
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(reaches_nodes(1));
}

TEST_P(Basics, SameOwner_NestsOrWaits) {
  Client& client = connect();
  const auto lock = make(client);
  const auto second_object = make(client);
  const Owner owner = Owner::unique();
  auto hold = acquire(*lock, {.owner = owner});
  if (adapter().nests) {
    auto future = async_acquire(*second_object, {.owner = owner});
    auto nested = get(future);
    EXPECT_EQ(nested.token(), hold.token());
    EXPECT_EQ(nested.node(), hold.node());
    EXPECT_TRUE(reaches_nodes(1));
    hold.release();
    EXPECT_EQ(nested.state(), HoldState::held);
    EXPECT_FALSE(rival_try_acquire(*lock));
  } else {
    auto waiting = async_acquire(*second_object, {.owner = owner});
    ASSERT_TRUE(reaches_nodes(2));
    EXPECT_FALSE(is_ready(waiting));
    hold.release();
    const auto next = get(waiting);
    EXPECT_EQ(next.state(), HoldState::held);
    if (adapter().named) {
      EXPECT_EQ(next.owner(), owner);
    }
  }
}

TEST_P(Basics, Waiters_AreGrantedInOrderOfArrival) {
  constexpr std::size_t kWaiters = 6;
  Client& first = connect();
  Client& second = connect();
  const auto lock = make(first);
  const auto others = make(second);
  auto hold = rival_acquire(*lock);
  std::vector<GrantFuture> waiting;
  for (std::size_t i = 0; i < kWaiters; ++i) {
    waiting.push_back(rival_async_acquire(i % 2 == 0 ? *others : *lock));
    ASSERT_TRUE(reaches_nodes(i + 2));  // it is enqueued
  }
  for (std::size_t i = 0; i < kWaiters; ++i) {
    const FencingToken before = hold.token();
    hold.release();
    hold = get(waiting[i]);
    EXPECT_GT(hold.token(), before);
    ASSERT_TRUE(reaches_nodes(kWaiters - i));
    for (std::size_t j = i + 1; j < kWaiters; ++j) EXPECT_FALSE(is_ready(waiting[j]));
  }
}

TEST_P(Basics, Handler_IsCalledOnceWithHold) {
  const auto lock = make(connect());
  std::promise<Grant> got;
  std::atomic<int> calls{0};
  lock->async_acquire({}, [&](Grant hold, const std::exception_ptr& error) {
    EXPECT_EQ(error, nullptr);
    if (++calls == 1) got.set_value(std::move(hold));
  });
  auto future = got.get_future();
  auto hold = get(future);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(static_cast<bool>(try_acquire(*lock)), adapter().shares);
  hold.release();
  EXPECT_TRUE(becomes_empty());
  EXPECT_EQ(calls, 1);
}

TEST_P(Basics, ReleaseByAnotherThread_Releases) {
  const auto lock = make(connect());
  const Owner request = Owner::unique();
  auto acquiring = in_thread([&] { return acquire(*lock, {.owner = request}); });
  auto hold = get(acquiring);
  if (adapter().named) {
    EXPECT_EQ(hold.owner(), request);
  }
  EXPECT_FALSE(rival_try_acquire(*lock));
  auto releasing = in_thread([moved = std::move(hold)]() mutable { moved.release(); });
  get(releasing);
  EXPECT_TRUE(becomes_empty());
}

TEST_P(Basics, MovedOrReleasedHold_ReleasesOnce) {
  const auto lock = make(connect());
  auto old = acquire(*lock);
  auto moved = std::move(old);
  EXPECT_FALSE(old);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(moved.state(), HoldState::held);
  moved.release();
  const auto newer = acquire(*lock);
  moved.release();
  old.release();
  EXPECT_EQ(newer.state(), HoldState::held);
  EXPECT_TRUE(environment().exists(newer.node()));
}

TEST_P(Basics, LockDestroyed_HoldIsRetained) {
  Client& client = connect();
  auto lock = make(client);
  auto hold = acquire(*lock);
  lock.reset();
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(environment().exists(hold.node()));
  hold.release();
  EXPECT_TRUE(becomes_empty());
}

TEST_P(Basics, LockAndUnlock_FollowThreadOwnership) {
  if (!adapter().has_lock) GTEST_SKIP() << "has no lock()";
  const auto lock = make(connect());
  const auto others = make(connect());
  EXPECT_EQ(error_of([&] { lock->unlock(); }), Errc::not_owner);
  lock->lock();
  EXPECT_TRUE(lock->is_locked());
  EXPECT_FALSE(rival_try_acquire(*others));
  auto elsewhere = in_thread([&] { return error_of([&] { lock->unlock(); }); });
  const auto refused = get(elsewhere);
  if (adapter().thread_owns) {
    EXPECT_EQ(refused, Errc::not_owner);
    EXPECT_TRUE(lock->is_locked());
    lock->unlock();
  } else {
    EXPECT_EQ(refused, std::nullopt);
  }
  EXPECT_FALSE(lock->is_locked());
  EXPECT_EQ(error_of([&] { lock->unlock(); }), Errc::not_owner);  // one unlock() too many
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(lock->try_lock());
  lock->unlock();
}

TEST_P(Basics, ThreadEndsWhileLocked_ReleasesItsLock) {
  if (!adapter().has_lock) GTEST_SKIP() << "has no lock()";
  const auto lock = make(connect());
  std::thread([&] {
    lock->lock();
    if (adapter().nests) lock->lock();
  }).join();
  if (adapter().thread_owns) {
    EXPECT_TRUE(becomes_empty());
  } else {
    EXPECT_TRUE(lock->is_locked());
    EXPECT_FALSE(rival_try_acquire(*lock));
    lock->unlock();
  }
}

TEST_P(Basics, SecondLockOfThread_NestsOrIsRefused) {
  if (!adapter().has_lock) GTEST_SKIP() << "has no lock()";
  const auto lock = make(connect());
  lock->lock();
  EXPECT_EQ(lock->try_lock(), adapter().nests);
  EXPECT_TRUE(reaches_nodes(1));
  if (adapter().nests) lock->unlock();
  EXPECT_TRUE(lock->is_locked());
  EXPECT_TRUE(environment().exists(node_at(0)));
  lock->unlock();
  EXPECT_FALSE(lock->is_locked());
  EXPECT_TRUE(becomes_empty());
}

TEST_P(Basics, LockAndHold_AreReleasedSeparately) {
  if (!adapter().has_lock || !adapter().nests)
    GTEST_SKIP() << "lock() and Hold have nothing in common";
  const auto lock = make(connect());
  auto hold = lock->acquire({});  // for the calling thread
  EXPECT_EQ(error_of([&] { lock->unlock(); }), Errc::not_owner);
  EXPECT_EQ(hold.state(), HoldState::held);
  lock->lock();
  hold.release();
  EXPECT_TRUE(lock->is_locked());
  EXPECT_TRUE(environment().exists(node_at(0)));
  lock->unlock();
  EXPECT_TRUE(becomes_empty());
}

TEST_P(Basics, Participants_AreListedInOrderOfArrival) {
  Client& client = connect();
  Client& other = connect();
  const auto lock = make(client);
  const auto others = make(other);
  EXPECT_TRUE(lock->participants().empty());
  const Owner first = Owner::unique();
  const Owner second = Owner::unique();
  auto hold = acquire(*lock, {.owner = first});
  ASSERT_TRUE(reaches_nodes(1));
  auto waiting = rival_async_acquire(*others, {.owner = second});
  ASSERT_TRUE(reaches_nodes(2));
  const auto all = lock->participants();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(kPath + "/" + all[0].node, hold.node());
  EXPECT_EQ(all[0].token, hold.token());
  if (adapter().named) {
    EXPECT_EQ(all[0].owner, first.to_string());
    EXPECT_EQ(all[1].owner, second.to_string());
  }
  EXPECT_EQ(all[0].application, "conformance");
  EXPECT_EQ(all[0].is_candidate, adapter().leads);
  EXPECT_EQ(all[1].is_candidate, adapter().leads);
  EXPECT_TRUE(all[0].holds);
  EXPECT_FALSE(all[1].holds);
  EXPECT_TRUE(all[0].mine);
  EXPECT_FALSE(all[1].mine);
  EXPECT_EQ(all[0].session_id, client.session_id());
  EXPECT_EQ(all[1].session_id, other.session_id());
  const auto of_other = others->participants();
  ASSERT_EQ(of_other.size(), 2U);
  EXPECT_FALSE(of_other[0].mine);
  EXPECT_TRUE(of_other[1].mine);
  hold.release();
  const auto next = get(waiting);
  EXPECT_GT(next.token(), all[0].token);
  if (adapter().keeps_node) {
    EXPECT_EQ(next.token(), all[1].token);
  }
}

TEST_P(Basics, QueuePosition_CountsContendersAhead) {
  if (!adapter().has_position) GTEST_SKIP() << "has no queue_position()";
  const auto lock = make(connect());
  const auto others = make(connect());
  const Owner holder = Owner::unique();
  const Owner waiter = Owner::unique();
  const auto becomes = [&](std::size_t position) {
    return environment().comes([&] { return lock->queue_position(waiter) == position; });
  };
  EXPECT_EQ(lock->queue_position(waiter), std::nullopt);
  auto hold = rival_acquire(*others, {.owner = holder});
  EXPECT_EQ(others->queue_position(holder), 0U);
  EXPECT_EQ(lock->queue_position(holder), std::nullopt) << "it holds at the other client";
  auto between = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(2));
  auto waiting = async_acquire(*lock, {.owner = waiter});
  ASSERT_TRUE(reaches_nodes(3));
  auto again = async_acquire(*lock, {.owner = waiter});
  ASSERT_TRUE(reaches_nodes(adapter().nests ? 3 : 4));
  EXPECT_TRUE(becomes(2)) << "the first contender of an owner counts";
  hold.release();
  hold = get(between);
  EXPECT_TRUE(becomes(1));
  hold.release();
  hold = get(waiting);
  EXPECT_TRUE(becomes(0));
}

TEST_P(Basics, BadPaths_AreRefusedWithoutRequests) {
  Client& client = connect();
  for (const std::string path : {"", "lock", "/", "/a//b", "/a/", "/a/../b", "/zookeeper/x"}) {
    EXPECT_EQ(error_of([&] { return make_at(path, client); }), Errc::invalid_path) << path;
  }
  EXPECT_FALSE(environment().exists("/a"));
}

TEST_P(Basics, ClientClosed_EveryCallThrowsClosed) {
  Client& client = connect();
  const auto lock = make(client);
  const auto others = make(connect());
  auto blocking = rival_acquire(*others);
  auto waiting = async_acquire(*lock);
  ASSERT_TRUE(reaches_nodes(2));
  environment().close(client);
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return acquire(*lock); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return try_acquire(*lock); }), Errc::closed);
  auto refused = async_acquire(*lock);
  EXPECT_EQ(error_of([&] { return get(refused); }), Errc::closed);
  EXPECT_EQ(error_of([&] { lock->async_acquire({}, [](const auto&, const auto&) {}); }),
            Errc::closed);
  EXPECT_EQ(error_of([&] { return lock->participants(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return make(client); }), Errc::closed);
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(blocking.state(), HoldState::held);
}

TEST_P(Basics, ClientClosed_HoldIsLostAndNotifiedOnce) {
  Client& client = connect();
  const auto lock = make(client);
  const auto others = make(connect());
  auto hold = acquire(*lock);
  const LossCounter losses(hold);
  auto waiting = rival_async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(2));
  environment().close(client);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_TRUE(environment().comes([&] { return losses.count() == 1; }));
  EXPECT_GT(get(waiting).token(), hold.token());
  hold.release();
  EXPECT_EQ(losses.count(), 1);
}

TEST_P(Basics, LockDestroyed_WakesItsWaiters) {
  Client& client = connect();
  auto lock = make(client);
  const auto others = make(connect());
  const auto blocking = rival_acquire(*others);
  auto waiting = async_acquire(*lock);
  ASSERT_TRUE(reaches_nodes(2));
  lock.reset();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_TRUE(reaches_nodes(1));
}

}  // namespace
}  // namespace zklock::testing
