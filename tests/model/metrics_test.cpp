// SPDX-License-Identifier: Apache-2.0
// The metrics and the health of a client.
#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/manual_time.h"
#include "tests/model/path_lock_fixture.h"
#include "tests/model/scripted_coordinator.h"
#include "zklock/leader_election.h"
#include "zklock/recipes/composite/composite_hold_record.h"

namespace zklock::model {
namespace {

class MetricsModel : public PathLockTest {
 protected:
  /// Returns the request with the label of the tests.
  Request labelled(Request request = {}) {
    request.metrics = {&lock_.core(0).metrics_of("test")};
    return request;
  }
  LockMetrics metrics() {
    const auto all = lock_.core(0).metrics().locks;
    const auto found = std::ranges::find(all, "test", &LockMetrics::lock);
    return found == all.end() ? LockMetrics{} : *found;
  }
  DurationHistogram acquires(AcquireEnd end) {
    return metrics().acquires.at(static_cast<std::size_t>(end));
  }
  DurationHistogram holds(HoldEnd end) {
    return metrics().ended_holds.at(static_cast<std::size_t>(end));
  }
};

TEST_F(MetricsModel, UnconfirmedRelease_IsPendingDelete) {
  const auto call = granted(0);
  EXPECT_EQ(lock_.core(0).metrics().pending_deletes, 0U);
  lock_.release(call);
  EXPECT_EQ(lock_.core(0).metrics().pending_deletes, 1U);
  run();
  EXPECT_EQ(lock_.core(0).metrics().pending_deletes, 0U);
}

TEST_F(MetricsModel, Waiter_WaitsAndHoldsForItsTimes) {
  const auto other = granted(1);
  const auto call = waiting(0, labelled());
  run_for(2s);
  EXPECT_EQ(metrics().waiters, 1U);
  EXPECT_EQ(metrics().oldest_wait, 2s);
  EXPECT_EQ(metrics().holds, 0U);
  release(other);
  run_for(1s);
  EXPECT_EQ(acquires(AcquireEnd::granted).sum, 2s);
  release(call);
  EXPECT_EQ(holds(HoldEnd::released).sum, 1s);
  EXPECT_EQ(metrics().oldest_wait, 0s);
}

TEST_F(MetricsModel, EachEndOfCall_IsCounted) {
  const auto other = granted(1);
  const auto late = waiting(0, labelled({.timeout = 1s}));
  run_for(1s);
  expect_ended_with_nothing(late);
  EXPECT_EQ(acquires(AcquireEnd::timeout).sum, 1s);
  const auto once = lock_.acquire(0, labelled({.timeout = 0s}));
  run();
  expect_ended_with_nothing(once);
  EXPECT_EQ(acquires(AcquireEnd::timeout).count(), 2U);
  lock_.cancel(waiting(0, labelled()));
  EXPECT_EQ(acquires(AcquireEnd::cancelled).count(), 1U);
  run();
  const auto failed = lock_.acquire(0, labelled(LockWorld::permits(1, 2)));
  lock_.path_lock(0)->fail_waiting(Errc::no_auth, "no permission");
  run();
  EXPECT_EQ(error(failed), Errc::no_auth);
  EXPECT_EQ(acquires(AcquireEnd::failed).count(), 1U);
  EXPECT_EQ(metrics().deadlocks, 0U);
  release(other);
  EXPECT_EQ(acquires(AcquireEnd::granted).count(), 0U);
}

TEST_F(MetricsModel, OwnerWouldDeadlock_IsCounted) {
  const Request reads = labelled(LockWorld::to_read());
  granted(0, reads);
  const auto refused = lock_.acquire(0, labelled(LockWorld::to_write(reads.owner)));
  run();
  EXPECT_EQ(error(refused), Errc::would_deadlock);
  EXPECT_EQ(metrics().deadlocks, 1U);
  EXPECT_EQ(acquires(AcquireEnd::failed).count(), 1U);
}

TEST_F(MetricsModel, Leader_IsCounted) {
  Request request = labelled();
  request.metrics.leads = true;
  granted(0, request);
  EXPECT_EQ(metrics().leaders, 1U);
  lock_.world().pause(0);
  lock_.world().run_for(1h);
  EXPECT_EQ(metrics().leaders, 0U) << "the clock shows the loss before any event";
  lock_.world().resume(0);
}

/// One request of each kind of operation was answered.
class AnsweredRequests final : public ScriptedCoordinator {
 public:
  client::RequestId submit(client::Request /*request*/, client::ReplyHandler /*handler*/) override {
    return {};
  }
  client::CoordinatorStats stats() const override {
    client::CoordinatorStats stats;
    for (DurationHistogram& each : stats.requests) each.counts[0] = 1;
    return stats;
  }
};

TEST(RequestMetrics, OperationsWithOneName_AreAdded) {
  const auto client =
      make_client(std::make_shared<AnsweredRequests>(), std::make_shared<ManualTime>());
  std::uint64_t count = 0;
  const auto requests = client->metrics().requests;
  for (const zklock::RequestMetrics& each : requests) count += each.durations.count();
  EXPECT_EQ(count, client::CoordinatorStats{}.requests.size());
  EXPECT_LT(requests.size(), count);
}

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

TEST_F(HealthModel, Disconnected_IsDegraded) {
  lock_.world().disconnect(0);
  run_for(2s);
  EXPECT_EQ(problem(), Kind::disconnected);
  EXPECT_EQ(health().problems.at(0).age, 2s);
  EXPECT_FALSE(lock_.core(0).metrics().connected);
  reconnect(0);
  EXPECT_EQ(health().state, HealthState::ok);
  const ClientMetrics all = lock_.core(0).metrics();
  EXPECT_TRUE(all.connected);
  EXPECT_EQ(all.sessions, 1U);
  EXPECT_EQ(all.reconnects, 1U);
  EXPECT_EQ(all.session_timeout, 6s);
  EXPECT_EQ(all.lease_remaining, std::nullopt);
  EXPECT_EQ(all.low_leases, 0U);
}

TEST_F(HealthModel, LeaseRunsOut_IsLow) {
  const auto metrics = [this] { return lock_.core(0).metrics(); };
  const auto call = granted(0);
  EXPECT_GT(metrics().lease_remaining, 2s);
  run_for(10s);
  EXPECT_EQ(metrics().low_leases, 0U);
  EXPECT_EQ(metrics().heartbeat_failures, 0U);
  client(0).cut_off();
  for (int i = 0; i < 40 && metrics().lease_remaining > 500ms; ++i) run_for(100ms);
  EXPECT_EQ(problem(), Kind::lease_low);
  client(0).mend();
  run();
  EXPECT_EQ(health().state, HealthState::ok);
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::held);
  EXPECT_EQ(metrics().low_leases, 1U);
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
}

TEST_F(HealthModel, LossCallbackOfSeveralLocks_IsRecorded) {
  const auto call = granted(0);
  std::vector<detail::CompositeHoldRecord::Part> parts;
  parts.push_back({std::move(lock_.call(call).hold), lock_.core(0).shared_from_this(), 0});
  auto held =
      std::make_shared<detail::CompositeHoldRecord>(Owner::unique(), std::move(parts), 1, 1);
  const std::string node = lock_.call(call).node;
  {
    const std::stop_callback on_loss(held->loss_token(), note_running());
    lock_.world().expire(0);
    lock_.world().run_all();
  }
  EXPECT_EQ(running_, "a loss callback of several locks, with " + node);
  EXPECT_FALSE(oldest_callback().has_value());
  detail::CompositeHoldRecord::release(std::move(held));
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
