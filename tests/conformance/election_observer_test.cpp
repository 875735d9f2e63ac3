// SPDX-License-Identifier: Apache-2.0
// Observers of an election: the states that they return and report.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/election_observer_fixture.h"
#include "conformance/leader_fixture.h"

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
