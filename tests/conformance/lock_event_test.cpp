// SPDX-License-Identifier: Apache-2.0
// Lock listeners: their events, their threads, and that a blocked listener harms no other code.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

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

TEST_F(Listener, GrantAndRelease_AreReported) {
  const Owner owner = Owner::unique();
  Hold hold = mutex_.acquire({.owner = owner});
  const auto token = hold.token();
  hold.release();
  ASSERT_TRUE(log_.reaches({"acquired", "released"}));
  for (const LockEvent& event : log_.all()) {
    EXPECT_EQ(event.path, kPath);
    EXPECT_EQ(event.owner, owner);
    EXPECT_EQ(event.token, token);
  }
}

TEST_F(Listener, NestedHolds_ReportFirstGrantAndLastRelease) {
  mutex_.lock();
  mutex_.lock();
  Hold hold = mutex_.acquire();
  hold.release();
  mutex_.unlock();
  ASSERT_TRUE(log_.reaches({"acquired"}));
  mutex_.unlock();
  mutex_.lock();
  mutex_.unlock();
  EXPECT_TRUE(log_.reaches({"acquired", "released", "acquired", "released"}));
}

TEST_F(Listener, ContenderWaits_QueuePositionsAreReported) {
  ReentrantMutex others(*other_, kPath);
  Hold holder = others.acquire();
  std::stop_source stop;
  auto between = others.async_acquire({.stop = stop.get_token()});
  ASSERT_TRUE(reaches_nodes(2));
  auto waiting = mutex_.async_acquire();
  ASSERT_TRUE(log_.reaches({"waiting 2"}));
  stop.request_stop();
  ASSERT_TRUE(log_.reaches({"waiting 2", "waiting 1"}));
  holder.release();
  Hold hold = get(waiting);
  EXPECT_EQ(log_.all().front().token, hold.token());
  hold.release();
  EXPECT_TRUE(log_.reaches({"waiting 2", "waiting 1", "acquired", "released"}));
  EXPECT_FALSE(get(between));
}

TEST_F(Listener, ContenderIsNotGranted_NoReleaseIsReported) {
  ReentrantMutex others(*other_, kPath);
  Hold holder = others.acquire();
  EXPECT_FALSE(mutex_.try_lock());
  std::stop_source stop;
  auto waiting = mutex_.async_acquire({.stop = stop.get_token()});
  ASSERT_TRUE(log_.reaches({"waiting 1"}));
  stop.request_stop();
  EXPECT_FALSE(get(waiting));
  holder.release();
  ASSERT_TRUE(becomes_empty());  // the next lock() need not wait
  mutex_.lock();
  mutex_.unlock();
  EXPECT_TRUE(log_.reaches({"waiting 1", "acquired", "released"}));
}

TEST_F(Listener, HoldIsLost_LossIsReportedOnce) {
  Hold hold = mutex_.acquire();
  expire_session(chroot_.hosts(), client_->session_id());
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
  hold.release();
  mutex_.lock();
  mutex_.unlock();
  EXPECT_TRUE(eventually(
      [&] {
        const Texts reported = log_.texts();
        return !reported.empty() && reported.back() == "released";
      },
      kTestTimeout));
  Texts texts = log_.texts();
  // The takeover first breaks the connection, which can be restored before the session ends.
  std::erase_if(texts, [](const auto& text) { return text == "suspended" || text == "resumed"; });
  EXPECT_EQ(texts, (Texts{"acquired", "lost", "acquired", "released"}));
}

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

// A gate at which listeners block.
class Gate {
 public:
  ~Gate() { open(); }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  bool reached(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTestTimeout, [&] { return arrived_ >= count; });
  }
  void open() {
    const std::lock_guard guard(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

// More listeners than the client has threads for callbacks.
TEST_F(Listener, BlockedListeners_OtherCallbacksAndLeasesContinue) {
  constexpr int kMany = 12;
  Gate gate;
  std::vector<std::unique_ptr<ReentrantMutex>> blocked;
  struct Opener {
    Gate& gate;
    ~Opener() { gate.open(); }  // before the mutexes' destructors wait for their listeners
  } const opener{gate};
  std::vector<Hold> holds;
  for (int i = 0; i < kMany; ++i) {
    blocked.push_back(std::make_unique<ReentrantMutex>(
        *client_, "/blocked-" + std::to_string(i),
        LockOptions{.listener = [&](const LockEvent&) { gate.pass(); }}));
    holds.push_back(blocked.back()->acquire());
  }
  ASSERT_TRUE(gate.reached(kMany));
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
    EXPECT_TRUE(gate.reached(1));
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

class ListenerOfABrokenConnection : public OwnServerTest {};

TEST_F(ListenerOfABrokenConnection, ServerRestarts_SuspendedAndResumedAreReported) {
  ClientOptions patient = options();
  patient.session_timeout = 60s;
  const auto client = connect(patient);
  EventLog log;
  ReentrantMutex mutex(*client, kPath, {.listener = log.listener()});
  Hold hold = mutex.acquire();
  server_.kill();
  ASSERT_TRUE(log.reaches({"acquired", "suspended"}));
  start_again(*client);
  EXPECT_TRUE(log.reaches({"acquired", "suspended", "resumed"}));
  hold.release();
  EXPECT_TRUE(log.reaches({"acquired", "suspended", "resumed", "released"}));
}

}  // namespace
}  // namespace zklock::testing
