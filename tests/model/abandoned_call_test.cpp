// SPDX-License-Identifier: Apache-2.0
// A call ends by its deadline or its stop, and its contender is withdrawn.
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class AbandonedCall : public PathLockTest {
 protected:
  AbandonedCall() { lock_.use(0); }

  bool flushed() { return lock_.core(0).flush(Deadline::passed()); }
  std::size_t nodes_of_client() { return ensemble().ephemerals(client(0).session()).size(); }
};

// The release would grant the contender of `call` at once, without a reply.
TEST_F(AbandonedCall, ReleaseAfterStop_GrantsTheNextContender) {
  const std::size_t holder = granted(0);
  const std::size_t call = waiting(0);
  const std::size_t next = waiting(1);
  lock_.cancel(call);
  lock_.release(holder);
  expect_ended_with_nothing(call);
  EXPECT_FALSE(flushed());
  run();
  EXPECT_TRUE(flushed());
  EXPECT_EQ(nodes_of_client(), 0U);
  EXPECT_TRUE(is_granted(next));
  release(next);
  expect_rest();
}

// A stop comes at each step between the release and the grant.
TEST_F(AbandonedCall, StopAtEveryStepOfGrant_LeavesNoZnode) {
  const core::CohortPolicy local{.batch = 8};
  const std::vector<std::pair<LockWorld::Request, LockWorld::Request>> pairs = {
      {{}, {}},
      {{.local = local}, {.local = local}},
      {LockWorld::to_write(), LockWorld::to_read()},
      {LockWorld::permits(1, 1), LockWorld::permits(1, 1)},
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
    const std::size_t holder = granted(0, {.local = local});
    std::vector<std::size_t> calls;
    for (unsigned i = 0; i < crowd; ++i) calls.push_back(lock_.acquire(0, {.local = local}));
    run();
    for (const std::size_t call : calls) lock_.cancel(call);
    lock_.release(holder);
    expect_rest();
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
    lock_.release(attempt);
    expect_rest();
  }
}

// ---- a single attempt and a call that waits, of one owner ------------------------------------------

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
  expect_rest();
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
  lock_.release(waits);
  expect_rest();
}

// The deadline of the joined call passes at one of the readings of the clock. Some of them are
// between the end of the attempt and the start of the next contender.
TEST_F(AbandonedCall, DeadlineOfJoiningCallPasses_LeavesNothing) {
  for (int reading = 0; reading < 40; ++reading) {
    SCOPED_TRACE(reading);
    const std::size_t holder = granted(1);
    const Owner owner = Owner::unique();
    lock_.acquire(0, {.owner = owner, .timeout = 0s});
    const std::size_t joined = lock_.acquire(0, {.owner = owner, .timeout = 1ms});
    const Instant deadline = lock_.world().now() + 1ms;
    auto& clock = lock_.world().scheduler(0);
    clock.when_read = [&, left = reading]() mutable {
      if (left-- == 0) lock_.world().clock().stand_at(deadline);
    };
    run();
    clock.when_read = nullptr;
    run_for(10ms);
    expect_ended_with_nothing(joined);
    release(holder);
    expect_rest();
  }
}

// ---- the deadline passes before the call begins ---------------------------------------------------

// The deadline passes at one of the readings of the clock, after the public call has read it. The
// contender is no single attempt: the call that joins it takes over its znode.
TEST_F(AbandonedCall, DeadlinePassesWhileCallBegins_IsNoSingleAttempt) {
  for (int reading = 0; reading < 10; ++reading) {
    SCOPED_TRACE(reading);
    const std::size_t holder = granted(1);
    reset_counts();
    const Owner owner = Owner::unique();
    const Instant deadline = lock_.world().now() + 1ms;
    auto& clock = lock_.world().scheduler(0);
    clock.when_read = [&, left = reading]() mutable {
      if (left-- == 0) lock_.world().clock().stand_at(deadline);
    };
    const std::size_t late = lock_.acquire(0, {.owner = owner, .timeout = 1ms});
    const std::size_t joined = lock_.acquire(0, {.owner = owner});
    run();
    clock.when_read = nullptr;
    run_for(10ms);
    expect_ended_with_nothing(late);
    EXPECT_EQ(client(0).requests(Kind::create_contender), 1U);
    lock_.release(holder);
    run();
    EXPECT_TRUE(is_granted(joined));
    release(joined);
    expect_rest();
  }
}

}  // namespace
}  // namespace zklock::model
