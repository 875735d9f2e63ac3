// SPDX-License-Identifier: Apache-2.0
// The metrics of a client, on the virtual clock.
#include <algorithm>
#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "tests/model/manual_time.h"
#include "tests/model/path_lock_fixture.h"
#include "tests/model/scripted_coordinator.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

class MetricsModel : public PathLockTest {
 protected:
  using Request = LockWorld::Request;

  /// Returns the request with the label of the tests.
  Request labelled(Request request = {}) {
    request.metrics = {&lock_.core(0).metrics_of("test")};
    return request;
  }
  Request to_lead() {
    Request request = labelled();
    request.metrics.leads = true;
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
  std::uint64_t all_acquires() {
    std::uint64_t count = 0;
    for (const DurationHistogram& each : metrics().acquires) count += each.count();
    return count;
  }
  std::uint64_t all_holds() {
    std::uint64_t count = 0;
    for (const DurationHistogram& each : metrics().ended_holds) count += each.count();
    return count;
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
  expect_rest();
}

TEST_F(MetricsModel, NestedCall_CountsNothing) {
  const Request request = labelled();
  const auto first = granted(0, request);
  const auto nested = granted(0, request);
  EXPECT_EQ(all_acquires(), 1U);
  EXPECT_EQ(metrics().holds, 1U);
  release(first);
  EXPECT_EQ(all_holds(), 0U);
  release(nested);
  EXPECT_EQ(all_holds(), 1U);
  expect_rest();
}

TEST_F(MetricsModel, HandOff_CountsEachOwner) {
  const auto shared = [this] { return labelled({.local = {.batch = 10}}); };
  const auto first = granted(0, shared());
  const auto second = waiting(0, shared());
  const auto third = waiting(0, shared());
  EXPECT_EQ(metrics().waiters, 2U);
  run_for(1s);
  release(first);
  run_for(2s);
  release(second);
  run_for(3s);
  release(third);
  EXPECT_EQ(acquires(AcquireEnd::granted).count(), 3U);
  EXPECT_EQ(acquires(AcquireEnd::granted).sum, 4s);
  EXPECT_EQ(holds(HoldEnd::released).count(), 3U);
  EXPECT_EQ(holds(HoldEnd::released).sum, 6s);
  expect_rest();
}

// The reply to the create would grant the lock.
TEST_F(MetricsModel, CancelledBeforeTheReply_CountsNoHold) {
  const auto call = lock_.acquire(0, labelled());
  while (client(0).can_serve()) lock_.world().run({Step::Kind::serve, 0});
  lock_.cancel(call);
  run();
  expect_ended_with_nothing(call);
  EXPECT_EQ(acquires(AcquireEnd::cancelled).count(), 1U);
  EXPECT_EQ(all_acquires(), 1U);
  EXPECT_EQ(all_holds(), 0U);
  expect_rest();
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
  EXPECT_EQ(all_acquires(), 4U);
  expect_rest();
}

TEST_F(MetricsModel, OwnerWouldDeadlock_IsCounted) {
  const Request reads = labelled(LockWorld::to_read());
  const auto reader = granted(0, reads);
  const auto refused = lock_.acquire(0, labelled(LockWorld::to_write(reads.owner)));
  run();
  EXPECT_EQ(error(refused), Errc::would_deadlock);
  EXPECT_EQ(metrics().deadlocks, 1U);
  EXPECT_EQ(acquires(AcquireEnd::failed).count(), 1U);
  release(reader);
  expect_rest();
}

TEST_F(MetricsModel, Leader_IsCounted) {
  const auto call = granted(0, to_lead());
  EXPECT_EQ(metrics().leaders, 1U);
  lock_.world().pause(0);
  lock_.world().run_for(1h);
  EXPECT_EQ(metrics().leaders, 0U) << "the clock shows the loss before any event";
  lock_.world().resume(0);
  lock_.release(call);
}

TEST_F(MetricsModel, Session_IsCounted) {
  lock_.world().disconnect(0);
  run();
  EXPECT_FALSE(lock_.core(0).metrics().connected);
  lock_.world().reconnect(0);
  run();
  const ClientMetrics all = lock_.core(0).metrics();
  EXPECT_TRUE(all.connected);
  EXPECT_EQ(all.sessions, 1U);
  EXPECT_EQ(all.reconnects, 1U);
  EXPECT_EQ(all.session_timeout, 6s);
  EXPECT_EQ(all.lease_remaining, std::nullopt);
  EXPECT_EQ(all.low_leases, 0U);
}

TEST_F(MetricsModel, SlowQuorum_LeasesAreLow) {
  const auto call = granted(0, labelled());
  EXPECT_GT(lock_.core(0).metrics().lease_remaining, 2s);
  run_for(10s);
  EXPECT_EQ(lock_.core(0).metrics().low_leases, 0U);
  EXPECT_EQ(lock_.core(0).metrics().heartbeat_failures, 0U);
  client(0).cut_off();
  for (int i = 0; i < 40 && lock_.core(0).metrics().lease_remaining > 500ms; ++i) run_for(100ms);
  client(0).mend();
  run();
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::held);
  EXPECT_EQ(lock_.core(0).metrics().low_leases, 1U);
  release(call);
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

}  // namespace
}  // namespace zklock::model
