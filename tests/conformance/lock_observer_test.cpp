// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/single_thread.h"
#include "support/expire_session.h"

namespace zklock::testing {
namespace {

// Records the states that its listener receives.
class Told {
 public:
  LockObserver::Listener listener() {
    return [this](const LockState& state) {
      const std::lock_guard guard(mutex_);
      states_.push_back(state);
      changed_.notify_all();
    };
  }
  template <class Predicate>
  [[nodiscard]] bool wait_until_last(Predicate predicate) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience,
                             [&] { return !states_.empty() && predicate(states_.back()); });
  }
  [[nodiscard]] bool last_becomes_free() {
    return wait_until_last([](const LockState& s) { return s.is_free() && s.waiting == 0; });
  }
  // Waits until the last state has one holder, the one with the token of `hold`.
  [[nodiscard]] bool last_becomes(const Hold& hold, std::size_t waiting = 0) {
    return wait_until_last([&](const LockState& s) {
      return s.holders.size() == 1 && s.holders.front().token == hold.token() &&
             s.waiting == waiting;
    });
  }
  std::vector<LockState> states() const {
    const std::lock_guard guard(mutex_);
    return states_;
  }
  std::size_t count() const { return states().size(); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LockState> states_;  // guarded by mutex_
};

class LockObserverTest : public LockTest {
 protected:
  Hold acquire() { return mutex_.acquire({.owner = Owner::unique(), .deadline = kPatience}); }

  std::unique_ptr<Client> client_ = connect();
  std::unique_ptr<Client> observers_client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(LockObserverTest, State_HasTheHolderAndTheNumberOfWaiters) {
  const LockObserver observer(*observers_client_, kPath);
  const LockObserver holders(*client_, kPath);
  EXPECT_EQ(observer.path(), kPath);
  EXPECT_EQ(observer.state(), LockState()) << "there is no such path yet";
  Hold hold = acquire();
  auto waiting = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  const LockState state = observer.state();
  ASSERT_EQ(state.holders.size(), 1U);
  const Participant& holder = state.holders.front();
  EXPECT_EQ(state.waiting, 1U);
  EXPECT_EQ(kPath + "/" + holder.node, hold.node());
  EXPECT_EQ(holder.token, hold.token());
  EXPECT_EQ(holder.session_id, client_->session_id());
  EXPECT_EQ(holder.application, "conformance");
  EXPECT_TRUE(holder.holds);
  EXPECT_FALSE(holder.mine);
  EXPECT_TRUE(holders.state().holders.at(0).mine);
  EXPECT_EQ(mutex_.participants().front().node, holder.node);
  hold.release();
  hold = get(waiting);
  EXPECT_EQ(observer.state().holders.at(0).token, hold.token());
  EXPECT_EQ(observer.state().waiting, 0U);
  hold.release();
  ASSERT_TRUE(becomes_empty());
  EXPECT_TRUE(observer.state().is_free()) << "there is the path, and nobody in the queue";
}

// Returns the participants that hold.
std::vector<Participant> holders_among(std::vector<Participant> participants) {
  std::erase_if(participants, [](const Participant& p) { return !p.holds; });
  return participants;
}

TEST_F(LockObserverTest, SharedMutex_StateHasAllReadersAndTheWaiters) {
  const LockObserver observer(*client_, kPath);
  LockObserver listening(*client_, kPath);
  Told told;
  const Subscription subscription = listening.add_listener(told.listener());
  SharedMutex mutex(*client_, kPath);
  SharedMutex others(*observers_client_, kPath);
  Hold first = mutex.acquire_shared({.owner = Owner::unique(), .deadline = kPatience});
  Hold second = others.acquire_shared({.owner = Owner::unique(), .deadline = kPatience});
  auto writer = mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  auto reader = mutex.async_acquire_shared();
  ASSERT_TRUE(reaches_nodes(4));
  const LockState state = observer.state();
  ASSERT_EQ(state.holders.size(), 2U);
  EXPECT_EQ(state.holders, holders_among(mutex.participants()));
  EXPECT_EQ(state.holders[0].token, first.token());
  EXPECT_EQ(state.holders[1].token, second.token());
  EXPECT_EQ(state.holders[0].access, Access::shared);
  EXPECT_TRUE(state.holders[0].mine);
  EXPECT_FALSE(state.holders[1].mine);
  EXPECT_EQ(state.waiting, 2U) << "a reader behind a writer waits too";
  EXPECT_TRUE(told.wait_until_last([&](const LockState& s) { return s == state; }));
  first.release();
  second.release();
  const Hold writing = get(writer);
  ASSERT_TRUE(told.last_becomes(writing, 1));
  EXPECT_EQ(told.states().back().holders[0].access, Access::exclusive);
}

TEST_F(LockObserverTest, Semaphore_StateHasTheHoldersAndTheirPermits) {
  const LockObserver observer(*client_, kPath);
  Semaphore semaphore(*client_, kPath, 4);
  Permit one = semaphore.acquire(1);
  Permit two = semaphore.acquire(2);
  auto more = semaphore.async_acquire(3);
  ASSERT_TRUE(reaches_nodes(3));
  const LockState state = observer.state();
  ASSERT_EQ(state.holders.size(), 2U);
  EXPECT_EQ(state.holders, holders_among(semaphore.participants()));
  EXPECT_EQ(state.holders[0].permits, 1);
  EXPECT_EQ(state.holders[1].permits, 2);
  EXPECT_EQ(state.holders[1].access, Access::permits);
  EXPECT_EQ(state.waiting, 1U);
  EXPECT_FALSE(state.is_free());
  one.release();
  two.release();
  const Permit three = get(more);
  ASSERT_EQ(observer.state().holders.size(), 1U);
  EXPECT_EQ(observer.state().holders[0].permits, 3);
}

// A contender that waits at a PriorityMutex can have a lower sequence number than the holder.
TEST_F(LockObserverTest, PriorityMutex_StateHasTheHolderNotTheFirstInQueue) {
  PriorityMutex mutex(*client_, kPath);
  Hold hold = mutex.acquire({.owner = Owner::unique()});
  auto light = mutex.async_acquire({}, 1);
  auto heavy = mutex.async_acquire({}, 9);
  ASSERT_TRUE(eventually([&] { return mutex.participants().size() == 3; }, kPatience));
  hold.release();
  hold = get(heavy);
  const LockState state = LockObserver(*client_, kPath).state();
  ASSERT_EQ(state.holders.size(), 1U);
  EXPECT_EQ(state.holders[0].token, hold.token());
  EXPECT_EQ(state.waiting, 1U);
  EXPECT_TRUE(state.holders[0].mine);
  hold.release();
  EXPECT_TRUE(get(light));
}

TEST_F(LockObserverTest, ExecutorGiven_ListenerRunsOnIt) {
  Told told;
  std::promise<std::thread::id> thread;
  SingleThread single;
  single([&] { thread.set_value(std::this_thread::get_id()); });
  const auto expected = thread.get_future().get();
  std::atomic<bool> elsewhere{false};
  LockObserver observer(*observers_client_, kPath, std::ref(single));
  const Subscription subscription = observer.add_listener([&](const LockState& state) {
    if (std::this_thread::get_id() != expected) elsewhere = true;
    told.listener()(state);
  });
  const Hold hold = acquire();
  ASSERT_TRUE(told.last_becomes(hold));
  EXPECT_FALSE(elsewhere);
}

// The client's executor drops its tasks. The observer has an executor of its own.
TEST_F(LockObserverTest, ClientExecutorDropsTasks_ObservesOnANewSession) {
  ClientOptions dropping = options();
  dropping.executor = [](const std::function<void()>&) {};
  observers_client_ = connect(dropping);
  SingleThread single;
  Told told;
  LockObserver observer(*observers_client_, kPath, std::ref(single));
  const Subscription subscription = observer.add_listener(told.listener());
  Hold hold = acquire();
  ASSERT_TRUE(told.last_becomes(hold));
  expire_session(chroot_.hosts(), observers_client_->session_id());
  hold.release();
  hold = acquire();
  EXPECT_TRUE(told.last_becomes(hold));
}

TEST_F(LockObserverTest, EachChange_IsReportedAfterTheFirstState) {
  LockObserver observer(*observers_client_, kPath);
  Told told;
  const Subscription subscription = observer.add_listener(told.listener());
  ASSERT_TRUE(told.last_becomes_free());
  Hold hold = acquire();
  ASSERT_TRUE(told.last_becomes(hold));
  auto second = mutex_.async_acquire();
  ASSERT_TRUE(told.last_becomes(hold, 1));
  auto third = mutex_.async_acquire();
  ASSERT_TRUE(told.last_becomes(hold, 2));

  Told late;  // its first state is the current one
  const Subscription another = observer.add_listener(late.listener());
  ASSERT_TRUE(late.last_becomes(hold, 2));
  EXPECT_EQ(late.count(), 1U);

  hold.release();
  hold = get(second);
  ASSERT_TRUE(told.last_becomes(hold, 1));
  hold.release();
  hold = get(third);
  ASSERT_TRUE(told.last_becomes(hold));
  hold.release();
  ASSERT_TRUE(told.last_becomes_free());
  const auto states = told.states();
  for (std::size_t i = 1; i < states.size(); ++i) {
    EXPECT_NE(states[i], states[i - 1]) << "only changes are told";
  }
  EXPECT_TRUE(states.front().is_free());
}

TEST_F(LockObserverTest, PathIsDeletedAndRecreated_ObservationContinues) {
  LockObserver observer(*observers_client_, "/deep/in/here");
  Told told;
  const Subscription subscription = observer.add_listener(told.listener());
  ASSERT_TRUE(told.last_becomes_free());
  ReentrantMutex mutex(*client_, "/deep/in/here");
  for (int i = 0; i < 3; ++i) {
    Hold hold = mutex.acquire({.deadline = kPatience});
    ASSERT_TRUE(told.last_becomes(hold));
    hold.release();
    ASSERT_TRUE(told.last_becomes_free());
    ASSERT_EQ(raw().delete_recursive("/deep"), ZOK);
  }
}

TEST_F(LockObserverTest, ForeignContender_IsReportedAndOtherChildrenAreNot) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  LockObserver observer(*observers_client_, kPath);
  Told told;
  const Subscription subscription = observer.add_listener(told.listener());
  ASSERT_TRUE(told.last_becomes_free());
  ASSERT_EQ(raw().create(kPath + "/something").rc, ZOK);
  const auto foreign = raw().create(kPath + "/lock-", "theirs", ZOO_EPHEMERAL_SEQUENTIAL);
  ASSERT_EQ(foreign.rc, ZOK);
  ASSERT_TRUE(told.wait_until_last([](const LockState& s) { return !s.is_free(); }));
  const LockState state = told.states().back();
  ASSERT_EQ(state.holders.size(), 1U);
  EXPECT_EQ(kPath + "/" + state.holders.front().node, foreign.path);
  EXPECT_EQ(state.holders.front().pid, 0);
  EXPECT_EQ(state.waiting, 0U);
}

TEST_F(LockObserverTest, SessionOfTheObserverEnds_ObservationContinues) {
  LockObserver observer(*observers_client_, kPath);
  Told told;
  const Subscription subscription = observer.add_listener(told.listener());
  Hold hold = acquire();
  ASSERT_TRUE(told.last_becomes(hold));
  for (int i = 0; i < 2; ++i) {
    const auto session = observers_client_->session_id();
    expire_session(chroot_.hosts(), session);
    hold.release();
    hold = acquire();
    ASSERT_TRUE(told.last_becomes(hold));
    ASSERT_TRUE(eventually(
        [&] {
          const auto next = observers_client_->session_id();
          return next != 0 && next != session;
        },
        kPatience));
    // Changes on the new session are reported too.
    hold.release();
    ASSERT_TRUE(told.last_becomes_free());
    hold = acquire();
    ASSERT_TRUE(told.last_becomes(hold));
  }
}

TEST_F(LockObserverTest, SlowListener_ReceivesTheNewestState) {
  LockObserver observer(*observers_client_, kPath);
  Told told;
  Told witness;
  std::promise<void> entered;
  std::promise<void> go_on;
  const auto may_go_on = go_on.get_future().share();
  bool first = true;
  const Subscription slow = observer.add_listener([&](const LockState& state) {
    told.listener()(state);
    if (!std::exchange(first, false)) return;
    entered.set_value();
    may_go_on.wait();
  });
  auto inside = entered.get_future();
  get(inside);
  const Subscription quick = observer.add_listener(witness.listener());
  Hold hold;
  for (int i = 0; i < 5; ++i) {
    hold.release();
    ASSERT_TRUE(witness.last_becomes_free());
    hold = acquire();
    ASSERT_TRUE(witness.last_becomes(hold));
  }
  EXPECT_EQ(told.count(), 1U);
  go_on.set_value();
  ASSERT_TRUE(told.last_becomes(hold));
  EXPECT_EQ(told.count(), 2U) << "what was between is left out";
}

TEST_F(LockObserverTest, ThrowingListener_OtherListenersAreCalled) {
  LockObserver observer(*observers_client_, kPath);
  Told told;
  const Subscription wild =
      observer.add_listener([](const LockState&) { throw std::runtime_error("wild"); });
  const Subscription tame = observer.add_listener(told.listener());
  const Hold hold = acquire();
  EXPECT_TRUE(told.last_becomes(hold));
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
    Told witness;
    LockObserver other(*observers_client_, kPath);
    const Subscription watching = other.add_listener(witness.listener());
    Hold hold = acquire();
    ASSERT_TRUE(witness.last_becomes(hold));
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
  Told told;
  const Subscription subscription = observer.add_listener(told.listener());
  ASSERT_TRUE(told.last_becomes_free());
  observers_client_->close();
  EXPECT_EQ(error_of([&] { return observer.state(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return observer.add_listener(told.listener()); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return LockObserver(*observers_client_, kPath).path(); }), Errc::closed);
  const auto before = told.count();
  const Hold hold = acquire();
  EXPECT_EQ(told.count(), before);
}

TEST_F(LockObserverTest, InvalidPath_IsRefusedByTheConstructor) {
  for (const std::string path : {"", "a", "/", "/a/", "/zookeeper/x"}) {
    EXPECT_EQ(error_of([&] { return LockObserver(*client_, path).path(); }), Errc::invalid_path);
  }
}

class LockObserverFaults : public OwnServerTest {
 protected:
  std::string watch_count() {
    const std::string answer = ask_server(server_, "mntr");
    const std::string key = "zk_watch_count\t";
    const auto at = answer.find(key);
    return at == std::string::npos ? answer : answer.substr(at + key.size(), 1);
  }
};

TEST_F(LockObserverFaults, ObserverIsDestroyed_NoWatchRemains) {
  const auto client = connect();
  ASSERT_EQ(watch_count(), "0");
  ASSERT_EQ(raw().create("/there").rc, ZOK);
  for (const char* path : {"/there", "/not/there"}) {
    Told told;
    auto observer = std::make_unique<LockObserver>(*client, path);
    EXPECT_EQ(watch_count(), "0") << "nobody listens yet";
    const Subscription subscription = observer->add_listener(told.listener());
    ASSERT_TRUE(told.last_becomes_free());
    EXPECT_TRUE(eventually([&] { return watch_count() == "1"; }, kPatience));
    observer.reset();
    EXPECT_TRUE(eventually([&] { return watch_count() == "0"; }, kPatience)) << path;
  }
}

TEST_F(LockObserverFaults, ServerRestarts_ObservationContinues) {
  ClientOptions patient = options();
  patient.session_timeout = 60s;
  const auto client = connect(patient);
  const auto observers_client = connect(patient);
  ReentrantMutex mutex(*client, kPath);
  LockObserver observer(*observers_client, kPath);
  LockObserver absent(*observers_client, "/absent");
  Told told;
  Told told_absent;
  const Subscription subscription = observer.add_listener(told.listener());
  const Subscription another = absent.add_listener(told_absent.listener());
  Hold hold = mutex.acquire();
  ASSERT_TRUE(told.last_becomes(hold));
  ASSERT_TRUE(told_absent.last_becomes_free());
  kill_and_restart();
  hold.release();
  ASSERT_TRUE(told.last_becomes_free());
  hold = mutex.acquire({.deadline = kPatience});
  ASSERT_TRUE(told.last_becomes(hold));
  ReentrantMutex other(*client, "/absent");
  const Hold there = other.acquire({.deadline = kPatience});
  EXPECT_TRUE(told_absent.last_becomes(there));
}

TEST_F(LockObserverFaults, StartedBeforeTheServer_ObservesLater) {
  server_.kill_hard();
  Client client(options());
  LockObserver observer(client, kPath);
  Told told;
  const Subscription subscription = observer.add_listener(told.listener());
  EXPECT_EQ(error_of([&] { return observer.state(200ms); }), Errc::not_connected);
  start_again();
  ASSERT_TRUE(told.last_becomes_free());
  ReentrantMutex mutex(client, kPath);
  const Hold hold = mutex.acquire({.deadline = kPatience});
  EXPECT_TRUE(told.last_becomes(hold));
}

}  // namespace
}  // namespace zklock::testing
