// SPDX-License-Identifier: Apache-2.0
// LockObserver: the calls of its listeners.
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/lock_observer_fixture.h"
#include "conformance/lock_test.h"
#include "conformance/single_thread.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

// The client's executor drops its tasks. The observer has an executor of its own.
TEST_F(LockObserverTest, ClientExecutorDropsTasks_ObservesOnANewSession) {
  ClientOptions dropping = options();
  dropping.executor = [](const std::function<void()>&) {};
  observers_client_ = connect(dropping);
  SingleThread single;
  LockStateLog states;
  LockObserver observer(*observers_client_, kPath, std::ref(single));
  const Subscription subscription = observer.add_listener(states.listener());
  Hold hold = acquire();
  ASSERT_TRUE(states.last_becomes(hold));
  expire_session(chroot_.hosts(), observers_client_->session_id());
  hold.release();
  hold = acquire();
  EXPECT_TRUE(states.last_becomes(hold));
}

TEST_F(LockObserverTest, LongHold_ReportsItsTime) {
  ClientOptions quick = options();
  quick.session_timeout = 4s;
  const auto client = connect(quick);
  ReentrantMutex mutex(*client, kPath);
  LockObserver observer(*observers_client_, kPath);
  LockStateLog states;
  const Subscription subscription = observer.add_listener(states.listener());
  Hold hold = mutex.acquire();
  ASSERT_TRUE(states.last_becomes(hold));
  ASSERT_TRUE(states.wait_until_last([](const LockState& state) {
    return state.holders.size() == 1 && state.holders.front().held_since.has_value();
  }));
  EXPECT_EQ(states.states().back(), observer.state());
  EXPECT_EQ(states.states().back().holders.front().token, hold.token());
  hold.release();
  EXPECT_TRUE(states.last_becomes_free());
}

TEST_F(LockObserverTest, SlowListener_ReceivesTheNewestState) {
  LockObserver observer(*observers_client_, kPath);
  LockStateLog states;
  LockStateLog other_states;
  std::promise<void> entered;
  std::promise<void> go_on;
  const auto may_go_on = go_on.get_future().share();
  bool first = true;
  const Subscription slow = observer.add_listener([&](const LockState& state) {
    states.listener()(state);
    if (!std::exchange(first, false)) return;
    entered.set_value();
    may_go_on.wait();
  });
  auto inside = entered.get_future();
  get(inside);
  const Subscription quick = observer.add_listener(other_states.listener());
  Hold hold;
  for (int i = 0; i < 5; ++i) {
    hold.release();
    ASSERT_TRUE(other_states.last_becomes_free());
    hold = acquire();
    ASSERT_TRUE(other_states.last_becomes(hold));
  }
  EXPECT_EQ(states.count(), 1U);
  go_on.set_value();
  ASSERT_TRUE(states.last_becomes(hold));
  EXPECT_EQ(states.count(), 2U) << "what was between is left out";
}

// Neither cancel() nor the destructor of the observer returns during a call, and no call begins
// later.
TEST_F(LockObserverTest, RemovedDuringItsCall_WaitsForTheCall) {
  for (const bool by_destructor : {false, true}) {
    auto observer = std::make_unique<LockObserver>(*observers_client_, kPath);
    std::promise<void> entered;
    std::promise<void> go_on;
    const auto may_go_on = go_on.get_future().share();
    std::atomic<int> calls{0};
    std::atomic<bool> returned{false};
    Subscription subscription = observer->add_listener([&](const LockState&) {
      if (++calls == 1) entered.set_value();
      may_go_on.wait();
      returned = true;
    });
    auto inside = entered.get_future();
    get(inside);
    auto removed = in_thread([&] {
      by_destructor ? observer.reset() : subscription.cancel();
      return returned.load();
    });
    EXPECT_FALSE(is_ready(removed));
    go_on.set_value();
    EXPECT_TRUE(get(removed));
    LockStateLog other_states;
    LockObserver other(*observers_client_, kPath);
    const Subscription watching = other.add_listener(other_states.listener());
    Hold hold = acquire();
    ASSERT_TRUE(other_states.last_becomes(hold));
    EXPECT_EQ(calls, 1);
    // The next observer starts with a lock that does not change any more.
    hold.release();
    ASSERT_TRUE(becomes_empty());
  }
}

TEST_F(LockObserverTest, ListenerRemovesItselfAndTheObserver_NoDeadlock) {
  auto observer = std::make_unique<LockObserver>(*observers_client_, kPath);
  std::promise<void> done;
  auto finished = done.get_future();
  Subscription subscription;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  subscription = observer->add_listener([&](const LockState&) {
    { const std::lock_guard guard(mutex); }  // blocks until the subscription has been assigned
    subscription.cancel();
    observer.reset();
    done.set_value();
  });
  lock.unlock();
  get(finished);
}

TEST_F(LockObserverTest, ClientIsClosed_ListenerIsNotCalledAgain) {
  LockObserver observer(*observers_client_, kPath);
  LockStateLog states;
  const Subscription subscription = observer.add_listener(states.listener());
  ASSERT_TRUE(states.last_becomes_free());
  observers_client_->close();
  EXPECT_EQ(error_of([&] { return observer.state(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return observer.add_listener(states.listener()); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return LockObserver(*observers_client_, kPath).path(); }), Errc::closed);
  const auto before = states.count();
  const Hold hold = acquire();
  EXPECT_EQ(states.count(), before);
}

}  // namespace
}  // namespace zklock::testing
