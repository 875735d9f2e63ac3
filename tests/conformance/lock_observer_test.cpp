// SPDX-License-Identifier: Apache-2.0
// LockObserver: the states that it returns and reports, also after a restart of the server.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_observer_fixture.h"
#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

// Returns the participants that hold.
std::vector<Participant> holders_among(std::vector<Participant> participants) {
  std::erase_if(participants, [](const Participant& p) { return !p.holds; });
  return participants;
}

TEST_F(LockObserverTest, SharedMutex_StateHasAllReadersAndTheWaiters) {
  const LockObserver observer(*client_, kPath);
  LockObserver listening(*client_, kPath);
  LockStateLog states;
  const Subscription subscription = listening.add_listener(states.listener());
  SharedMutex mutex(*client_, kPath);
  SharedMutex others(*observers_client_, kPath);
  Hold first = mutex.acquire_shared({.owner = Owner::unique(), .deadline = kTestTimeout});
  Hold second = others.acquire_shared({.owner = Owner::unique(), .deadline = kTestTimeout});
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
  EXPECT_TRUE(states.wait_until_last([&](const LockState& s) { return s == state; }));
  first.release();
  second.release();
  const Hold writing = get(writer);
  ASSERT_TRUE(states.last_becomes(writing, 1));
  EXPECT_EQ(states.states().back().holders[0].access, Access::exclusive);
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
  ASSERT_TRUE(eventually([&] { return mutex.participants().size() == 3; }, kTestTimeout));
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

TEST_F(LockObserverTest, PathIsDeletedAndRecreated_ObservationContinues) {
  LockObserver observer(*observers_client_, "/deep/in/here");
  LockStateLog states;
  const Subscription subscription = observer.add_listener(states.listener());
  ASSERT_TRUE(states.last_becomes_free());
  ReentrantMutex mutex(*client_, "/deep/in/here");
  for (int i = 0; i < 3; ++i) {
    Hold hold = mutex.acquire({.deadline = kTestTimeout});
    ASSERT_TRUE(states.last_becomes(hold));
    hold.release();
    ASSERT_TRUE(states.last_becomes_free());
    ASSERT_EQ(raw().delete_recursive("/deep"), ZOK);
  }
}

TEST_F(LockObserverTest, SessionOfTheObserverEnds_ObservationContinues) {
  LockObserver observer(*observers_client_, kPath);
  LockStateLog states;
  const Subscription subscription = observer.add_listener(states.listener());
  Hold hold = acquire();
  ASSERT_TRUE(states.last_becomes(hold));
  for (int i = 0; i < 2; ++i) {
    const auto session = observers_client_->session_id();
    expire_session(chroot_.hosts(), session);
    hold.release();
    hold = acquire();
    ASSERT_TRUE(states.last_becomes(hold));
    ASSERT_TRUE(eventually(
        [&] {
          const auto next = observers_client_->session_id();
          return next != 0 && next != session;
        },
        kTestTimeout));
    // Changes on the new session are reported too.
    hold.release();
    ASSERT_TRUE(states.last_becomes_free());
    hold = acquire();
    ASSERT_TRUE(states.last_becomes(hold));
  }
}

TEST_F(LockObserverTest, InvalidPath_IsRefusedByTheConstructor) {
  for (const std::string path : {"", "a", "/", "/a/", "/zookeeper/x"}) {
    EXPECT_EQ(error_of([&] { return LockObserver(*client_, path).path(); }), Errc::invalid_path);
  }
}

// The watches of the whole server are counted, so no other test uses it.
class LockObserverFaults : public OwnServerTest {
 protected:
  LockObserverFaults() : OwnServerTest(TestServerOptions{}) {}
  std::string watch_count() {
    const std::string answer = query_server(server_, "mntr");
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
    LockStateLog states;
    auto observer = std::make_unique<LockObserver>(*client, path);
    EXPECT_EQ(watch_count(), "0") << "no listener yet";
    const Subscription subscription = observer->add_listener(states.listener());
    ASSERT_TRUE(states.last_becomes_free());
    EXPECT_TRUE(eventually([&] { return watch_count() == "1"; }, kTestTimeout));
    observer.reset();
    EXPECT_TRUE(eventually([&] { return watch_count() == "0"; }, kTestTimeout)) << path;
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
  LockStateLog states;
  LockStateLog absent_states;
  const Subscription subscription = observer.add_listener(states.listener());
  const Subscription another = absent.add_listener(absent_states.listener());
  Hold hold = mutex.acquire();
  ASSERT_TRUE(states.last_becomes(hold));
  ASSERT_TRUE(absent_states.last_becomes_free());
  kill_and_restart();
  hold.release();
  ASSERT_TRUE(states.last_becomes_free());
  hold = mutex.acquire({.deadline = kTestTimeout});
  ASSERT_TRUE(states.last_becomes(hold));
  ReentrantMutex other(*client, "/absent");
  const Hold there = other.acquire({.deadline = kTestTimeout});
  EXPECT_TRUE(absent_states.last_becomes(there));
}

TEST_F(LockObserverFaults, StartedBeforeTheServer_ObservesLater) {
  server_.kill();
  Client client(options());
  LockObserver observer(client, kPath);
  LockStateLog states;
  const Subscription subscription = observer.add_listener(states.listener());
  EXPECT_EQ(error_of([&] { return observer.state(200ms); }), Errc::not_connected);
  start_again();
  ASSERT_TRUE(states.last_becomes_free());
  ReentrantMutex mutex(client, kPath);
  const Hold hold = mutex.acquire({.deadline = kTestTimeout});
  EXPECT_TRUE(states.last_becomes(hold));
}

}  // namespace
}  // namespace zklock::testing
