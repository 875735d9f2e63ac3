// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/simulation/sim_ensemble.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/model/recorder.h"
#include "zklock/testing/simulation/sim_dispatcher.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using namespace client::request;

constexpr std::int32_t kLastSequence = std::numeric_limits<std::int32_t>::max();

class SimEnsembleTest : public ::testing::Test, public SimEnsemble::Server {
 protected:
  SimEnsembleTest() {
    ensemble.attach(*this);
    ensemble.create_container("/p");
    session = ensemble.open_session(6s);
  }
  Reply create(const std::string& parent = "/p") {
    return ensemble.apply(session, CreateContender{parent, "lock-", "data"});
  }
  void on_node_event(const std::string& path, WatchEvent event, const NodeAcl& /*acl*/) override {
    events.push_back(path + " " + to_string(event));
  }
  void on_session_gone(SessionId id) override { ended.push_back(id); }

  SimClock clock;
  SimEnsemble ensemble{clock};
  SessionId session;
  std::vector<std::string> events;
  std::vector<SessionId> ended;
};

TEST(SimClock, SeveralTimers_RunInOrderOfTimeAndSubmission) {
  SimClock clock;
  const Instant start = clock.now();
  std::string ran;
  clock.at(start + 2s, [&] { ran += 'c'; });
  clock.at(start + 1s, [&] { ran += 'a'; });
  const TimerId cancelled = clock.at(start + 1s, [&] { ran += 'x'; });
  clock.at(start + 1s, [&] {
    ran += 'b';
    clock.at(start, [&] { ran += '!'; });  // overdue: runs immediately, not back in time
  });
  clock.cancel(cancelled);
  EXPECT_EQ(clock.next_due(), start + 1s);
  EXPECT_TRUE(clock.run_next());
  EXPECT_EQ(ran, "a");
  clock.advance_to(start + 1500ms);
  EXPECT_EQ(ran, "ab!");
  EXPECT_EQ(clock.now(), start + 1500ms);
  EXPECT_TRUE(clock.run_next());
  EXPECT_FALSE(clock.run_next());
  EXPECT_EQ(ran, "ab!c");
  EXPECT_EQ(clock.next_due(), std::nullopt);
}

TEST(SimClock, ProcessHeld_TimersAreOverdueAfterwards) {
  SimClock clock;
  ProcessClock process(clock, 1);
  const Instant start = clock.now();
  std::string ran;
  process.at(start + 1s, [&] { ran += 'p'; });
  clock.at(start + 2s, [&] { ran += 's'; });
  clock.hold(1);
  clock.advance_to(start + 5s);
  EXPECT_EQ(ran, "s");
  EXPECT_EQ(clock.next_due(), std::nullopt);
  clock.release(1);
  EXPECT_EQ(clock.next_due(), start + 5s);
  clock.advance_to(start + 5s);
  EXPECT_EQ(ran, "sp");
}

TEST_F(SimEnsembleTest, SessionNotTouchedForTimeout_Expires) {
  const Instant start = clock.now();
  create();
  create();
  clock.advance_to(start + 4s);
  ensemble.touch(session);
  clock.advance_to(start + 10s - 1ns);
  EXPECT_TRUE(ensemble.is_alive(session));
  EXPECT_EQ(ensemble.ephemerals(session).size(), 2u);
  events.clear();
  clock.advance_to(start + 10s);
  EXPECT_FALSE(ensemble.is_alive(session));
  EXPECT_EQ(ended, std::vector<SessionId>{session});
  EXPECT_EQ(events, (Log{"/p/lock-0000000000 deleted", "/p children", "/p/lock-0000000001 deleted",
                         "/p children"}));
  EXPECT_EQ(create().status, Status::session_ended);
  EXPECT_EQ(clock.pending(), 0u);
}

TEST_F(SimEnsembleTest, NewTimeout_CountsFromLastTouch) {
  const Instant start = clock.now();
  ensemble.set_timeout(session, 2s);
  const SessionId immortal = ensemble.open_session(0s);
  clock.advance_to(start + 2s);
  EXPECT_FALSE(ensemble.is_alive(session));
  clock.advance_to(start + 24h);
  EXPECT_TRUE(ensemble.is_alive(immortal));
}

TEST_F(SimEnsembleTest, NewLeader_GrantsEachSessionItsFullTimeout) {
  const Instant start = clock.now();
  clock.advance_to(start + 5s);
  ensemble.restart();
  clock.advance_to(start + 10s);
  EXPECT_TRUE(ensemble.is_alive(session));
  clock.advance_to(start + 11s);
  EXPECT_FALSE(ensemble.is_alive(session));
}

}  // namespace
}  // namespace zklock::model
