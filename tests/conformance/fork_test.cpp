// SPDX-License-Identifier: Apache-2.0
// fork(): the child cannot use the parent's client; the parent keeps everything.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/fork_and.h"
#include "conformance/lock_test.h"
#include "zklock/core/sanitizers.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

// Returns the position, from 1, of the first call that does not throw Errc::forked. 0: all of them
// throw it.
int first_that_is_not_forked(const std::vector<std::function<void()>>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (error_of(calls[i]) != Errc::forked) return static_cast<int>(i) + 1;
  }
  return 0;
}

class Fork : public LockTest {
 protected:
  std::unique_ptr<Client> client_ = connect();
  std::unique_ptr<ReentrantMutex> mutex_ = std::make_unique<ReentrantMutex>(*client_, kPath);
};

TEST_F(Fork, CallsInTheChild_ThrowForkedAndHoldNothing) {
  MultiMutex both(*client_, {"/a", "/b"});
  MultiHold both_held = both.acquire();
  mutex_->lock();
  const Hold hold = mutex_->acquire();
  const auto child = fork_and([&] {
    if (mutex_->is_held_by_this_thread() || mutex_->hold_count() != 0) return -1;
    if (both_held.state() != HoldState::lost || both.hold_count() != 0) return -2;
    if (client_->is_connected()) return -3;
    const std::string text = error_text_of([this] { mutex_->lock(); });
    if (text !=
        "lock /lock: the client belongs to the parent process; make a Client after fork() "
        "[forked]") {
      return -4;
    }
    both_held.release();
    return first_that_is_not_forked({
        [this] { mutex_->lock(); },
        [this] { static_cast<void>(mutex_->lock(std::stop_token{})); },
        [this] { static_cast<void>(mutex_->try_lock()); },
        [this] { static_cast<void>(mutex_->try_lock_for(1s)); },
        [this] { static_cast<void>(mutex_->acquire()); },
        [this] { static_cast<void>(mutex_->acquire({.deadline = Deadline::passed()})); },
        [this] { mutex_->unlock(); },
        [this] { mutex_->async_acquire({}, [](const Hold&, const std::exception_ptr&) {}); },
        [this] { static_cast<void>(mutex_->async_acquire().get()); },
        [this] { static_cast<void>(mutex_->participants()); },
        [this] { static_cast<void>(mutex_->queue_position()); },
        [this] { const ReentrantMutex another(*client_, "/another"); },
        [this] { static_cast<void>(client_->wait_until_connected(1s)); },
        [this] { static_cast<void>(client_->flush(1s)); },
        [this] { static_cast<void>(client_->add_listener([](ConnectionState) {})); },
        [this] { static_cast<void>(client_->metrics()); },
        [this] { static_cast<void>(client_->health()); },
        [&] { both.lock(); },
        [&] { both.unlock(); },
        [&] { static_cast<void>(both.acquire()); },
        [&] { static_cast<void>(both.async_acquire().get()); },
    });
  });
  EXPECT_EQ(child, 0);
  EXPECT_EQ(mutex_->hold_count(), 2);
  EXPECT_EQ(both_held.state(), HoldState::held);
  EXPECT_FALSE(is_free());
  mutex_->unlock();
}

// The child gives up the last reference to the path without a mutex of the parent.
TEST_F(Fork, EmptyHold_IsEmptyInTheChild) {
  const auto other = connect();
  ReentrantMutex others_mutex(*other, kPath);
  const Hold holder = others_mutex.acquire();
  auto refused =
      std::make_optional(ReentrantMutex(*client_, kPath).acquire({.deadline = Deadline::passed()}));
  mutex_.reset();
  const auto child = fork_and([&] {
    if (refused->blocked_by() != LockState()) return 1;
    refused.reset();
    return 0;
  });
  EXPECT_EQ(child, 0);
  EXPECT_EQ(refused->blocked_by(kTestTimeout).holding, 1U);
}

// Other threads may be anywhere in the library at the moment of the fork().
TEST_F(Fork, BusyParent_QueryInTheChildReturns) {
  Mutex mutex(*client_, "/plain");
  mutex.lock();
  std::atomic<bool> over{false};
  std::vector<std::future<void>> busy;
  for (int i = 0; i < 3; ++i) {
    busy.push_back(in_thread([&] {
      while (!over) EXPECT_TRUE(mutex.is_locked());
    }));
  }
  for (int i = 0; i < 20; ++i) {
    const auto child = fork_and([&] { return mutex.is_locked() ? 1 : 0; });
    EXPECT_EQ(child, 0);
    if (child != 0) break;
  }
  over = true;
  for (auto& each : busy) get(each);
  EXPECT_TRUE(mutex.is_locked());
  mutex.unlock();
}

// An awaitable that was never started keeps what remains of its mutex.
TEST_F(Fork, BusyParent_ChildDestroysAwaitables) {
  MultiMutex both(*client_, {"/first", "/second"});
  std::atomic<bool> over{false};
  std::vector<std::future<void>> busy;
  for (int i = 0; i < 3; ++i) {
    busy.push_back(in_thread([&] {
      while (!over) {
        if (both.try_lock()) both.unlock();
        if (mutex_->try_lock()) mutex_->unlock();
      }
    }));
  }
  for (int i = 0; i < 20; ++i) {
    auto of_mutex = std::make_optional(ReentrantMutex(*client_, kPath).co_acquire());
    auto of_both = std::make_optional(MultiMutex(*client_, {"/first", "/second"}).co_acquire());
    const auto child = fork_and([&] {
      of_mutex.reset();
      of_both.reset();
      return 0;
    });
    EXPECT_EQ(child, 0);
    if (child != 0) break;
  }
  over = true;
  for (auto& each : busy) get(each);
}

TEST_F(Fork, DestructorsInTheChild_DoNotReleaseTheParentsHold) {
  mutex_->lock();
  std::optional<Hold> hold(mutex_->acquire());
  std::optional<Hold> second(mutex_->acquire());
  std::optional<Subscription> subscription(client_->add_listener([](ConnectionState) {}));
  const auto child = fork_and([&] {
    second->release();
    hold.reset();
    second.reset();
    subscription.reset();
    mutex_.reset();
    client_->close();
    client_.reset();
    return 0;
  });
  EXPECT_EQ(child, 0);

  // Later than any lease that the requests sent so far can give. Reaching it shows that the
  // connection and the heartbeats still work.
  const auto later = LeaseClock::now() + client_->session_timeout();
  EXPECT_TRUE(eventually([&] { return hold->valid_until() > later; }, kTestTimeout));
  EXPECT_EQ(mutex_->hold_count(), 3);
  EXPECT_TRUE(client_->is_connected());
  EXPECT_FALSE(is_free());
  hold.reset();
  second.reset();
  mutex_->unlock();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Fork, ThreadOfTheParentWaits_IsGrantedAfterTheFork) {
  const auto other = connect();
  ReentrantMutex others_mutex(*other, kPath);
  Hold others_hold = others_mutex.acquire();
  auto waiting = in_thread([this] { return mutex_->acquire({.deadline = kTestTimeout}); });
  ASSERT_TRUE(reaches_nodes(2));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(fork_and([&] {
                mutex_.reset();
                client_.reset();
                return 0;
              }),
              0);
  }
  EXPECT_FALSE(is_ready(waiting));
  others_hold.release();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
}

// Returns 0 if every query of the hold reports the loss.
int first_that_is_not_lost(const Hold& hold) {
  if (hold.state() != HoldState::lost) return 1;
  if (!hold.loss_token().stop_requested()) return 2;
  if (hold.valid_until() != LeaseClock::time_point::min()) return 3;
  return 0;
}

TEST_F(Fork, HoldOfTheParent_IsLostInTheChildOnly) {
  const Hold hold = mutex_->acquire();
  const std::stop_token lost = hold.loss_token();
  EXPECT_EQ(fork_and([&] { return first_that_is_not_lost(hold); }), 0);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_FALSE(hold.loss_token().stop_requested());
  EXPECT_GT(hold.valid_until(), LeaseClock::now());
}

TEST_F(Fork, ClosedOrDestroyedClient_ChildDestroysItsObjects) {
  for (const bool destroyed : {false, true}) {
    client_ = connect();
    mutex_ = std::make_unique<ReentrantMutex>(*client_, kPath);
    mutex_->lock();
    std::optional<Hold> hold(mutex_->acquire());
    std::optional<Subscription> subscription(client_->add_listener([](ConnectionState) {}));
    destroyed ? client_.reset() : client_->close();
    EXPECT_EQ(fork_and([&] {
                const int wrong = first_that_is_not_lost(*hold);
                hold.reset();
                subscription.reset();
                mutex_.reset();
                client_.reset();
                return wrong;
              }),
              0);
    EXPECT_EQ(hold->state(), HoldState::lost);
  }
}

// The listener runs in the parent only. In the child its call never ends.
TEST_F(Fork, ListenerRuns_ChildDropsTheSubscription) {
  std::promise<void> entered;
  std::promise<void> go_on;
  std::atomic<bool> first{true};
  std::optional<Subscription> subscription(client_->add_listener([&](ConnectionState) {
    if (!first.exchange(false)) return;
    entered.set_value();
    go_on.get_future().wait_for(kTestTimeout);
  }));
  expire_session(chroot_.hosts(), client_->session_id());
  auto has_entered = entered.get_future();
  get(has_entered);
  EXPECT_EQ(fork_and([&] {
              subscription.reset();
              return 0;
            }),
            0);
  go_on.set_value();
}

// A child that creates its own client is another owner than its parent, though its thread has the
// pthread_t of the parent's.
TEST_F(Fork, ChildWithItsOwnClient_IsAnotherOwner) {
#if ZKLOCK_THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer does not allow threads in a forked child";
#endif
  mutex_->lock();
  const Owner parent = Owner::this_thread();
  const auto child = fork_and([&] {
    if (Owner::this_thread() == parent) return 1;
    Client client(options());
    ReentrantMutex mutex(client, kPath);
    if (mutex.try_lock()) return 2;
    if (mutex.is_held_by_this_thread() || mutex.hold_count() != 0) return 4;
    if (error_of([&] { mutex.unlock(); }) != Errc::not_owner) return 5;
    const auto all = mutex.participants();
    if (all.size() != 1 || all[0].mine) return 6;
    ReentrantMutex another(client, "/another");
    if (!another.try_lock_for(kTestTimeout)) return 3;
    another.unlock();
    return 0;
  });
  EXPECT_EQ(child, 0);
  EXPECT_TRUE(mutex_->is_held_by_this_thread());
}

// The client's session thread may be opening the connection at the moment of the fork().
TEST_F(Fork, ClientOfTheParentConnects_ChildCanConnect) {
#if ZKLOCK_THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer does not allow threads in a forked child";
#endif
#if ZKLOCK_ADDRESS_SANITIZER
  GTEST_SKIP() << "at the fork(), another thread may hold AddressSanitizer's own mutex";
#endif
  for (int round = 0; round < 20; ++round) {
    const Client parents(options());
    EXPECT_EQ(fork_and([this] {
                Client childs(options());
                return childs.wait_until_connected(kTestTimeout) ? 0 : 1;
              }),
              0);
  }
}

}  // namespace
}  // namespace zklock::testing
