// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: permits with a shared count.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;
using Request = LockWorld::Request;

class PathLockCountTest : public PathLockTest {
 protected:
  static constexpr int kInitial = 2;

  static Request permits(int wanted, int initial = kInitial) {
    return LockWorld::shared_permits(wanted, initial);
  }
  static Request within(Request request, Duration timeout) {
    request.timeout = timeout;
    return request;
  }
  void say(int number) {
    lock_.say_permits(number);
    run();
  }
  std::string count() {
    const Node* node = lock_.world().ensemble().find(LockWorld::count_path());
    return node ? node->data : "none";
  }
  void write(const std::string& data) {
    lock_.world().ensemble().set_data(LockWorld::count_path(), data);
    run();
  }
  void remove_count() {
    ASSERT_EQ(lock_.world().ensemble().remove(LockWorld::count_path()), Status::ok);
    run();
  }
};

// ---- requests -----------------------------------------------------------------------------------

TEST_F(PathLockCountTest, PermitsFree_CostsThreeRequests) {
  say(2);
  const auto first = granted(0, permits(1));
  EXPECT_EQ(client(0).requests(), 3U);
  EXPECT_EQ(client(0).requests(Kind::create_contender), 1U);
  EXPECT_EQ(client(0).requests(Kind::list_children), 1U);
  EXPECT_EQ(client(0).requests(Kind::get), 1U);
  const auto second = granted(1, permits(1));
  EXPECT_EQ(client(1).requests(), 3U) << "the same beside another";
  const auto third = waiting(2, permits(1));
  EXPECT_EQ(client(2).requests(), 6U) << "and two in its way, and the number, to be watched";
  release(first);
  EXPECT_TRUE(is_granted(third));
  release(second);
  release(third);
  expect_rest();
}

// ---- changes ------------------------------------------------------------------------------------

// The count changes between the list and the read of the count, at each step.
TEST(PathLockCount, ChangeAtAnyStep_IsNotMissed) {
  for (const int from : {0, 1, 2}) {
    for (const int to : {0, 1, 2}) {
      for (std::size_t at = 0; at < 40; ++at) {
        LockWorld lock(2);
        lock.connect_all();
        lock.say_permits(from);
        const auto first = lock.acquire(0, LockWorld::shared_permits(1, 9));
        const auto second = lock.acquire(1, LockWorld::shared_permits(1, 9));
        for (std::size_t i = 0; i < at; ++i) {
          std::vector<Step> steps = lock.world().steps();
          std::erase_if(steps, [](const Step& s) { return s.kind == Step::Kind::timer; });
          if (!steps.empty()) lock.world().run(steps[i % steps.size()]);
        }
        lock.say_permits(to);
        lock.world().run_all();
        ASSERT_EQ(lock.violation(), "") << from << to << at;
        const std::size_t granted =
            (lock.call(first).granted() ? 1U : 0U) + (lock.call(second).granted() ? 1U : 0U);
        EXPECT_GE(granted, static_cast<std::size_t>(to)) << from << to << at;
        EXPECT_LE(granted, static_cast<std::size_t>(std::max(from, to))) << from << to << at;
        lock.say_permits(2);
        lock.world().run_all();
        EXPECT_TRUE(lock.call(first).granted() && lock.call(second).granted());
        lock.release(first);
        lock.release(second);
        lock.world().run_for(2s);
        ASSERT_EQ(lock.violation_at_rest(), "") << from << to << at;
      }
    }
  }
}

// ---- an unreadable count -----------------------------------------------------------------------

TEST_F(PathLockCountTest, ReplyToWriteLost_CountIsWrittenOnce) {
  for (const bool carried_out : {true, false}) {
    if (carried_out) {
      lock_.world().lose_reply(0, Kind::transaction);
    } else {
      lock_.world().lose_request(0, Kind::transaction);
    }
    const auto call = lock_.acquire(0, permits(2));
    lock_.world().run_all();
    ASSERT_FALSE(client(0).is_connected());
    EXPECT_EQ(count(), carried_out ? "2" : "none");
    lock_.world().reconnect(0);
    run();
    EXPECT_TRUE(is_granted(call));
    EXPECT_EQ(count(), "2");
    release(call);
    expect_rest();
    remove_count();
  }
}

TEST_F(PathLockCountTest, CancelAtAnyStep_LeavesNothing) {
  for (std::size_t at = 0; at < 30; ++at) {
    const auto call = lock_.acquire(0, permits(1));
    run_steps(at);
    lock_.cancel(call);
    run();
    release(call);
    expect_rest();
    if (count() != "none") remove_count();
  }
}

}  // namespace
}  // namespace zklock::model
