// SPDX-License-Identifier: Apache-2.0
// Lock listeners: their threads, and that a blocked listener harms no other code.
// suite/events_test.cpp has the events.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/gate.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

using Texts = std::vector<std::string>;

class Listener : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
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

TEST_F(Listener, ThrowingListener_IsCalledAgain) {
  std::atomic<int> calls{0};
  ReentrantMutex mutex(*client_, "/throwing", {.listener = [&](const LockEvent&) {
    ++calls;
    throw std::runtime_error("of the listener");
  }});
  mutex.lock();
  mutex.unlock();
  EXPECT_TRUE(eventually([&] { return calls == 2; }, kTestTimeout));
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

TEST_F(Listener, ExecutorGiven_ListenerRunsOnIt) {
  std::mutex tasks_mutex;
  std::vector<std::function<void()>> tasks;
  EventLog log;
  ReentrantMutex mutex(*client_, "/own",
                       {.listener = log.listener(), .executor = [&](std::function<void()> task) {
                          const std::lock_guard guard(tasks_mutex);
                          tasks.push_back(std::move(task));
                        }});
  mutex.lock();
  mutex.unlock();
  const auto take = [&]() -> std::function<void()> {
    const std::lock_guard guard(tasks_mutex);
    if (tasks.empty()) return nullptr;
    auto task = std::move(tasks.back());
    tasks.pop_back();
    return task;
  };
  for (const Texts& expected : {Texts{"acquired"}, Texts{"acquired", "released"}}) {
    std::function<void()> task;
    ASSERT_TRUE(eventually([&] { return static_cast<bool>(task = take()); }, kTestTimeout));
    EXPECT_EQ(take(), nullptr) << "one at a time";
    task();
    EXPECT_EQ(log.texts(), expected);
  }
}

TEST_F(Listener, ObjectIsDestroyed_ListenerIsNotCalledAgain) {
  Gate gate;
  std::atomic<int> calls{0};
  std::atomic<bool> returned{false};
  Hold hold;
  auto destroyed = [&] {
    auto mutex = std::make_unique<ReentrantMutex>(*client_, "/short",
                                                  LockOptions{.listener = [&](const LockEvent&) {
                                                    ++calls;
                                                    gate.pass();
                                                    returned = true;
                                                  }});
    hold = mutex->acquire({.owner = Owner::unique()});
    EXPECT_TRUE(gate.reached_by(1));
    return in_thread([mutex = std::move(mutex), &returned]() mutable {
      mutex.reset();
      return returned.load();
    });
  }();
  gate.open();
  EXPECT_TRUE(get(destroyed)) << "it waits for the call that is in flight";
  hold.release();
  EXPECT_TRUE(client_->flush(kTestTimeout));
  mutex_.lock();
  mutex_.unlock();
  ASSERT_TRUE(log_.reaches({"acquired", "released"}));
  EXPECT_EQ(calls, 1);
}

TEST_F(Listener, ListenerDestroysItsObject_DoesNotDeadlock) {
  std::unique_ptr<ReentrantMutex> mutex;
  std::atomic<bool> destroyed{false};
  mutex = std::make_unique<ReentrantMutex>(*client_, "/self",
                                           LockOptions{.listener = [&](const LockEvent& event) {
                                             if (event.kind != LockEvent::Kind::released) return;
                                             mutex.reset();
                                             destroyed = true;
                                           }});
  mutex->acquire().release();
  EXPECT_TRUE(eventually([&] { return destroyed.load(); }, kTestTimeout));
}

}  // namespace
}  // namespace zklock::testing
