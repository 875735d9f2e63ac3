// SPDX-License-Identifier: Apache-2.0
// The health of a client, on the virtual clock. The session timeout is 6 s.
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/client_factory.h"
#include "tests/model/path_lock_fixture.h"
#include "tests/model/test_candidate.h"
#include "zklock/leader_election.h"
#include "zklock/recipes/composite/composite_grant.h"

namespace zklock::model {
namespace {

class HealthModel : public PathLockTest {
 protected:
  using Kind = HealthProblem::Kind;

  Health health() { return lock_.core(0).health(); }
  /// Returns the kind of the only problem, or nothing.
  std::optional<Kind> problem() {
    const auto problems = health().problems;
    EXPECT_LE(problems.size(), 1U);
    if (problems.empty()) return std::nullopt;
    return problems.front().kind;
  }
  std::optional<std::pair<std::string, core::Instant>> oldest_callback() {
    const detail::EngineLock lock({lock_.core(0)});
    return lock_.core(0).records().callbacks.oldest();
  }
  /// Returns a callback that stores what runs after the end of its hold.
  auto note_running() {
    return [this] {
      const auto oldest = oldest_callback();
      if (oldest) running_ = oldest->first;
    };
  }

  std::optional<std::string> running_;
};

TEST_F(HealthModel, HolderAndWaiter_AreHealthy) {
  EXPECT_EQ(health().state, HealthState::ok);
  const auto holder = granted(0);
  const auto waiter = waiting(0);
  run_for(1h);
  EXPECT_EQ(health().state, HealthState::ok);
  release(holder);
  release(waiter);
  expect_rest();
}

TEST_F(HealthModel, Disconnected_IsDegraded) {
  lock_.world().disconnect(0);
  run_for(2s);
  EXPECT_EQ(problem(), Kind::disconnected);
  EXPECT_EQ(health().problems.at(0).age, 2s);
  lock_.world().reconnect(0);
  run();
  EXPECT_EQ(health().state, HealthState::ok);
}

TEST_F(HealthModel, LeaseRunsOut_IsLow) {
  const auto call = granted(0);
  run_for(10s);
  client(0).cut_off();
  for (int i = 0; i < 40 && !problem(); ++i) run_for(100ms);
  EXPECT_EQ(problem(), Kind::lease_low);
  client(0).mend();
  run();
  EXPECT_EQ(health().state, HealthState::ok);
  release(call);
}

TEST_F(HealthModel, ThreeSessionsSoon_AreShort) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(problem(), std::nullopt);
    lock_.world().expire(0);
    run();
    if (!client(0).is_connected()) lock_.world().reconnect(0);
    run_for(1s);
  }
  EXPECT_EQ(problem(), Kind::sessions_short);
  run_for(1min);
  EXPECT_EQ(health().state, HealthState::ok);
}

TEST_F(HealthModel, LossCallbackRuns_IsRecorded) {
  const auto call = granted(0);
  const std::stop_callback on_loss(lock_.call(call).hold.loss_token(), note_running());
  lock_.world().expire(0);
  run();
  EXPECT_EQ(running_, "a loss callback of /locks/a");
  EXPECT_FALSE(oldest_callback().has_value());
  release(call);
}

TEST_F(HealthModel, LossCallbackOfSeveralLocks_IsRecorded) {
  const auto call = granted(0);
  std::vector<detail::CompositeGrant::Part> parts;
  parts.push_back({std::move(lock_.call(call).hold), lock_.core(0).shared_from_this(), 0});
  auto held = std::make_shared<detail::CompositeGrant>(Owner::unique(), std::move(parts), 1, 1);
  const std::string node = lock_.call(call).node;
  {
    const std::stop_callback on_loss(held->loss_token(), note_running());
    lock_.world().expire(0);
    lock_.world().run_all();
  }
  EXPECT_EQ(running_, "a loss callback of several locks, with " + node);
  EXPECT_FALSE(oldest_callback().has_value());
  detail::CompositeGrant::release(std::move(held));
}

TEST_F(HealthModel, EndCallbackOfLeadership_IsRecorded) {
  const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
  candidate->contend();
  run();
  ASSERT_TRUE(candidate->leads());
  const Leadership leadership = candidate->leadership_state()->leadership();
  const std::stop_callback on_end(leadership.end_token(), note_running());
  lock_.world().expire(0);
  run();
  EXPECT_EQ(running_, "a loss callback of /locks/a");
  EXPECT_FALSE(oldest_callback().has_value());
  candidate->close();
}

TEST_F(HealthModel, FunctionAfterLoss_IsSlowThenStuck) {
  const auto public_client = detail::ClientFactory::make(
      std::static_pointer_cast<detail::ClientCore>(lock_.core(0).shared_from_this()));
  std::promise<void> began;
  std::promise<void> may_return;
  LeaderElection election(*public_client, "/locks/leader", {}, [&](Leadership&) {
    began.set_value();
    may_return.get_future().wait();
  });
  election.start();
  run();
  began.get_future().wait();
  run_for(1h);
  EXPECT_EQ(problem(), std::nullopt) << "the leadership lasts";
  election.withdraw();
  run_for(10s - 1ns);
  EXPECT_EQ(problem(), std::nullopt);
  run_for(1ns);
  EXPECT_EQ(problem(), Kind::callback_slow);
  EXPECT_EQ(health().problems.at(0).text,
            "the leader's function of /locks/leader has run for 10 s since its hold or leadership "
            "ended");
  run_for(20s);
  EXPECT_EQ(problem(), Kind::callback_stuck);
  EXPECT_EQ(health().state, HealthState::failed);
  may_return.set_value();
  election.close();
  run();
  EXPECT_EQ(problem(), std::nullopt);
}

}  // namespace
}  // namespace zklock::model
