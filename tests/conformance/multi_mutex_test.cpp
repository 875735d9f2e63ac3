// SPDX-License-Identifier: Apache-2.0
// MultiMutex: several paths, all or none.
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "conformance/single_thread.h"
#include "support/coroutines.h"

namespace zklock::testing {
namespace {

static_assert(std::is_nothrow_default_constructible_v<MultiHold>);
static_assert(std::is_nothrow_move_constructible_v<MultiHold> &&
              std::is_nothrow_move_assignable_v<MultiHold> &&
              std::is_nothrow_destructible_v<MultiHold>);
static_assert(!std::copy_constructible<MultiHold> && !std::is_copy_assignable_v<MultiHold>);
static_assert(noexcept(std::declval<MultiHold&>().release()));
static_assert(!std::is_convertible_v<MultiHold, bool> && std::is_constructible_v<bool, MultiHold>);
static_assert(!std::copy_constructible<MultiMutex> && !std::move_constructible<MultiMutex>);
static_assert(!std::is_copy_assignable_v<MultiMutex> && !std::is_move_assignable_v<MultiMutex>);

class Multi : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  MultiMutex mutex_{*client_, {"/c", "/a", "/b"}};
  // Another client, which holds single paths.
  const std::unique_ptr<Client> other_ = connect();

  Hold take(const std::string& path) const {
    return ReentrantMutex(*other_, path).acquire({.deadline = kTestTimeout});
  }
  bool all_become_empty() {
    return becomes_empty("/a") && becomes_empty("/b") && becomes_empty("/c");
  }
  // Waits until the mutex holds /a and waits for /b behind the other client.
  bool waits_for_b() { return reaches_nodes(1, "/a") && reaches_nodes(2, "/b"); }
};

TEST_F(Multi, Acquire_ReturnsHoldsInCallerOrder) {
  MultiHold hold = mutex_.acquire();
  ASSERT_TRUE(static_cast<bool>(hold));
  ASSERT_EQ(hold.holds().size(), 3U);
  EXPECT_TRUE(hold[0].node().starts_with("/c/"));
  EXPECT_TRUE(hold[1].node().starts_with("/a/"));
  EXPECT_TRUE(hold[2].node().starts_with("/b/"));
  for (const Hold& single : hold.holds()) {
    EXPECT_EQ(single.state(), HoldState::held);
    EXPECT_GT(single.token(), FencingToken{});
    EXPECT_EQ(raw().exists(single.node()).rc, ZOK);
    EXPECT_GE(single.valid_until(), hold.valid_until());
  }
  EXPECT_LT(hold[1].token(), hold[2].token());  // acquired in the order of the paths
  EXPECT_LT(hold[2].token(), hold[0].token());
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_GT(hold.valid_until(), LeaseClock::now());
  EXPECT_FALSE(hold.loss_token().stop_requested());
  EXPECT_EQ(hold.owner(), Owner::this_thread());
  EXPECT_EQ(mutex_.paths(), (std::vector<std::string>{"/c", "/a", "/b"}));
  EXPECT_FALSE(static_cast<bool>(hold[3]));

  const std::stop_token lost = hold.loss_token();
  hold.release();
  EXPECT_FALSE(static_cast<bool>(hold));
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_TRUE(all_become_empty());
}

// A contender that is granted /a finds the other paths free.
TEST_F(Multi, Release_IsInReverseOrderOfAcquisition) {
  SingleThread executor;
  ClientOptions in_order = options();
  in_order.executor = std::ref(executor);
  const auto waiter = connect(in_order);
  Chronicle<std::string> granted;
  MultiHold hold = mutex_.acquire();
  std::vector<std::unique_ptr<ReentrantMutex>> singles;
  for (const std::string path : {"/a", "/b", "/c"}) {
    const auto& single = singles.emplace_back(std::make_unique<ReentrantMutex>(*waiter, path));
    single->async_acquire({}, [&granted, path](const Hold&, const auto&) { granted.add(path); });
    ASSERT_TRUE(reaches_nodes(2, path));
    // The waiter's first requests are answered before the first query, and it sets its watch before
    // the second one is answered.
    for (int i = 0; i < 2; ++i) ASSERT_EQ(single->participants().size(), 2U);
  }
  hold.release();
  ASSERT_TRUE(granted.reaches(3));
  EXPECT_EQ(granted.all(), (std::vector<std::string>{"/c", "/b", "/a"}));
}

TEST_F(Multi, EmptyHold_IsLostAndSafeToUse) {
  MultiHold none;
  EXPECT_FALSE(static_cast<bool>(none));
  EXPECT_EQ(none.state(), HoldState::lost);
  EXPECT_TRUE(none.loss_token().stop_requested());
  EXPECT_EQ(none.valid_until(), LeaseClock::time_point::min());
  EXPECT_TRUE(none.holds().empty());
  EXPECT_EQ(none[0].state(), HoldState::lost);
  none.release();
  MultiHold hold = mutex_.acquire();
  none = std::move(hold);
  EXPECT_TRUE(static_cast<bool>(none));
  none = MultiHold();
  EXPECT_TRUE(all_become_empty());
}

// ---- ends without a grant -----------------------------------------------------------------------

TEST_F(Multi, Timeout_LeavesNoNode) {
  for (const std::string path : {"/a", "/b", "/c"}) {
    const Hold hold = take(path);
    const auto deadline = LeaseClock::now() + 100ms;
    EXPECT_FALSE(mutex_.try_lock_until(deadline));
    EXPECT_GE(LeaseClock::now(), deadline);
    EXPECT_FALSE(mutex_.try_lock_for(50ms));
    EXPECT_FALSE(mutex_.try_lock());
    EXPECT_FALSE(static_cast<bool>(mutex_.acquire({.deadline = 50ms})));
    auto future = mutex_.async_acquire(AcquireOptions{.deadline = 50ms});
    EXPECT_FALSE(static_cast<bool>(get(future)));
    EXPECT_EQ(mutex_.hold_count(), 0);
    for (const std::string other : {"/a", "/b", "/c"}) {
      EXPECT_TRUE(reaches_nodes(other == path ? 1 : 0, other)) << other << " while " << path;
    }
    EXPECT_EQ(hold.state(), HoldState::held);
  }
}

TEST_F(Multi, StopWhileWaiting_LeavesAllQueues) {
  const Hold b = take("/b");
  std::stop_source stop;
  auto locking = in_thread([&] { return mutex_.lock(stop.get_token()); });
  ASSERT_TRUE(waits_for_b());
  stop.request_stop();
  EXPECT_FALSE(get(locking));
  EXPECT_TRUE(becomes_empty("/a"));
  EXPECT_TRUE(reaches_nodes(1, "/b"));
  EXPECT_EQ(raw().exists("/c").rc, ZNONODE);
}

TEST_F(Multi, ErrorAtOnePath_ReleasesTheOtherParts) {
  ACL_vector read_only = ZOO_READ_ACL_UNSAFE;
  ASSERT_EQ(raw().create("/b", "", 0, read_only).rc, ZOK);
  const std::string text = error_text_of([this] { mutex_.lock(); });
  EXPECT_TRUE(text.starts_with("lock /b: ")) << text;
  EXPECT_EQ(error_of([this] { return mutex_.acquire(); }), Errc::no_auth);
  auto future = mutex_.async_acquire();
  EXPECT_EQ(error_of([&] { return get(future); }), Errc::no_auth);
  EXPECT_EQ(mutex_.hold_count(), 0);
  EXPECT_TRUE(becomes_empty("/a"));
  EXPECT_EQ(raw().exists("/c").rc, ZNONODE);
}

// ---- counts and owners --------------------------------------------------------------------------

TEST_F(Multi, NestedLocks_AreCountedPerPath) {
  ReentrantMutex a(*client_, "/a");
  mutex_.lock();
  EXPECT_EQ(mutex_.hold_count(), 1);
  EXPECT_EQ(a.hold_count(), 1);
  mutex_.lock();
  MultiMutex two(*client_, {"/c", "/b"});
  two.lock();
  EXPECT_EQ(mutex_.hold_count(), 2);  // the lowest count of its paths
  EXPECT_EQ(two.hold_count(), 3);
  {
    const MultiHold nested = mutex_.acquire();
    EXPECT_EQ(mutex_.hold_count(), 3);
    EXPECT_EQ(nodes("/a").size(), 1U);
  }
  two.unlock();
  mutex_.unlock();
  EXPECT_TRUE(mutex_.is_held_by_this_thread());
  EXPECT_FALSE(is_free("/c"));
  MultiMutex(*client_, mutex_.paths()).unlock();  // counts belong to the paths, not to the object
  EXPECT_FALSE(mutex_.is_held_by_this_thread());
  EXPECT_TRUE(all_become_empty());
}

TEST_F(Multi, UnlockWithRefusedPaths_UnlocksTheOthers) {
  const auto refused = [&](const std::string& paths) {
    try {
      mutex_.unlock();
      ADD_FAILURE() << "nothing was thrown";
      return std::string();
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::not_owner);
      EXPECT_EQ(error.path(), paths);
      return std::string(error.what());
    }
  };
  {
    const MultiHold hold = mutex_.acquire();
    refused("/a, /b, /c");
    EXPECT_EQ(hold.state(), HoldState::held);
    EXPECT_EQ(mutex_.hold_count(), 1);
  }
  mutex_.lock();
  ReentrantMutex(*client_, "/a").unlock();
  ReentrantMutex(*client_, "/c").unlock();
  const std::string text = refused("/a, /c");
  EXPECT_TRUE(text.starts_with("unlock /a, /c: ")) << text;
  EXPECT_NE(text.find("the other locks were unlocked"), std::string::npos) << text;
  EXPECT_TRUE(all_become_empty());
}

// ---- the end of the object ----------------------------------------------------------------------

TEST_F(Multi, DestroyedWhileLocked_PartsStayLocked) {
  std::make_unique<MultiMutex>(*client_, mutex_.paths())->lock();
  EXPECT_FALSE(is_free("/a") || is_free("/b") || is_free("/c"));
  for (const std::string& path : mutex_.paths()) {
    ReentrantMutex part(*client_, path);
    EXPECT_TRUE(part.is_held_by_this_thread());
    part.unlock();
  }
  EXPECT_TRUE(all_become_empty());
  auto ended =
      in_thread([this] { std::make_unique<MultiMutex>(*client_, mutex_.paths())->lock(); });
  get(ended);
  EXPECT_TRUE(all_become_empty()) << "its thread has ended";
}

TEST_F(Multi, BlockingCallOnOnlyExecutorThread_Returns) {
  SingleThread executor;
  ClientOptions with_executor = options();
  with_executor.executor = [&](std::function<void()> task) { executor(std::move(task)); };
  const auto client = connect(with_executor);
  MultiMutex mutex(*client, {"/a", "/b"});
  Hold block = take("/b");
  std::promise<bool> locked;
  auto result = locked.get_future();
  executor([&] {
    mutex.lock();
    mutex.unlock();
    locked.set_value(true);
  });
  ASSERT_TRUE(reaches_nodes(2, "/b"));
  block.release();
  EXPECT_TRUE(get(result));
}

Task<MultiHold> acquire_with(MultiMutex::Awaitable awaitable) {
  MultiHold hold = co_await awaitable;
  co_return std::move(hold);
}

// The memory of the mutex is overwritten: the awaitable must not use it.
TEST_F(Multi, MutexDestroyedBeforeAwait_IsGranted) {
  alignas(MultiMutex) std::array<std::byte, sizeof(MultiMutex)> place{};
  auto* const mutex = ::new (place.data()) MultiMutex(*client_, {"/a", "/b"});
  auto awaitable = mutex->co_acquire();
  std::destroy_at(mutex);
  place.fill({});
  auto awaited = acquire_with(std::move(awaitable));
  EXPECT_EQ(get(awaited.result).state(), HoldState::held);
  EXPECT_TRUE(all_become_empty());
}

}  // namespace
}  // namespace zklock::testing
