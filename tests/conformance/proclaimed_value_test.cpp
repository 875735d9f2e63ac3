// SPDX-License-Identifier: Apache-2.0
// The value that a leader proclaims: its znode, its errors and its deadline.
#include <cstddef>
#include <exception>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/election_observer_fixture.h"
#include "conformance/interruption.h"
#include "conformance/leader_fixture.h"
#include "support/coroutines.h"

namespace zklock::testing {
namespace {

TEST_F(ElectionObserverTest, StaleLeader_CannotProclaim) {
  const auto first = leading_latch(*client_);
  const Leadership stale = first->leadership();
  stale.proclaim("before");
  const auto second = start_latch(*other_);
  ASSERT_TRUE(reaches_nodes(3));
  const std::string node = proclaimed_node(stale);
  const auto version = raw().exists(node).stat.version;
  ASSERT_EQ(raw().delete_node(stale.node()), ZOK);
  EXPECT_EQ(error_of([&] { return stale.proclaim("after"), 0; }), Errc::lock_lost);
  const auto now = raw().exists(node);
  EXPECT_TRUE(now.rc == ZNONODE || now.stat.version == version);
  const Leadership next = next_leadership(*second, stale.token());
  EXPECT_EQ(state(), (ReportedState{next.token(), std::nullopt}));
  EXPECT_TRUE(eventually([&] { return raw().exists(node).rc == ZNONODE; }, kTestTimeout));
}

// Simulates a value of another leader at this leader's value path. That happens when the lock path
// was recreated and the sequence numbers restarted.
TEST_F(ElectionObserverTest, ValueWithAnotherToken_IsIgnored) {
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  leadership.proclaim("mine");
  const std::string said = raw().get_data(proclaimed_node(leadership)).data;
  const std::string token = std::to_string(leadership.token().zxid);
  ASSERT_NE(said.find(token), std::string::npos);
  for (const std::string& other : {std::string("1"), token + "1", "-" + token}) {
    std::string forged = said;
    forged.replace(forged.find(token), token.size(), other);
    ASSERT_EQ(raw().set_data(proclaimed_node(leadership), forged).rc, ZOK);
    EXPECT_EQ(state(), (ReportedState{leadership.token(), std::nullopt}));
  }
}

TEST_F(ElectionObserverTest, UnreadableValue_IsReadOnceTheAclAllowsIt) {
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  leadership.proclaim("a");
  ACL unreadable{ZOO_PERM_ALL & ~ZOO_PERM_READ,
                 {const_cast<char*>("world"), const_cast<char*>("anyone")}};
  ASSERT_EQ(raw().set_acl(proclaimed_node(leadership), ACL_vector{1, &unreadable}), ZOK);
  ElectionStateLog states;
  ElectionObserver observer(*observers_client_, kPath);
  const Subscription subscription = states.listen_to(observer);
  ASSERT_TRUE(states.reaches({leadership.token(), std::nullopt}));
  EXPECT_EQ(error_of([&] { return state(), 0; }), Errc::no_auth);
  // ZooKeeper fires no watch event for a changed ACL.
  ASSERT_EQ(raw().set_acl(proclaimed_node(leadership), ZOO_OPEN_ACL_UNSAFE), ZOK);
  EXPECT_TRUE(states.reaches({leadership.token(), "a"}));
  EXPECT_EQ(states.size(), 2U);
}

TEST_F(ElectionObserverTest, ForeignLeader_HasNoValue) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  const auto foreign = raw().create(kPath + "/_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-",
                                    "theirs", ZOO_EPHEMERAL_SEQUENTIAL);
  ASSERT_EQ(foreign.rc, ZOK);
  const ElectionState state = observer_.state(kTestTimeout);
  ASSERT_TRUE(state.leader);
  EXPECT_EQ(kPath + "/" + state.leader->node, foreign.path);
  EXPECT_EQ(state.value, std::nullopt);
}

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
  EXPECT_EQ(error_of([] { return Leadership().proclaim("without a leadership"), 0; }),
            Errc::lock_lost);
  EXPECT_TRUE(client_->flush(kTestTimeout));
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
  const std::string node = proclaimed_node(latch->leadership());
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
  EXPECT_EQ(state(), (ReportedState{leadership.token(), std::nullopt}));
}

TEST_F(ElectionObserverFaults, WithoutAServer_ProclaimFailsAtTheDeadline) {
  ClientOptions patient = options();
  patient.session_timeout = 40s;
  const auto client = connect(patient);
  const auto latch = leading_latch(*client);
  const Leadership leadership = latch->leadership();
  server_.kill();
  ASSERT_TRUE(eventually([&] { return !client->is_connected(); }, kTestTimeout));
  EXPECT_EQ(error_of([&] { return leadership.proclaim("never", 50ms), 0; }), Errc::not_connected);
  server_.start();
  ASSERT_TRUE(server_.wait_until_serving()) << server_.log();
  ElectionObserver observer(*client, kPath);
  EXPECT_EQ(observer.state(kTestTimeout).value, std::nullopt);
}

TEST_F(ElectionObserverFaults, InterruptedProclaim_ReturnsAtOnceAndIsNotSentLater) {
  ClientOptions patient = options();
  patient.session_timeout = 60s;
  const auto client = connect(patient);
  const auto latch = leading_latch(*client);
  const Leadership leadership = latch->leadership();
  server_.kill();
  ASSERT_TRUE(eventually([&] { return !client->is_connected(); }, kTestTimeout));
  EXPECT_TRUE(ends_by_interruption([&] { leadership.proclaim("never"); }));
  start_again(*client);
  leadership.proclaim("later");
  EXPECT_EQ(raw().exists(proclaimed_node(leadership)).stat.version, 1)
      << "created, and written once";
}

}  // namespace
}  // namespace zklock::testing
