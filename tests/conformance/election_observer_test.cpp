// SPDX-License-Identifier: Apache-2.0
// Observers of an election: the states that they return and report.
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/election_observer_fixture.h"
#include "conformance/leader_fixture.h"
#include "conformance/single_thread.h"

namespace zklock::testing {
namespace {

TEST_F(ElectionObserverTest, State_HasTheLeaderAndItsProclaimedValue) {
  EXPECT_EQ(observer_.path(), kPath);
  EXPECT_EQ(state(), ReportedState());
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
    EXPECT_EQ(state(), (ReportedState{leadership.token(), value}));
  }
  EXPECT_EQ(raw().exists(proclaimed_node(leadership)).stat.ephemeralOwner, client_->session_id());
}

TEST_F(ElectionObserverTest, EachChange_IsReportedOnce) {
  ElectionStateLog states;
  ElectionObserver observer(*observers_client_, kPath);
  const Subscription subscription = states.listen_to(observer);
  std::vector<ReportedState> expected{{}};
  const auto comes = [&](const ReportedState& next) {
    expected.push_back(next);
    return states.reaches(next);
  };
  ASSERT_TRUE(states.reaches({}));
  auto first = leading_latch(*client_);
  const Leadership one = first->leadership();
  ASSERT_TRUE(comes({one.token(), std::nullopt}));
  one.proclaim("a");
  ASSERT_TRUE(comes({one.token(), "a"}));
  const auto second = start_latch(*other_);
  ASSERT_TRUE(
      eventually([&] { return observer_.state().leader && nodes().size() == 3; }, kTestTimeout));
  one.proclaim("a");  // no change
  one.proclaim("b");
  ASSERT_TRUE(comes({one.token(), "b"}));
  first->close();
  ASSERT_TRUE(second->wait_until_leader(kTestTimeout));
  const Leadership two = second->leadership();
  ASSERT_TRUE(comes({two.token(), std::nullopt}));
  two.proclaim("b");
  ASSERT_TRUE(comes({two.token(), "b"}));
  second->close();
  ASSERT_TRUE(comes({}));
  EXPECT_EQ(states.all(), expected);

  ElectionStateLog late;  // its first state is the current one
  const Subscription another = late.listen_to(observer);
  ASSERT_TRUE(late.reaches({}));
  EXPECT_EQ(late.size(), 1U);
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(other_->flush(kTestTimeout));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(ElectionObserverTest, SessionOfTheObserverEnds_ObservationContinues) {
  ElectionStateLog states;
  ElectionObserver observer(*observers_client_, kPath);
  const Subscription subscription = states.listen_to(observer);
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  for (int i = 0; i < 2; ++i) {
    const std::string value = std::to_string(i);
    leadership.proclaim(value);
    ASSERT_TRUE(states.reaches({leadership.token(), value}));
    expire_session(chroot_.hosts(), observers_client_->session_id());
    leadership.proclaim(value + " and more");
    ASSERT_TRUE(states.reaches({leadership.token(), value + " and more"}));
  }
  // After the first state, every state has this leader.
  const auto all = states.all();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].leader, leadership.token());
}

TEST_F(ElectionObserverTest, ExecutorGiven_ListenerRunsOnIt) {
  ElectionStateLog states;
  std::atomic<bool> elsewhere{false};
  SingleThread single;
  std::promise<std::thread::id> thread;
  single([&] { thread.set_value(std::this_thread::get_id()); });
  const auto expected = thread.get_future().get();
  ElectionObserver observer(*observers_client_, kPath, std::ref(single));
  const Subscription subscription = observer.add_listener([&](const ElectionState& state) {
    if (std::this_thread::get_id() != expected) elsewhere = true;
    states.listener()(state);
  });
  const auto latch = leading_latch(*client_);
  latch->leadership().proclaim("x");
  ASSERT_TRUE(states.reaches({latch->token(), "x"}));
  EXPECT_FALSE(elsewhere);
}

TEST_F(ElectionObserverTest, SlowListener_ReceivesTheNewestState) {
  ElectionStateLog slow;
  ElectionStateLog quick;
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
    ASSERT_TRUE(quick.reaches({latch->token(), std::to_string(i)}));
  }
  EXPECT_EQ(slow.size(), 1U);
  gate.open();
  ASSERT_TRUE(slow.reaches({latch->token(), "4"}));
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

TEST_F(ElectionObserverFaults, ServerRestarts_ObservationContinues) {
  ElectionStateLog states;
  ClientOptions patient = options();
  patient.session_timeout = 40s;
  const auto client = connect(patient);
  const auto observers_client = connect(patient);
  ElectionObserver observer(*observers_client, kPath);
  const Subscription subscription = states.listen_to(observer);
  const auto latch = leading_latch(*client);
  const Leadership leadership = latch->leadership();
  leadership.proclaim("before");
  ASSERT_TRUE(states.reaches({leadership.token(), "before"}));
  kill_and_restart();
  // The leadership has survived unless the machine was too slow.
  FencingToken leader;
  ASSERT_TRUE(eventually(
      [&] {
        const Leadership now = latch->leadership();
        leader = now.token();
        return !error_of([&] { return now.proclaim("after"), 0; });
      },
      kTestTimeout));
  ASSERT_TRUE(states.reaches({leader, "after"}));
  latch->close();
  ASSERT_TRUE(states.reaches({}));
}

TEST_F(ElectionObserverFaults, ObserverIsDestroyed_NoWatchRemains) {
  ElectionStateLog states;
  const auto client = connect();
  const auto observers_client = connect();
  const auto latch = leading_latch(*client);
  latch->leadership().proclaim("x");
  ASSERT_TRUE(
      eventually([&] { return watched(server_, latch->leadership().node()); }, kTestTimeout));
  auto observer = std::make_unique<ElectionObserver>(*observers_client, kPath);
  EXPECT_FALSE(watched(server_, kPath + "\n")) << "no listener yet";
  const Subscription subscription = states.listen_to(*observer);
  ASSERT_TRUE(states.reaches({latch->token(), "x"}));
  EXPECT_TRUE(watched(server_, proclaimed_node(latch->leadership())));
  observer.reset();
  EXPECT_TRUE(eventually([&] { return !watched(server_, proclaimed_node(latch->leadership())); },
                         kTestTimeout));
  EXPECT_TRUE(eventually([&] { return !watched(server_, kPath + "\n"); }, kTestTimeout));
}

}  // namespace
}  // namespace zklock::testing
