// SPDX-License-Identifier: Apache-2.0
// Semaphores: with a fixed count, and with a shared, changeable count.
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

static_assert(!std::copy_constructible<Semaphore> && !std::move_constructible<Semaphore>);

class SemaphoreTest : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  Semaphore semaphore_{*client_, kPath, 3};
  const std::unique_ptr<Client> other_ = connect();
  Semaphore others_semaphore_{*other_, kPath, 3};
};

TEST_F(SemaphoreTest, PermitsFree_AreGrantedUpToCount) {
  Permit two = semaphore_.acquire(2);
  Permit one = others_semaphore_.acquire();
  EXPECT_EQ(two.permits(), 2);
  EXPECT_EQ(one.permits(), 1);
  EXPECT_NE(one.token(), two.token());
  EXPECT_EQ(two.node(), kPath + "/permits-2-of-3-0000000000");
  EXPECT_FALSE(semaphore_.try_acquire());
  auto both = semaphore_.async_acquire(2);
  ASSERT_TRUE(reaches_nodes(3));
  one.release();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(both));
  two.release();
  EXPECT_EQ(get(both).permits(), 2);
}

TEST_F(SemaphoreTest, OneOfTwoExpires_OtherIsRetained) {
  const Permit kept = semaphore_.acquire(2);
  const Permit expiring = semaphore_.acquire({.max_hold = 200ms}, 1);
  const Permit next = others_semaphore_.acquire({.deadline = kTestTimeout}, 1);
  ASSERT_TRUE(next);
  EXPECT_EQ(expiring.state(), HoldState::lost);
  EXPECT_EQ(kept.state(), HoldState::held);
}

TEST_F(SemaphoreTest, WaiterForMany_IsNotOvertaken) {
  Permit first = semaphore_.acquire(1);
  auto many = others_semaphore_.async_acquire(3);
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(semaphore_.try_acquire(1)) << "a waiter is ahead, although two permits are free";
  auto few = semaphore_.async_acquire(1);
  ASSERT_TRUE(reaches_nodes(3));
  first.release();
  Permit all = get(many);
  EXPECT_FALSE(is_ready(few));
  const FencingToken token = all.token();
  all.release();
  EXPECT_GT(get(few).token(), token);
}

// ---- queries of the queue -----------------------------------------------------------------------

TEST_F(SemaphoreTest, Queries_ReportHoldersAndAvailablePermits) {
  EXPECT_EQ(semaphore_.permits(), 3);
  EXPECT_EQ(semaphore_.available_permits(), 3);
  const Owner owner = Owner::unique();
  Permit one = semaphore_.acquire({.owner = owner}, 1);
  EXPECT_EQ(others_semaphore_.available_permits(), 2);
  auto three = others_semaphore_.async_acquire(3);
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_EQ(semaphore_.available_permits(), 0) << "never less than none";
  auto late = semaphore_.async_acquire(1);
  ASSERT_TRUE(reaches_nodes(3));
  const auto all = semaphore_.participants();
  ASSERT_EQ(all.size(), 3U);
  const int wanted[] = {1, 3, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].access, Access::permits);
    EXPECT_EQ(all[i].permits, wanted[i]);
    EXPECT_EQ(all[i].holds, i == 0) << i;
  }
  EXPECT_EQ(all[0].owner, owner.to_string());
  one.release();
  EXPECT_TRUE(get(three));
  EXPECT_TRUE(get(late));
  ASSERT_TRUE(becomes_empty());
  EXPECT_EQ(semaphore_.available_permits(), 3);
}

// ---- bad input ----------------------------------------------------------------------------------

TEST_F(SemaphoreTest, DifferentPermitCount_IsRefused) {
  Semaphore four(*other_, kPath, 4);
  const Permit permit = semaphore_.acquire();
  EXPECT_EQ(error_text_of([&] { return four.acquire(); }),
            "lock /lock: a contender ahead is set to 3 permits, this contender to 4 permits; use "
            "equal settings [settings_mismatch]");
  EXPECT_EQ(error_of([&] { return four.try_acquire(); }), Errc::settings_mismatch);
  auto future = four.async_acquire();
  EXPECT_EQ(error_of([&] { return get(future); }), Errc::settings_mismatch);
  EXPECT_TRUE(reaches_nodes(1)) << "nothing of it is left";
  EXPECT_TRUE(others_semaphore_.try_acquire(2));
}

const std::string kCount = kPath + "/count";

class SemaphoreCount : public LockTest {
 protected:
  // Waits for `count` contenders; the path also has the `count` znode.
  bool reaches_contenders(std::size_t count) { return reaches_nodes(count + 1); }
  std::string said() { return raw().get_data(kCount).data; }
  void say(const std::string& data) { ASSERT_EQ(raw().set_data(kCount, data).rc, ZOK); }

  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
  Semaphore semaphore_{*client_, kPath, SharedCount{.initial = 2}};
  Semaphore others_semaphore_{*other_, kPath, SharedCount{.initial = 9}};
};

TEST_F(SemaphoreCount, FirstContender_SetsCountThatStays) {
  Permit two = semaphore_.acquire(2);
  EXPECT_EQ(two.node(), kPath + "/permits-2-0000000000");
  EXPECT_EQ(said(), "2");
  EXPECT_EQ(raw().get_data(kCount).stat.ephemeralOwner, 0);
  EXPECT_FALSE(others_semaphore_.try_acquire()) << "not nine";
  two.release();
  EXPECT_TRUE(reaches_contenders(0));
  EXPECT_EQ(others_semaphore_.permits(), 2);
  EXPECT_TRUE(others_semaphore_.acquire(2));
}

TEST_F(SemaphoreCount, CountRaised_GrantsWaiters) {
  const Permit held = semaphore_.acquire(2);
  std::vector<std::future<Permit>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(others_semaphore_.async_acquire());
  ASSERT_TRUE(reaches_contenders(4));
  semaphore_.set_permits(4);
  EXPECT_EQ(said(), "4");
  const Permit first = get(waiting[0]);
  const Permit second = get(waiting[1]);
  EXPECT_LT(held.token(), first.token());
  EXPECT_LT(first.token(), second.token());
  EXPECT_FALSE(is_ready(waiting[2]));
  EXPECT_EQ(others_semaphore_.add_permits(1), 5);
  EXPECT_TRUE(get(waiting[2]));
}

TEST_F(SemaphoreCount, CountLowered_HoldersRetainPermits) {
  Permit one = semaphore_.acquire();
  Permit two = others_semaphore_.acquire();
  semaphore_.set_permits(1);
  auto next = others_semaphore_.async_acquire();
  ASSERT_TRUE(reaches_contenders(3));
  EXPECT_EQ(one.state(), HoldState::held);
  EXPECT_EQ(two.state(), HoldState::held);
  EXPECT_EQ(semaphore_.available_permits(), 0) << "never less than none";
  one.release();
  ASSERT_TRUE(reaches_contenders(2));
  EXPECT_FALSE(semaphore_.try_acquire());
  EXPECT_FALSE(is_ready(next)) << "one is held, and there is one";
  two.release();
  EXPECT_TRUE(get(next));
}

TEST_F(SemaphoreCount, ConcurrentChanges_NoneIsLost) {
  std::vector<std::future<void>> threads;
  for (Semaphore* each : {&semaphore_, &others_semaphore_, &semaphore_, &others_semaphore_}) {
    threads.push_back(in_thread([each] {
      for (int i = 0; i < 10; ++i) each->add_permits(i % 2 == 0 ? 3 : -1);
    }));
  }
  for (auto& thread : threads) get(thread);
  const int sum = semaphore_.permits();
  EXPECT_TRUE(sum == 2 + 40 || sum == 9 + 40) << sum << ": the first contender sets the count";
}

TEST_F(SemaphoreCount, NoContenderYet_CountCanBeReadAndSet) {
  EXPECT_EQ(semaphore_.permits(), 2);
  EXPECT_EQ(others_semaphore_.available_permits(), 9);
  EXPECT_TRUE(semaphore_.participants().empty());
  EXPECT_EQ(raw().exists(kPath).rc, ZNONODE) << "reading changes nothing";
  Semaphore deep(*client_, "/a/b/c", SharedCount{.initial = 2});
  deep.set_permits(5);
  EXPECT_EQ(raw().get_data("/a/b/c/count").data, "5");
  EXPECT_EQ(semaphore_.add_permits(-2), 0);
  EXPECT_EQ(others_semaphore_.permits(), 0);
  EXPECT_EQ(error_text_of([&] { return semaphore_.add_permits(-3); }),
            "add permits to /lock: the permit count is 0; adding -3 leaves the range 0 to "
            "2147483647 [invalid_option]");
  semaphore_.set_permits(2);
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_EQ(error_of([&] { return semaphore_.add_permits(kMost); }), Errc::invalid_option);
}

TEST_F(SemaphoreCount, CountNode_IsNotListedAsContender) {
  const Owner owner = Owner::unique();
  Permit one = semaphore_.acquire({.owner = owner}, 1);
  auto two = others_semaphore_.async_acquire(2);
  ASSERT_TRUE(reaches_contenders(2));
  const auto all = semaphore_.participants();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].holds);
  EXPECT_EQ(all[0].owner, owner.to_string());
  EXPECT_FALSE(all[1].holds);
  EXPECT_EQ(all[1].permits, 2);
  EXPECT_EQ(semaphore_.available_permits(), 0);
  LockObserver observer(*client_, kPath);
  EXPECT_EQ(observer.state().waiting, 1U);
  EXPECT_EQ(observer.state().holders.size(), 1U);
  std::atomic<std::size_t> holding{0};
  const Subscription watching =
      observer.add_listener([&](const LockState& state) { holding = state.holders.size(); });
  EXPECT_TRUE(eventually([&] { return holding == 1; }, kTestTimeout));
  semaphore_.set_permits(4);
  EXPECT_TRUE(get(two));
  EXPECT_EQ(others_semaphore_.available_permits(), 3) << "that permit has been released";
  one.release();
  ASSERT_TRUE(reaches_contenders(0));
  EXPECT_TRUE(observer.state().is_free());
  EXPECT_EQ(semaphore_.available_permits(), 4);
}

TEST_F(SemaphoreCount, CountNodeUnreadable_ThrowsBadData) {
  Permit held = semaphore_.acquire(2);
  auto waits = others_semaphore_.async_acquire();
  ASSERT_TRUE(reaches_contenders(2));
  say("many");
  EXPECT_EQ(error_of([&] { return get(waits); }), Errc::bad_data);
  EXPECT_EQ(error_text_of([&] { return semaphore_.acquire(); }),
            "lock /lock: the znode count has the data \"many\", which is not a permit count; "
            "call set_permits() [bad_data]");
  EXPECT_EQ(error_text_of([&] { return semaphore_.permits(); }),
            "read the permits of /lock: the znode count has the data \"many\", which is not a "
            "permit count; call set_permits() [bad_data]");
  EXPECT_EQ(error_of([&] { return semaphore_.add_permits(1); }), Errc::bad_data);
  EXPECT_EQ(error_of([&] { return semaphore_.participants(); }), Errc::bad_data);
  EXPECT_EQ(said(), "many");
  EXPECT_TRUE(reaches_contenders(1));
  EXPECT_EQ(held.state(), HoldState::held);
  semaphore_.set_permits(3);
  EXPECT_TRUE(others_semaphore_.acquire());
}

TEST_F(SemaphoreCount, FixedAndSharedCount_ThrowSettingsMismatch) {
  Semaphore fixed(*client_, kPath, 2);
  Permit shared = semaphore_.acquire();
  EXPECT_EQ(error_of([&] { return fixed.acquire(); }), Errc::settings_mismatch);
  shared.release();
  ASSERT_TRUE(reaches_contenders(0));
  const Permit first = fixed.acquire();
  EXPECT_EQ(error_of([&] { return semaphore_.acquire(); }), Errc::settings_mismatch);
}

class SemaphoreCountAtAFrozenServer : public OwnServerTest {};

TEST_F(SemaphoreCountAtAFrozenServer, ChangeWithoutReply_ThrowsOutcomeUnknown) {
  const auto client = connect();
  Semaphore semaphore(*client, kPath, SharedCount{.initial = 1});
  semaphore.set_permits(2);
  server_.pause();
  EXPECT_EQ(error_of([&] { return semaphore.set_permits(5, 200ms), 0; }), Errc::outcome_unknown);
  server_.resume();
  EXPECT_TRUE(eventually([&] { return semaphore.permits() == 5; }, kTestTimeout)) << "it was sent";
}

class SemaphoreCountWatch : public OwnServerTest {};

TEST_F(SemaphoreCountWatch, CountNode_IsWatchedOnlyWhileWaiting) {
  const auto client = connect();
  const auto other = connect();
  Semaphore semaphore(*client, kPath, SharedCount{.initial = 1});
  Semaphore others(*other, kPath, SharedCount{.initial = 1});
  const Permit held = semaphore.acquire();
  EXPECT_FALSE(watched(server_, kCount)) << "a holder does not watch the count";
  auto waits = others.async_acquire();
  EXPECT_TRUE(eventually([&] { return watched(server_, kCount); }, kTestTimeout));
  semaphore.set_permits(2);
  const Permit second = get(waits);
  EXPECT_TRUE(eventually([&] { return !watched(server_, kCount); }, kTestTimeout));
  EXPECT_FALSE(others.acquire({.deadline = 50ms}, 1));
  EXPECT_TRUE(eventually([&] { return !watched(server_, kCount); }, kTestTimeout));
}

}  // namespace
}  // namespace zklock::testing
