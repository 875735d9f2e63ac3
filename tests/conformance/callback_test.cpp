// SPDX-License-Identifier: Apache-2.0
// Listeners and executors: their threads, and what a blocked call blocks.
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/event_log.h"
#include "conformance/gate.h"
#include "conformance/lock_test.h"
#include "conformance/single_thread.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class Listener : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  EventLog log_;
  ReentrantMutex mutex_{*client_, kPath, {.listener = log_.listener()}};
};

TEST_F(Listener, TwoObjects_ListenerOfTheCreatingObjectIsCalled) {
  EventLog second_log;
  ReentrantMutex second(*client_, kPath, {.listener = second_log.listener()});
  mutex_.lock();
  second.lock();  // nests
  mutex_.unlock();
  second.unlock();
  ASSERT_TRUE(log_.reaches({"acquired", "released"}));
  second.lock();
  second.unlock();
  EXPECT_TRUE(second_log.reaches({"acquired", "released"}));
  EXPECT_EQ(log_.texts().size(), 2U);
}

// More listeners than the client has threads for callbacks.
TEST_F(Listener, BlockedListeners_OtherCallbacksAndLeasesContinue) {
  constexpr int kMany = 12;
  Gate gate;
  std::vector<std::unique_ptr<ReentrantMutex>> blocked;
  const Gate::Opener opener(gate);
  std::vector<Hold> holds;
  for (int i = 0; i < kMany; ++i) {
    blocked.push_back(std::make_unique<ReentrantMutex>(
        *client_, "/blocked-" + std::to_string(i),
        LockOptions{.listener = [&](const LockEvent&) { gate.pass(); }}));
    holds.push_back(blocked.back()->acquire());
  }
  ASSERT_TRUE(gate.reached_by(kMany));
  auto granted = mutex_.async_acquire();
  EXPECT_TRUE(get(granted));
  EXPECT_TRUE(log_.reaches({"acquired", "released"}));
  std::atomic<bool> handled{false};
  mutex_.async_acquire({}, [&](const Hold&, const std::exception_ptr&) { handled = true; });
  EXPECT_TRUE(eventually([&] { return handled.load(); }, kTestTimeout));
  // The leases of the holds are still extended while the listeners block.
  const auto later = LeaseClock::now() + kSessionTimeout;
  for (const Hold& hold : holds) {
    EXPECT_TRUE(eventually([&] { return hold.valid_until() > later; }, kTestTimeout));
  }
  for (const Hold& hold : holds) EXPECT_EQ(hold.state(), HoldState::held);
  gate.open();
}

class ObjectExecutor : public LockTest {
 protected:
  // Returns an executor whose first call blocks until let_go().
  Executor blocking() {
    return [this](std::function<void()> task) {
      if (!entered_.exchange(true)) go_on_.wait();
      thread_(std::move(task));
    };
  }
  void let_go() {
    has_let_go_ = true;
    go_on_.count_down();
  }
  // Checks that the destructor of `object` waits for the executor call that is in flight.
  template <class Object>
  void expect_destruction_waits_for_the_call(std::unique_ptr<Object> object) {
    EXPECT_TRUE(eventually([this] { return entered_.load(); }, kTestTimeout));
    auto destroyed = in_thread([this, object = std::move(object)]() mutable {
      object.reset();
      return has_let_go_.load();
    });
    EXPECT_FALSE(eventually([&] { return is_ready(destroyed); }, 200ms));
    let_go();
    EXPECT_TRUE(get(destroyed));
  }

  std::atomic<bool> entered_{false};
  std::atomic<bool> has_let_go_{false};
  std::latch go_on_{1};
  SingleThread thread_;
  const std::unique_ptr<Client> client_ = connect();
};

TEST_F(ObjectExecutor, CalledForAMutex_DestructorWaits) {
  std::atomic<int> calls{0};
  auto mutex = std::make_unique<ReentrantMutex>(
      *client_, kPath,
      LockOptions{.listener = [&](const LockEvent&) { ++calls; }, .executor = blocking()});
  Hold hold = mutex->acquire();
  expect_destruction_waits_for_the_call(std::move(mutex));
  const int before = calls;
  hold.release();
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_EQ(calls, before) << "the object is destroyed";
}

TEST_F(ObjectExecutor, CalledForALatch_DestructorWaits) {
  auto latch = std::make_unique<LeaderLatch>(*client_, kPath, LatchOptions{.executor = blocking()});
  const auto subscription = latch->add_listener([](const Leadership&) {}, {});
  latch->start();
  expect_destruction_waits_for_the_call(std::move(latch));
}

TEST_F(ObjectExecutor, CalledForALockObserver_DestructorWaits) {
  auto observer = std::make_unique<LockObserver>(*client_, kPath, blocking());
  const auto subscription = observer->add_listener([](const LockState&) {});
  expect_destruction_waits_for_the_call(std::move(observer));
}

TEST_F(ObjectExecutor, CalledForAnElectionObserver_DestructorWaits) {
  auto observer = std::make_unique<ElectionObserver>(*client_, kPath, blocking());
  const auto subscription = observer->add_listener([](const ElectionState&) {});
  expect_destruction_waits_for_the_call(std::move(observer));
}

class ConnectionListener : public LockTest {
 protected:
  // Ends the session, and returns when the client has a new one. Then all listeners have received
  // `lost`.
  void expire() {
    Chronicle<ConnectionState> received;
    const auto subscription = client_->add_listener([&](ConnectionState s) { received.add(s); });
    expire_session(chroot_.hosts(), client_->session_id());
    ASSERT_TRUE(received.has(ConnectionState::connected));
  }

  const std::unique_ptr<Client> client_ = connect();
  std::atomic<int> calls_{0};
};

TEST_F(ConnectionListener, RemovedDuringItsCall_WaitsForTheCall) {
  std::promise<void> entered;
  std::latch go_on(1);
  std::atomic<bool> left{false};
  std::optional<Subscription> subscription(client_->add_listener([&](ConnectionState) {
    if (++calls_ > 1) return;
    entered.set_value();
    go_on.wait();
    left = true;
  }));
  expire();
  auto has_entered = entered.get_future();
  get(has_entered);
  auto removed = in_thread([&] {
    subscription.reset();
    return left.load();
  });
  EXPECT_FALSE(eventually([&] { return is_ready(removed); }, 200ms));
  go_on.count_down();
  EXPECT_TRUE(get(removed));
  EXPECT_EQ(calls_, 1) << "no call after the removal";
}

TEST_F(ConnectionListener, RemovedByItsOwnCall_IsNotCalledAgain) {
  std::optional<Subscription> subscription;
  std::promise<void> removed;
  subscription.emplace(client_->add_listener([&](ConnectionState) {
    if (++calls_ > 1) return;
    subscription.reset();
    removed.set_value();
  }));
  expire();
  auto has_removed = removed.get_future();
  get(has_removed);
  expire();
  EXPECT_EQ(calls_, 1);
}

TEST_F(ConnectionListener, ReplacedByAssignment_IsNotCalledAgain) {
  Chronicle<ConnectionState> received;
  Subscription subscription = client_->add_listener([&](ConnectionState) { ++calls_; });
  subscription = client_->add_listener([&](ConnectionState s) { received.add(s); });
  Subscription moved = std::move(subscription);
  expire();
  EXPECT_TRUE(received.has(ConnectionState::lost));
  moved.cancel();
  EXPECT_EQ(calls_, 0);
  const auto before = received.size();
  expire();
  EXPECT_EQ(received.size(), before);
}

}  // namespace
}  // namespace zklock::testing
