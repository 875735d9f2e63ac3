// SPDX-License-Identifier: Apache-2.0
// The metrics and the health of a client on a real server. tests/model has the rest.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/fork_and.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class Metrics : public LockTest {
 protected:
  DurationHistogram requests(const std::string& operation) const {
    const auto all = client_->metrics().requests;
    const auto found = std::ranges::find(all, operation, &RequestMetrics::operation);
    return found == all.end() ? DurationHistogram{} : found->durations;
  }
  LockMetrics unnamed() const {
    const auto all = client_->metrics().locks;
    return all.size() == 1 && all[0].lock == "unnamed" ? all[0] : LockMetrics{};
  }

  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(Metrics, LockAndUnlock_AreCounted) {
  const auto before = requests("create").count();
  mutex_.lock();
  mutex_.lock();
  const ClientMetrics held = client_->metrics();
  EXPECT_TRUE(held.connected);
  EXPECT_EQ(held.sessions, 1U);
  EXPECT_EQ(held.session_timeout, client_->session_timeout());
  EXPECT_GT(held.lease_remaining, 0s);
  EXPECT_GT(held.node_bytes, kPath.size());
  EXPECT_LT(held.node_bytes, held.node_limit_bytes);
  EXPECT_EQ(unnamed().holds, 1U);
  mutex_.unlock();
  mutex_.unlock();
  ASSERT_TRUE(client_->flush(kTestTimeout));
  EXPECT_EQ(unnamed().acquires[0].count(), 1U);
  EXPECT_EQ(unnamed().ended_holds[0].count(), 1U);
  EXPECT_GE(requests("create").count(), before + 1);  // of the path and the contender
  EXPECT_GT(requests("create").sum, 0ns);
  EXPECT_EQ(client_->metrics().pending_deletes, 0U);
  EXPECT_EQ(client_->metrics().node_bytes, 0U);
  EXPECT_EQ(client_->health().state, HealthState::ok);
}

TEST_F(Metrics, ClosedClient_KeepsItsCounts) {
  { const Hold hold = mutex_.acquire(); }
  client_->close();
  EXPECT_EQ(unnamed().ended_holds[0].count(), 1U);
  EXPECT_FALSE(client_->metrics().connected);
  const Health health = client_->health();
  EXPECT_EQ(health.state, HealthState::failed);
  EXPECT_EQ(health.problems.at(0).kind, HealthProblem::Kind::closed);
}

TEST_F(Metrics, ForkedChild_Throws) {
  const auto child = fork_and([&] {
    const bool refused = error_of([&] { return client_->metrics(); }) == Errc::forked &&
                         error_of([&] { return client_->health(); }) == Errc::forked;
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child, 0);
}

}  // namespace
}  // namespace zklock::testing
