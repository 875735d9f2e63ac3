// SPDX-License-Identifier: Apache-2.0
// The sequence counter of a lock path at its end.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();

class CounterEnd : public PathLockTest {
 protected:
  /// Returns the next sequence number of the path.
  std::int32_t counter() { return ensemble().find(LockWorld::kPath)->counter; }
};

// Without a znode it waits by lists, which belong to no session.
TEST_F(CounterEnd, CancelledWhileDisconnected_NoListRemains) {
  const auto holder = granted(1);
  ensemble().set_counter(LockWorld::kPath, core::kFirstUnusableSequence.value);
  const auto call = waiting(0);
  lock_.world().disconnect(0);
  run_for(1s);
  EXPECT_GT(client(0).unanswered(), 0U) << "it lists again";
  lock_.cancel(call);
  run();
  EXPECT_EQ(client(0).unanswered(), 0U);
  lock_.world().reconnect(0);
  run();
  release(holder);
  expect_rest();
}

// A contender that waits for the restart of the counter has no znode that could be counted.
TEST_F(CounterEnd, HolderSharesZnode_OtherClientsAreGranted) {
  const auto shared = [] { return LockWorld::Request{.local = {.batch = 8}}; };
  for (const auto next : {kLast, core::kFirstUnusableSequence.value}) {
    lock_.use(0);
    std::vector<std::size_t> own = {granted(0, shared())};
    ensemble().set_counter(LockWorld::kPath, next);
    const auto other = waiting(1);
    while (own.size() < 100 && !is_granted(other)) {
      own.push_back(lock_.acquire(0, shared()));
      run();
      for (std::size_t i = 0; i + 1 < own.size(); ++i) lock_.release(own[i]);
      run_for(500ms);
    }
    EXPECT_LT(own.size(), 20U);
    for (int i = 0; i < 5; ++i) {
      for (const auto call : own) lock_.release(call);
      lock_.release(other);
      run_for(1s);
    }
    EXPECT_TRUE(is_granted(other));
    lock_.end_use(0);
    expect_rest();
  }
}

TEST_F(CounterEnd, IdleLockRetained_OtherClientsAreGranted) {
  const LockWorld::Request kept{.local = {.keep_idle_for = std::chrono::hours(1)}};
  for (const bool ended_before : {false, true}) {
    lock_.use(0);
    const auto holder = granted(0, kept);
    if (ended_before) ensemble().set_counter(LockWorld::kPath, core::kFirstUnusableSequence.value);
    const auto other = ended_before ? waiting(1) : std::size_t{};
    release(holder);
    if (!ended_before) ensemble().set_counter(LockWorld::kPath, core::kFirstUnusableSequence.value);
    const auto call = ended_before ? other : lock_.acquire(1);
    run_for(5s);
    EXPECT_TRUE(is_granted(call)) << ended_before;
    release(call);
    lock_.end_use(0);
    expect_rest();
  }
}

TEST_F(CounterEnd, PathRecreatedByOtherClient_IsNotDeleted) {
  ASSERT_EQ(ensemble().create(child("config")), Status::ok);
  ensemble().set_counter(LockWorld::kPath, kLast);
  const auto failed = lock_.acquire(0);
  run();
  EXPECT_EQ(error(failed), Errc::sequence_exhausted);
  ASSERT_EQ(ensemble().remove(child("config")), Status::ok);
  release(granted(1));
  const auto czxid = ensemble().find(LockWorld::kPath)->czxid;
  release(granted(0));
  EXPECT_EQ(ensemble().find(LockWorld::kPath)->czxid, czxid);
  EXPECT_EQ(counter(), 2);
  expect_rest();
}

// ---- a shared permit count at the end of the counter -------------------------------------------

class CountAtCounterEnd : public CounterEnd {
 protected:
  void end_counter() {
    lock_.say_permits(3);
    ensemble().set_counter(LockWorld::kPath, kLast);
  }
  std::string count() {
    const Node* node = ensemble().find(LockWorld::count_path());
    return node ? node->data : "none";
  }

  const LockWorld::Request permits_ = LockWorld::shared_permits(1, 2);
};

TEST_F(CountAtCounterEnd, PermitCountChangedMeanwhile_RetainsNewCount) {
  end_counter();
  const auto call = lock_.acquire(0, permits_);
  while (client(0).requests(Kind::transaction) == 0) ASSERT_TRUE(step());
  lock_.say_permits(7);
  run();
  EXPECT_TRUE(is_granted(call));
  EXPECT_EQ(count(), "7");
  release(call);
  expect_rest();
}

TEST_F(CountAtCounterEnd, OutcomeUnknown_RetainsPermitCount) {
  for (const bool carried_out : {false, true}) {
    end_counter();
    client(0).fail_next(Kind::transaction, Status::unknown, carried_out);
    release(granted(0, permits_));
    EXPECT_EQ(count(), "3");
    expect_rest();
  }
}

}  // namespace
}  // namespace zklock::model
