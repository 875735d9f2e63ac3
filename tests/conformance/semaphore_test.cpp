// SPDX-License-Identifier: Apache-2.0
#include <concepts>
#include <memory>
#include <sstream>
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

TEST_F(SemaphoreTest, MutexOnSamePath_TakesAllPermits) {
  Mutex mutex(*other_, kPath);
  mutex.lock();
  EXPECT_FALSE(semaphore_.try_acquire());
  EXPECT_EQ(semaphore_.available_permits(), 0);
  mutex.unlock();
  ASSERT_TRUE(becomes_empty());
  const Permit one = semaphore_.acquire();
  EXPECT_FALSE(mutex.try_lock());
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

TEST_F(SemaphoreTest, ZeroOrTooManyPermits_AreRefusedWithoutRequests) {
  for (const int wanted : {0, -1, 4, 2'000'000'000}) {
    const std::string text = "acquire /lock: a call can acquire from 1 to 3 permits, not " +
                             std::to_string(wanted) + " [invalid_option]";
    EXPECT_EQ(error_text_of([&] { return semaphore_.acquire(wanted); }), text);
    EXPECT_EQ(error_of([&] { return semaphore_.try_acquire(wanted); }), Errc::invalid_option);
    EXPECT_EQ(error_of([&] { return semaphore_.async_acquire(wanted).get(); }),
              Errc::invalid_option);
  }
  EXPECT_EQ(raw().exists(kPath).rc, ZNONODE);
  for (const int permits : {0, -3}) {
    EXPECT_EQ(error_text_of([&] { return Semaphore(*client_, kPath, permits).permits(); }),
              "create the semaphore /lock: the semaphore must have at least one permit, not " +
                  std::to_string(permits) + " [invalid_option]");
  }
  EXPECT_EQ(error_of([&] { return Semaphore(*client_, "lock", 1).permits(); }), Errc::invalid_path);
}

// ---- watches ------------------------------------------------------------------------------------

class SemaphoreWatches : public OwnServerTest {};

TEST_F(SemaphoreWatches, Waiter_WatchesOnlyConflictingPredecessors) {
  const auto client = connect();
  const auto other = connect();
  const auto late = connect();
  Semaphore semaphore(*client, kPath, 3);
  Semaphore others(*other, kPath, 3);
  Semaphore lates(*late, kPath, 3);
  std::vector<Permit> held;
  for (int i = 0; i < 3; ++i) held.push_back(semaphore.acquire());
  const auto session = [](const Client& of) {
    std::ostringstream text;
    text << "0x" << std::hex << of.session_id();
    return text.str();
  };
  // Returns how many paths the session watches. A contender watches its own znode only after one
  // tick.
  const auto watches = [&](const Client& of) {
    const std::string answer = query_server(server_, "wchp");
    std::size_t count = 0;
    for (auto at = answer.find(session(of)); at != std::string::npos;
         at = answer.find(session(of), at + 1)) {
      ++count;
    }
    return count;
  };
  auto one = others.async_acquire(1);
  ASSERT_TRUE(reaches_nodes(4));
  EXPECT_TRUE(eventually([&] { return watches(*other) >= 3; }, kTestTimeout));
  EXPECT_LE(watches(*other), 4U) << "three in its way, and its own node after a while";
  auto all = lates.async_acquire(3);
  ASSERT_TRUE(reaches_nodes(5));
  EXPECT_TRUE(eventually([&] { return watches(*late) >= 1; }, kTestTimeout));
  EXPECT_LE(watches(*late), 2U) << "the nearest one is enough where all are wanted";
  held.pop_back();
  Permit next = get(one);
  EXPECT_TRUE(eventually([&] { return watches(*other) <= 2; }, kTestTimeout)) << "of its hold only";
  held.clear();
  next.release();
  EXPECT_EQ(get(all).permits(), 3);
}

}  // namespace
}  // namespace zklock::testing
