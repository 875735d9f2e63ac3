// SPDX-License-Identifier: Apache-2.0
// Calls that are cancelled, that time out, or whose coroutine is destroyed.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/lock_world.h"
#include "tests/model/path_lock_fixture.h"
#include "tests/support/coroutines.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_name.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

using testing::Owned;

class AbandonedCall : public PathLockTest {
 protected:
  AbandonedCall() { lock_.use(0); }

  bool flushed() { return lock_.core(0).flush(Deadline::passed()); }
  std::size_t nodes_of_client() { return ensemble().ephemerals(client(0).session()).size(); }
  /// The clock of client 0 stands at this time after that many readings.
  void stand_at(Instant time, int reading) {
    lock_.world().scheduler(0).when_read = [this, time, left = reading]() mutable {
      if (left-- == 0) lock_.world().clock().stand_at(time);
    };
  }
  void run_until_end() {
    run();
    lock_.world().scheduler(0).when_read = nullptr;
    run_for(10ms);
  }
};

// The release would grant the contender of `call` at once, without a reply.
TEST_F(AbandonedCall, ReleaseAfterStop_GrantsTheNextContender) {
  const std::size_t holder = granted(0);
  const std::size_t call = waiting(0);
  waiting(1);
  lock_.cancel(call);
  lock_.release(holder);
  expect_ended_with_nothing(call);
  EXPECT_FALSE(flushed());
  run();
  EXPECT_TRUE(flushed());
  EXPECT_EQ(nodes_of_client(), 0U);
}

// A stop comes at each step between the release and the grant.
TEST_F(AbandonedCall, StopAtEveryStepOfGrant_LeavesNoZnode) {
  const core::CohortPolicy local{.batch = 8};
  const std::vector<std::pair<Request, Request>> pairs = {
      {{}, {}},
      {{.local = local}, {.local = local}},
      {LockWorld::to_write(), LockWorld::to_read()},
      {LockWorld::permits(1, 1), LockWorld::permits(1, 1)},
      {LockWorld::shared_permits(1, 1), LockWorld::shared_permits(1, 1)},
      {LockWorld::at_gate(1), LockWorld::at_gate(1)},
      {{.lock_delay = 1s}, {.lock_delay = 1s}}};
  for (const auto& [held, wanted] : pairs) {
    bool more = true;
    for (int steps = 0; more; ++steps) {
      auto first = held;
      auto second = wanted;
      first.owner = Owner::unique();
      second.owner = Owner::unique();
      const std::size_t holder = granted(1, first);
      const std::size_t call = waiting(0, second);
      lock_.release(holder);
      lock_.path_lock(1)->check_clocks();
      for (int i = 0; i < steps && more; ++i) more = step();
      lock_.cancel(call);
      if (is_granted(call)) lock_.release(call);
      EXPECT_FALSE(more && flushed() && nodes_of_client() > 0) << steps;
      expect_rest();
      ASSERT_EQ(nodes_of_client(), 0U) << steps;
      ASSERT_FALSE(HasFailure()) << steps;
    }
  }
}

TEST_F(AbandonedCall, LongChainOfAbandonedCalls_IsReleasedInLoop) {
  for (const auto& [crowd, local] : {std::pair(3'000U, core::CohortPolicy{}),
                                     std::pair(30'000U, core::CohortPolicy{.batch = 1'000'000})}) {
    granted(0, {.local = local});
    std::vector<std::size_t> calls;
    for (unsigned i = 0; i < crowd; ++i) calls.push_back(lock_.acquire(0, {.local = local}));
    run();
    for (const std::size_t call : calls) lock_.cancel(call);
    finish();
  }
}

TEST_F(AbandonedCall, NextSingleAttempt_IgnoresAbandonedZnode) {
  for (const core::CohortPolicy local : {core::CohortPolicy{}, core::CohortPolicy{.batch = 8}}) {
    const std::size_t holder = granted(1);
    const std::size_t call = waiting(0, {.local = local});
    lock_.cancel(call);
    lock_.release(holder);
    lock_.path_lock(1)->check_clocks();
    client(1).serve();
    const std::size_t attempt = lock_.acquire(0, {.timeout = 0s, .local = local});
    run();
    EXPECT_TRUE(is_granted(attempt));
    finish();
  }
}

// The server answers reads, so the client is connected. No quorum operation is answered.
TEST_F(AbandonedCall, EndlessCallThatJoinsAttempt_ReportsError) {
  client(0).isolate();
  const Owner owner = Owner::unique();
  lock_.acquire(0, {.owner = owner, .timeout = 0s});
  const std::size_t endless = lock_.acquire(0, {.owner = owner});
  run_for(lock_.core(0).settings().connection_timeout + 1s);
  ASSERT_TRUE(lock_.call(endless).error) << "neither the lock nor an error";
  EXPECT_EQ(lock_.call(endless).error->errc(), Errc::not_connected);
  lock_.world().disconnect(0);
  lock_.world().reconnect(0);
}

TEST_F(AbandonedCall, AttemptThatJoinsWaitingCall_EndsAtOnce) {
  const std::size_t holder = granted(1);
  const Owner owner = Owner::unique();
  const std::size_t waits = lock_.acquire(0, {.owner = owner});
  run();
  const std::size_t attempt = lock_.acquire(0, {.owner = owner, .timeout = 0s});
  expect_ended_with_nothing(attempt);
  EXPECT_EQ(lock_.call(waits).outcomes, 0);
  lock_.release(holder);
  run();
}

// The deadline of the joined call passes at one of the readings of the clock. Some of them are
// between the end of the attempt and the start of the next contender.
TEST_F(AbandonedCall, DeadlineOfJoiningCallPasses_LeavesNothing) {
  for (int reading = 0; reading < 40; ++reading) {
    SCOPED_TRACE(reading);
    granted(1);
    const Owner owner = Owner::unique();
    lock_.acquire(0, {.owner = owner, .timeout = 0s});
    const std::size_t joined = lock_.acquire(0, {.owner = owner, .timeout = 1ms});
    stand_at(lock_.world().now() + 1ms, reading);
    run_until_end();
    expect_ended_with_nothing(joined);
    finish();
  }
}

// The deadline passes at one of the readings of the clock, after the public call has read it. The
// contender is no single attempt: the call that joins it takes over its znode.
TEST_F(AbandonedCall, DeadlinePassesWhileCallBegins_IsNoSingleAttempt) {
  for (int reading = 0; reading < 10; ++reading) {
    SCOPED_TRACE(reading);
    const std::size_t holder = granted(1);
    reset_counts();
    const Owner owner = Owner::unique();
    stand_at(lock_.world().now() + 1ms, reading);
    const std::size_t late = lock_.acquire(0, {.owner = owner, .timeout = 1ms});
    const std::size_t joined = lock_.acquire(0, {.owner = owner});
    run_until_end();
    expect_ended_with_nothing(late);
    EXPECT_EQ(client(0).requests(Kind::create_contender), 1U);
    lock_.release(holder);
    run();
    EXPECT_TRUE(is_granted(joined));
    finish();
  }
}

constexpr const char* kGuardedPath = "/data";

/// Destroys the coroutine at two moments: while its request is in flight, and before the request is
/// sent, because the client is disconnected.
class AbandonedCoroutine : public ::testing::TestWithParam<bool> {
 protected:
  AbandonedCoroutine() { lock_.connect_all(); }

  void disconnect() {
    if (!GetParam()) return;
    lock_.world().disconnect(0);
    lock_.world().run_all();
  }
  void destroy(const Owned& coroutine) {
    coroutine.handle.destroy();
    if (GetParam()) lock_.world().reconnect(0);
    lock_.world().run_all();
    EXPECT_FALSE(resumed_);
  }

  LockWorld lock_{1};
  bool resumed_ = false;
};

INSTANTIATE_TEST_SUITE_P(, AbandonedCoroutine, ::testing::Bool());

Owned commit(const GuardedTransaction& transaction, bool& resumed) {
  co_await transaction.co_commit();
  resumed = true;
}

TEST_P(AbandonedCoroutine, Commit_IsCarriedOut) {
  lock_.world().ensemble().create(kGuardedPath, "0");
  const auto holder = lock_.acquire(0);
  lock_.world().run_all();
  disconnect();
  GuardedTransaction transaction(lock_.call(holder).hold);
  transaction.set(kGuardedPath, "1");
  destroy(commit(transaction, resumed_));
  EXPECT_EQ(lock_.world().ensemble().find(kGuardedPath)->data, "1");
  EXPECT_EQ(lock_.call(holder).hold.state(), HoldState::held);
}

Owned proclaim(Leadership leadership, bool& resumed) {
  co_await leadership.co_proclaim("here");
  resumed = true;
}

TEST_P(AbandonedCoroutine, Proclamation_IsCarriedOut) {
  const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
  candidate->contend();
  lock_.world().run_all();
  const Leadership leadership = candidate->leadership_state()->leadership();
  disconnect();
  destroy(proclaim(leadership, resumed_));
  const std::string node = leadership.node();
  const auto name = core::ZnodeName::parse(node.substr(node.rfind('/') + 1));
  const Node* const value = lock_.world().ensemble().find(
      LockWorld::kPath + ("/" + core::proclamation_node(name->sequence)));
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(core::Proclamation::parse(value->data)->value, "here");
  candidate->close();
  lock_.world().run_all();
}

}  // namespace
}  // namespace zklock::model
