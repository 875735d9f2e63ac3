// SPDX-License-Identifier: Apache-2.0
// Values that leaders proclaim, and the observers of elections.
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/interruption.h"
#include "conformance/leader_fixture.h"
#include "conformance/single_thread.h"
#include "support/coroutines.h"

namespace zklock::testing {
namespace {

using Value = std::optional<std::string>;

// The state that a listener received, reduced.
struct Seen {
  FencingToken leader;  // 0: no leader
  Value value;
  friend bool operator==(const Seen&, const Seen&) = default;
};

void PrintTo(const Seen& seen, std::ostream* out) {
  *out << seen.leader.zxid << ' ' << seen.value.value_or("(none)");
}

Seen seen(const ElectionState& state) {
  return {state.leader ? state.leader->token : FencingToken{}, state.value};
}

// Records the states that its listener receives. REQUIRES: outlives the observer.
class Witness {
 public:
  ElectionObserver::Listener listener() {
    return [this](const ElectionState& state) { told_.add(seen(state)); };
  }
  Subscription listen_to(ElectionObserver& observer) { return observer.add_listener(listener()); }
  bool comes_to(const Seen& last) const {
    return eventually([&] { return told_.size() > 0 && told_.all().back() == last; }, kPatience);
  }
  std::vector<Seen> all() const { return told_.all(); }
  std::size_t size() const { return told_.size(); }

 private:
  Chronicle<Seen> told_;
};

template <class Base>
class ObserverFixture : public LeaderTest<Base> {
 protected:
  // Waits until the latch leads with a higher token than `before`.
  Leadership next_leadership(const LeaderLatch& latch, FencingToken before) const {
    EXPECT_TRUE(this->leads_after(latch, before));
    return latch.leadership();
  }
  // Returns the path of the leader's value, as the format's documentation defines it.
  static std::string proclamation_writer(const Leadership& leadership) {
    std::string node = leadership.node();
    return node.replace(node.rfind("lock-"), 5, "proclaimed-");
  }
};

class ElectionObserverTest : public ObserverFixture<LockTest> {
 protected:
  Seen state() const { return seen(observer_.state(kPatience)); }

  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
  const std::unique_ptr<Client> observers_client_ = connect();
  ElectionObserver observer_{*observers_client_, kPath};
};

TEST_F(ElectionObserverTest, State_HasTheLeaderAndItsProclaimedValue) {
  EXPECT_EQ(observer_.path(), kPath);
  EXPECT_EQ(state(), Seen());
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  const ElectionState before = observer_.state(kPatience);
  ASSERT_TRUE(before.leader);
  EXPECT_EQ(kPath + "/" + before.leader->node, leadership.node());
  EXPECT_EQ(before.leader->token, leadership.token());
  EXPECT_EQ(before.leader->session_id, client_->session_id());
  EXPECT_EQ(before.leader->application, "conformance");
  EXPECT_TRUE(before.leader->holds);
  EXPECT_FALSE(before.leader->mine);
  auto as_it_sees_itself = latch->leader(kPatience);
  ASSERT_TRUE(as_it_sees_itself);
  EXPECT_TRUE(std::exchange(as_it_sees_itself->mine, false));
  EXPECT_EQ(before.leader, as_it_sees_itself);
  EXPECT_EQ(before.value, std::nullopt);
  using namespace std::string_literals;
  for (const std::string& value : {"10.0.0.7:80"s, ""s, "\0\n\xff"s, "10.0.0.7:80"s}) {
    leadership.proclaim(value);
    EXPECT_EQ(state(), (Seen{leadership.token(), value}));
  }
  EXPECT_EQ(raw().exists(proclamation_writer(leadership)).stat.ephemeralOwner,
            client_->session_id());
}

TEST_F(ElectionObserverTest, EachChange_IsReportedOnce) {
  Witness witness;
  ElectionObserver observer(*observers_client_, kPath);
  const Subscription subscription = witness.listen_to(observer);
  std::vector<Seen> expected{{}};
  const auto comes = [&](const Seen& next) {
    expected.push_back(next);
    return witness.comes_to(next);
  };
  ASSERT_TRUE(witness.comes_to({}));
  auto first = leading_latch(*client_);
  const Leadership one = first->leadership();
  ASSERT_TRUE(comes({one.token(), std::nullopt}));
  one.proclaim("a");
  ASSERT_TRUE(comes({one.token(), "a"}));
  const auto second = start_latch(*other_);
  ASSERT_TRUE(
      eventually([&] { return observer_.state().leader && nodes().size() == 3; }, kPatience));
  one.proclaim("a");  // no change
  one.proclaim("b");
  ASSERT_TRUE(comes({one.token(), "b"}));
  first->close();
  ASSERT_TRUE(second->wait_until_leader(kPatience));
  const Leadership two = second->leadership();
  ASSERT_TRUE(comes({two.token(), std::nullopt}));
  two.proclaim("b");
  ASSERT_TRUE(comes({two.token(), "b"}));
  second->close();
  ASSERT_TRUE(comes({}));
  EXPECT_EQ(witness.all(), expected);

  Witness late;  // its first state is the current one
  const Subscription another = late.listen_to(observer);
  ASSERT_TRUE(late.comes_to({}));
  EXPECT_EQ(late.size(), 1U);
  EXPECT_TRUE(client_->flush(kPatience));
  EXPECT_TRUE(other_->flush(kPatience));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(ElectionObserverTest, SessionOfTheLeaderEnds_ValueIsDeleted) {
  Witness witness;
  ElectionObserver observer(*observers_client_, kPath);
  const Subscription subscription = witness.listen_to(observer);
  const auto first = leading_latch(*client_);
  const Leadership dead = first->leadership();
  dead.proclaim("the first");
  ASSERT_TRUE(witness.comes_to({dead.token(), "the first"}));
  const auto second = start_latch(*other_);
  ASSERT_TRUE(reaches_nodes(3));
  expire(*client_);
  const Leadership next = next_leadership(*second, dead.token());
  ASSERT_TRUE(witness.comes_to({next.token(), std::nullopt}));
  EXPECT_EQ(raw().exists(proclamation_writer(dead)).rc, ZNONODE);
  // Before the latch knows that its leadership ended, a proclaim() could lose its reply with the
  // connection.
  ASSERT_TRUE(eventually([&] { return dead.end_token().stop_requested(); }, kPatience));
  EXPECT_EQ(error_of([&] { return dead.proclaim("I am back"), 0; }), Errc::lock_lost);
  next.proclaim("the second");
  ASSERT_TRUE(witness.comes_to({next.token(), "the second"}));
  for (const Seen& each : witness.all()) {
    if (each.value) {
      EXPECT_EQ(each.value == "the first", each.leader == dead.token());
    }
  }
}

TEST_F(ElectionObserverTest, StaleLeader_CannotProclaim) {
  const auto first = leading_latch(*client_);
  const Leadership stale = first->leadership();
  stale.proclaim("before");
  const auto second = start_latch(*other_);
  ASSERT_TRUE(reaches_nodes(3));
  const std::string node = proclamation_writer(stale);
  const auto version = raw().exists(node).stat.version;
  ASSERT_EQ(raw().delete_node(stale.node()), ZOK);
  EXPECT_EQ(error_of([&] { return stale.proclaim("after"), 0; }), Errc::lock_lost);
  const auto now = raw().exists(node);
  EXPECT_TRUE(now.rc == ZNONODE || now.stat.version == version);
  const Leadership next = next_leadership(*second, stale.token());
  EXPECT_EQ(state(), (Seen{next.token(), std::nullopt}));
  EXPECT_TRUE(eventually([&] { return raw().exists(node).rc == ZNONODE; }, kPatience));
}

// Simulates a value of another leader at this leader's value path. That happens when the lock path
// was recreated and the sequence numbers restarted.
TEST_F(ElectionObserverTest, ValueWithAnotherToken_IsIgnored) {
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  leadership.proclaim("mine");
  const std::string said = raw().get_data(proclamation_writer(leadership)).data;
  const std::string token = std::to_string(leadership.token().zxid);
  ASSERT_NE(said.find(token), std::string::npos);
  for (const std::string& other : {std::string("1"), token + "1", "-" + token}) {
    std::string forged = said;
    forged.replace(forged.find(token), token.size(), other);
    ASSERT_EQ(raw().set_data(proclamation_writer(leadership), forged).rc, ZOK);
    EXPECT_EQ(state(), (Seen{leadership.token(), std::nullopt}));
  }
}

TEST_F(ElectionObserverTest, UnreadableValue_IsReadOnceTheAclAllowsIt) {
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  leadership.proclaim("a");
  ACL unreadable{ZOO_PERM_ALL & ~ZOO_PERM_READ,
                 {const_cast<char*>("world"), const_cast<char*>("anyone")}};
  ASSERT_EQ(raw().set_acl(proclamation_writer(leadership), ACL_vector{1, &unreadable}), ZOK);
  Witness witness;
  ElectionObserver observer(*observers_client_, kPath);
  const Subscription subscription = witness.listen_to(observer);
  ASSERT_TRUE(witness.comes_to({leadership.token(), std::nullopt}));
  EXPECT_EQ(error_of([&] { return state(), 0; }), Errc::no_auth);
  // ZooKeeper fires no watch event for a changed ACL.
  ASSERT_EQ(raw().set_acl(proclamation_writer(leadership), ZOO_OPEN_ACL_UNSAFE), ZOK);
  EXPECT_TRUE(witness.comes_to({leadership.token(), "a"}));
  EXPECT_EQ(witness.size(), 2U);
}

TEST_F(ElectionObserverTest, ForeignLeader_HasNoValue) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  const auto foreign = raw().create(kPath + "/_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-",
                                    "theirs", ZOO_EPHEMERAL_SEQUENTIAL);
  ASSERT_EQ(foreign.rc, ZOK);
  const ElectionState state = observer_.state(kPatience);
  ASSERT_TRUE(state.leader);
  EXPECT_EQ(kPath + "/" + state.leader->node, foreign.path);
  EXPECT_EQ(state.value, std::nullopt);
}

TEST_F(ElectionObserverTest, ElectionFunctionProclaims_ObserverReceivesTheValue) {
  Witness witness;
  ElectionObserver observer(*observers_client_, kPath);
  const Subscription subscription = witness.listen_to(observer);
  Gate gate;
  std::atomic<int> calls{0};
  std::promise<FencingToken> token;
  LeaderElection election(*client_, kPath, {.auto_requeue = false},
                          [&](const Leadership& leadership) {
                            if (++calls > 1) return;
                            leadership.proclaim("here");
                            token.set_value(leadership.token());
                            gate.pass();
                          });
  const Gate::Opener opener(gate);
  election.start();
  auto leads = token.get_future();
  const FencingToken leader = get(leads);
  ASSERT_TRUE(witness.comes_to({leader, "here"}));
  gate.open();
  ASSERT_TRUE(witness.comes_to({}));
  EXPECT_TRUE(becomes_empty());
  EXPECT_EQ(calls, 1);
}

// ---- the ways to proclaim ---------------------------------------------------------------------------

TEST_F(ElectionObserverTest, HandlerFutureAndCoroutine_HaveEqualOutcomes) {
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  std::promise<AcquireOutcome> handed;
  auto outcome = handed.get_future();
  leadership.async_proclaim("by a handler", [handed = std::move(handed)](
                                                const std::exception_ptr& error) mutable {
    handed.set_value(error ? error_of([&] { std::rethrow_exception(error); }) : AcquireOutcome());
  });
  EXPECT_EQ(get(outcome), AcquireOutcome());
  EXPECT_EQ(state().value, "by a handler");
  auto future = leadership.async_proclaim("by a future");
  get(future);
  EXPECT_EQ(state().value, "by a future");
  std::promise<AcquireOutcome> awaited;
  auto resumed = awaited.get_future();
  const auto proclaim = [&] { return leadership.co_proclaim("by a coroutine"); };
  await_in_coroutine(proclaim, awaited);
  EXPECT_EQ(get(resumed), AcquireOutcome());
  EXPECT_EQ(state().value, "by a coroutine");

  latch->close();
  EXPECT_EQ(error_of([&] { return leadership.proclaim("late"), 0; }), Errc::lock_lost);
  auto refused = leadership.async_proclaim("late");
  EXPECT_EQ(error_of([&] { return get(refused), 0; }), Errc::lock_lost);
  std::promise<AcquireOutcome> refused_awaited;
  auto refusal = refused_awaited.get_future();
  await_in_coroutine(proclaim, refused_awaited);
  EXPECT_EQ(get(refusal), AcquireOutcome(Errc::lock_lost));
  EXPECT_EQ(error_text_of([&] { return leadership.proclaim("late"), 0; }).find("proclaim /lock: "),
            0U);
  EXPECT_EQ(error_of([] { return Leadership().proclaim("nobody's"), 0; }), Errc::lock_lost);
  EXPECT_TRUE(client_->flush(kPatience));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(ElectionObserverTest, ManyProclamations_LastValueRemains) {
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  std::vector<std::future<void>> results;
  for (int i = 0; i < 50; ++i) results.push_back(leadership.async_proclaim(std::to_string(i)));
  for (auto& result : results) get(result);
  EXPECT_EQ(state().value, "49");
}

TEST_F(ElectionObserverTest, TooLargeValue_IsRefused) {
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  EXPECT_EQ(error_of([&] { return leadership.proclaim(std::string(1'100'000, 'x')), 0; }),
            Errc::too_large);
  EXPECT_EQ(nodes().size(), 1U) << "nothing was sent";
  leadership.proclaim(std::string(900'000, 'x'));
  EXPECT_EQ(state().value, std::string(900'000, 'x'));
  EXPECT_TRUE(latch->has_leadership());
}

TEST_F(ElectionObserverTest, ZnodeOfAValue_HasTheAclOfParents) {
  ClientOptions of_team = options();
  of_team.digest = DigestCredential{"team", "a secret"};
  of_team.acl = AclPolicy::creator_all();
  const auto client = connect(of_team);
  const auto latch = leading_latch(*client);
  latch->leadership().proclaim("x");
  const std::string node = proclamation_writer(latch->leadership());
  EXPECT_EQ(raw().get_data(node).rc, ZNOAUTH);
  raw().add_digest("team:a secret");
  EXPECT_EQ(raw().get_acl(node).entries, raw().get_acl(kPath).entries);
  EXPECT_NE(raw().get_acl(node).entries, raw().get_acl(latch->leadership().node()).entries);
}

TEST_F(ElectionObserverTest, ZnodeOfAValueBeyondTheCap_IsRefused) {
  bool leads = false;
  for (std::size_t cap = 20; !leads; cap += 10) {  // until the cap admits the lock znode
    ClientOptions capped = options();
    capped.max_node_bytes = cap;
    const auto client = connect(capped);
    LeaderLatch latch(*client, kPath);
    latch.start();
    leads = !error_of([&] { return latch.wait_until_leader(100ms); }) && latch.has_leadership();
    if (!leads) continue;
    EXPECT_EQ(error_of([&] { return latch.leadership().proclaim("x"), 0; }), Errc::too_many_nodes);
    EXPECT_TRUE(latch.has_leadership());
  }
}

TEST_F(ElectionObserverTest, NoWritePermission_ProclaimFailsWithNoAuth) {
  ClientOptions no_writer = options();
  no_writer.acl = AclPolicy::list(
      {{zklock::AclEntry::read | zklock::AclEntry::create | zklock::AclEntry::remove, "world",
        "anyone"}});
  const auto client = connect(no_writer);
  const auto latch = leading_latch(*client);
  const Leadership leadership = latch->leadership();
  EXPECT_EQ(error_of([&] { return leadership.proclaim("x"), 0; }), Errc::no_auth);
  EXPECT_EQ(leadership.state(), HoldState::held);
  EXPECT_EQ(state(), (Seen{leadership.token(), std::nullopt}));
}

// ---- observing ------------------------------------------------------------------------------------

TEST_F(ElectionObserverTest, SessionOfTheObserverEnds_ObservationContinues) {
  Witness witness;
  ElectionObserver observer(*observers_client_, kPath);
  const Subscription subscription = witness.listen_to(observer);
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  for (int i = 0; i < 2; ++i) {
    const std::string value = std::to_string(i);
    leadership.proclaim(value);
    ASSERT_TRUE(witness.comes_to({leadership.token(), value}));
    expire_session(chroot_.hosts(), observers_client_->session_id());
    leadership.proclaim(value + " and more");
    ASSERT_TRUE(witness.comes_to({leadership.token(), value + " and more"}));
  }
  // After the first state, every state has this leader.
  const auto all = witness.all();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].leader, leadership.token());
}

TEST_F(ElectionObserverTest, ExecutorGiven_ListenerRunsOnIt) {
  Witness witness;
  std::atomic<bool> elsewhere{false};
  SingleThread single;
  std::promise<std::thread::id> thread;
  single([&] { thread.set_value(std::this_thread::get_id()); });
  const auto expected = thread.get_future().get();
  ElectionObserver observer(*observers_client_, kPath, std::ref(single));
  const Subscription subscription = observer.add_listener([&](const ElectionState& state) {
    if (std::this_thread::get_id() != expected) elsewhere = true;
    witness.listener()(state);
  });
  const auto latch = leading_latch(*client_);
  latch->leadership().proclaim("x");
  ASSERT_TRUE(witness.comes_to({latch->token(), "x"}));
  EXPECT_FALSE(elsewhere);
}

TEST_F(ElectionObserverTest, SlowListener_ReceivesTheNewestState) {
  Witness slow;
  Witness quick;
  Gate gate;
  ElectionObserver observer(*observers_client_, kPath);
  bool first = true;
  const Subscription blocking = observer.add_listener([&](const ElectionState& state) {
    slow.listener()(state);
    if (std::exchange(first, false)) gate.pass();
  });
  const Gate::Opener opener(gate);
  ASSERT_TRUE(gate.reached_by(1));
  const Subscription other = quick.listen_to(observer);
  const auto latch = leading_latch(*client_);
  for (int i = 0; i < 5; ++i) {
    latch->leadership().proclaim(std::to_string(i));
    ASSERT_TRUE(quick.comes_to({latch->token(), std::to_string(i)}));
  }
  EXPECT_EQ(slow.size(), 1U);
  gate.open();
  ASSERT_TRUE(slow.comes_to({latch->token(), "4"}));
  EXPECT_EQ(slow.size(), 2U) << "what was between is left out";
}

TEST_F(ElectionObserverTest, InvalidPathOrClosedClient_IsRefused) {
  for (const std::string path : {"", "a", "/", "/a/", "/zookeeper/x"}) {
    EXPECT_EQ(error_of([&] { return ElectionObserver(*client_, path).path(); }),
              Errc::invalid_path);
  }
  observers_client_->close();
  EXPECT_EQ(error_of([&] { return observer_.state(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return observer_.add_listener({}); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return ElectionObserver(*observers_client_, kPath).path(); }),
            Errc::closed);
}

// ---- servers --------------------------------------------------------------------------------------

class ElectionObserverFaults : public ObserverFixture<OwnServerTest> {};

TEST_F(ElectionObserverFaults, ServerRestarts_ObservationContinues) {
  Witness witness;
  ClientOptions patient = options();
  patient.session_timeout = 40s;
  const auto client = connect(patient);
  const auto observers_client = connect(patient);
  ElectionObserver observer(*observers_client, kPath);
  const Subscription subscription = witness.listen_to(observer);
  const auto latch = leading_latch(*client);
  const Leadership leadership = latch->leadership();
  leadership.proclaim("before");
  ASSERT_TRUE(witness.comes_to({leadership.token(), "before"}));
  kill_and_restart();
  // The leadership has survived unless the machine was too slow.
  FencingToken leader;
  ASSERT_TRUE(eventually(
      [&] {
        const Leadership now = latch->leadership();
        leader = now.token();
        return !error_of([&] { return now.proclaim("after"), 0; });
      },
      kPatience));
  ASSERT_TRUE(witness.comes_to({leader, "after"}));
  latch->close();
  ASSERT_TRUE(witness.comes_to({}));
}

TEST_F(ElectionObserverFaults, WithoutAServer_ProclaimFailsAtTheDeadline) {
  ClientOptions patient = options();
  patient.session_timeout = 40s;
  const auto client = connect(patient);
  const auto latch = leading_latch(*client);
  const Leadership leadership = latch->leadership();
  server_.kill_hard();
  ASSERT_TRUE(eventually([&] { return !client->is_connected(); }, kPatience));
  EXPECT_EQ(error_of([&] { return leadership.proclaim("never", 50ms), 0; }), Errc::not_connected);
  server_.start();
  ASSERT_TRUE(server_.wait_until_serving()) << server_.log();
  ElectionObserver observer(*client, kPath);
  EXPECT_EQ(observer.state(kPatience).value, std::nullopt);
}

TEST_F(ElectionObserverFaults, InterruptedProclaim_ReturnsAtOnceAndIsNotSentLater) {
  ClientOptions patient = options();
  patient.session_timeout = 60s;
  const auto client = connect(patient);
  const auto latch = leading_latch(*client);
  const Leadership leadership = latch->leadership();
  server_.kill_hard();
  ASSERT_TRUE(eventually([&] { return !client->is_connected(); }, kPatience));
  EXPECT_TRUE(ends_by_interruption([&] { leadership.proclaim("never"); }));
  start_again(*client);
  leadership.proclaim("later");
  EXPECT_EQ(raw().exists(proclamation_writer(leadership)).stat.version, 1)
      << "created, and written once";
}

TEST_F(ElectionObserverFaults, ObserverIsDestroyed_NoWatchRemains) {
  Witness witness;
  const auto client = connect();
  const auto observers_client = connect();
  const auto latch = leading_latch(*client);
  latch->leadership().proclaim("x");
  ASSERT_TRUE(eventually([&] { return watched(server_, latch->leadership().node()); }, kPatience));
  auto observer = std::make_unique<ElectionObserver>(*observers_client, kPath);
  EXPECT_FALSE(watched(server_, kPath + "\n")) << "nobody listens yet";
  const Subscription subscription = witness.listen_to(*observer);
  ASSERT_TRUE(witness.comes_to({latch->token(), "x"}));
  EXPECT_TRUE(watched(server_, proclamation_writer(latch->leadership())));
  observer.reset();
  EXPECT_TRUE(eventually(
      [&] { return !watched(server_, proclamation_writer(latch->leadership())); }, kPatience));
  EXPECT_TRUE(eventually([&] { return !watched(server_, kPath + "\n"); }, kPatience));
}

}  // namespace
}  // namespace zklock::testing
