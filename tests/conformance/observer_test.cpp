// SPDX-License-Identifier: Apache-2.0
// LockObserver and ElectionObserver: their states, also after a restart of the server, and the
// values that leaders proclaim. suite/observers_test.cpp has the notifications.
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/call_forms.h"
#include "conformance/chronicle.h"
#include "conformance/leader_fixture.h"
#include "conformance/lock_test.h"
#include "conformance/single_thread.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

// Records the states that its listener receives.
class LockStateLog {
 public:
  LockObserver::Listener listener() {
    return [this](const LockState& state) { states_.add(state); };
  }
  template <class Predicate>
  [[nodiscard]] bool wait_until_last(Predicate predicate) const {
    return eventually([&] { return size() > 0 && predicate(states_.all().back()); }, kTestTimeout);
  }
  [[nodiscard]] bool last_becomes_free() const {
    return wait_until_last([](const LockState& s) { return s.is_free() && s.waiting == 0; });
  }
  // Waits until the last state has one holder, the one with the token of `hold`.
  [[nodiscard]] bool last_becomes(const Hold& hold, std::size_t waiting = 0) const {
    return wait_until_last([&](const LockState& s) {
      return s.holders.size() == 1 && s.holders.front().token == hold.token() &&
             s.waiting == waiting;
    });
  }
  std::size_t size() const { return states_.size(); }

 private:
  Chronicle<LockState> states_;
};

class LockObserverTest : public LockTest {
 protected:
  Hold acquire() { return mutex_.acquire({.owner = Owner::unique(), .deadline = kTestTimeout}); }

  std::unique_ptr<Client> client_ = connect();
  std::unique_ptr<Client> observers_client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

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
  EXPECT_EQ(observer.state().holders.at(0).access, Access::exclusive);
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

TEST_F(LockObserverTest, ClientIsClosed_ListenerIsNotCalledAgain) {
  LockObserver observer(*observers_client_, kPath);
  LockStateLog states;
  const Subscription subscription = observer.add_listener(states.listener());
  ASSERT_TRUE(states.last_becomes_free());
  observers_client_->close();
  EXPECT_EQ(error_of([&] { return observer.state(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return observer.add_listener(states.listener()); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return LockObserver(*observers_client_, kPath).path(); }), Errc::closed);
  const auto before = states.size();
  const Hold hold = acquire();
  EXPECT_EQ(states.size(), before);
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

TEST_F(LockObserverFaults, ServerStartsAndRestarts_ObservationContinues) {
  server_.kill();
  ClientOptions patient = options();
  patient.session_timeout = 60s;
  Client observers_client(patient);
  LockObserver observer(observers_client, kPath);
  LockObserver absent(observers_client, "/absent");
  LockStateLog states;
  LockStateLog absent_states;
  const Subscription subscription = observer.add_listener(states.listener());
  const Subscription another = absent.add_listener(absent_states.listener());
  EXPECT_EQ(error_of([&] { return observer.state(200ms); }), Errc::not_connected);
  start_again();
  ASSERT_TRUE(states.last_becomes_free());
  const auto holder = connect(patient);
  ReentrantMutex mutex(*holder, kPath);
  Hold hold = mutex.acquire({.deadline = kTestTimeout});
  ASSERT_TRUE(states.last_becomes(hold));
  ASSERT_TRUE(absent_states.last_becomes_free());
  kill_and_restart();
  hold.release();
  ASSERT_TRUE(states.last_becomes_free());
  hold = mutex.acquire({.deadline = kTestTimeout});
  ASSERT_TRUE(states.last_becomes(hold));
  ReentrantMutex other(*holder, "/absent");
  const Hold there = other.acquire({.deadline = kTestTimeout});
  EXPECT_TRUE(absent_states.last_becomes(there));
}

// ---- elections ----------------------------------------------------------------------------------

class ElectionObserverTest : public LeaderTest<LockTest> {
 protected:
  // Returns the path of the leader's value, as the format's documentation defines it.
  static std::string proclaimed_node(const Leadership& leadership) {
    std::string node = leadership.node();
    return node.replace(node.rfind("lock-"), 5, "proclaimed-");
  }
  std::optional<std::string> value() const { return observer_.state(kTestTimeout).value; }

  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> observers_client_ = connect();
  ElectionObserver observer_{*observers_client_, kPath};
};

TEST_F(ElectionObserverTest, State_HasTheLeaderAndItsProclaimedValue) {
  EXPECT_EQ(observer_.path(), kPath);
  EXPECT_FALSE(observer_.state(kTestTimeout).leader);
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  const ElectionState before = observer_.state(kTestTimeout);
  ASSERT_TRUE(before.leader);
  EXPECT_EQ(kPath + "/" + before.leader->node, leadership.node());
  EXPECT_EQ(before.leader->token, leadership.token());
  EXPECT_EQ(before.leader->session_id, client_->session_id());
  EXPECT_EQ(before.leader->application, "conformance");
  EXPECT_TRUE(before.leader->holds);
  EXPECT_FALSE(before.leader->mine);
  auto as_it_sees_itself = latch->leader(kTestTimeout);
  ASSERT_TRUE(as_it_sees_itself);
  EXPECT_TRUE(std::exchange(as_it_sees_itself->mine, false));
  EXPECT_EQ(before.leader, as_it_sees_itself);
  EXPECT_EQ(before.value, std::nullopt);
  using namespace std::string_literals;
  for (const std::string& value : {"10.0.0.7:80"s, ""s, "\0\n\xff"s, "10.0.0.7:80"s}) {
    leadership.proclaim(value);
    EXPECT_EQ(observer_.state(kTestTimeout).leader->token, leadership.token());
    EXPECT_EQ(this->value(), value);
  }
  EXPECT_EQ(raw().exists(proclaimed_node(leadership)).stat.ephemeralOwner, client_->session_id());
}

TEST_F(ElectionObserverTest, HandlerFutureAndCoroutine_HaveEqualOutcomes) {
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  int count = 0;
  const auto next = [&count] { return std::to_string(++count); };
  const auto expect = [&](const AcquireOutcome& outcome) {
    expect_in_every_form(
        outcome, [&] { leadership.proclaim(next()); },
        [&](auto... handler) { return leadership.async_proclaim(next(), std::move(handler)...); },
        [&] { return leadership.co_proclaim(next()); });
  };
  expect(AcquireOutcome());
  EXPECT_EQ(value(), "4");
  EXPECT_EQ(raw().exists(proclaimed_node(leadership)).stat.version, 4) << "each wrote its value";
  EXPECT_EQ(error_of([&] { leadership.proclaim(std::string(1'100'000, 'x')); }), Errc::too_large);
  leadership.proclaim(std::string(900'000, 'x'));
  EXPECT_EQ(value(), std::string(900'000, 'x'));

  latch->close();
  expect(Errc::lock_lost);
  EXPECT_TRUE(error_text_of([&] { leadership.proclaim("late"); }).starts_with("proclaim /lock: "));
  EXPECT_EQ(error_of([] { Leadership().proclaim("without a leadership"); }), Errc::lock_lost);
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(ElectionObserverTest, ObserverIsDestroyed_NoWatchRemains) {
  const TestServer* const server = SharedServer::server();
  if (server == nullptr) GTEST_SKIP() << "needs a server of this kit";
  Chronicle<std::optional<std::string>> values;
  const auto latch = leading_latch(*client_);
  latch->leadership().proclaim("x");
  ASSERT_TRUE(
      eventually([&] { return watched(*server, latch->leadership().node()); }, kTestTimeout));
  auto observer = std::make_unique<ElectionObserver>(*observers_client_, kPath);
  EXPECT_FALSE(watched(*server, kPath + "\n")) << "no listener yet";
  const Subscription subscription =
      observer->add_listener([&](const ElectionState& state) { values.add(state.value); });
  ASSERT_TRUE(values.has("x"));
  EXPECT_TRUE(watched(*server, proclaimed_node(latch->leadership())));
  observer.reset();
  EXPECT_TRUE(eventually([&] { return !watched(*server, proclaimed_node(latch->leadership())); },
                         kTestTimeout));
  EXPECT_TRUE(eventually([&] { return !watched(*server, kPath + "\n"); }, kTestTimeout));
}

TEST_F(ElectionObserverTest, UnreadableValue_IsReadOnceTheAclAllowsIt) {
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  leadership.proclaim("a");
  ACL unreadable{ZOO_PERM_ALL & ~ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
  ASSERT_EQ(raw().set_acl(proclaimed_node(leadership), ACL_vector{1, &unreadable}), ZOK);
  Chronicle<std::optional<std::string>> values;
  ElectionObserver observer(*observers_client_, kPath);
  const Subscription subscription =
      observer.add_listener([&](const ElectionState& state) { values.add(state.value); });
  ASSERT_TRUE(values.has(std::nullopt));
  EXPECT_EQ(error_of([&] { return value(); }), Errc::no_auth);
  // ZooKeeper fires no watch event for a changed ACL.
  ASSERT_EQ(raw().set_acl(proclaimed_node(leadership), ZOO_OPEN_ACL_UNSAFE), ZOK);
  EXPECT_TRUE(values.has("a"));
  EXPECT_EQ(values.size(), 2U);
}

}  // namespace
}  // namespace zklock::testing
