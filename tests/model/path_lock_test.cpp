// SPDX-License-Identifier: Apache-2.0
// The path lock on the simulated ensemble: the end of its client, deadlines, readers, writers,
// permits, and the gate of priorities.
#include "zklock/engine/path_lock.h"

#include <cstddef>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/pending_acquire.h"

namespace zklock::model {
namespace {

TEST_F(PathLockTest, ClientClosed_NewObjectIsRefused) {
  EXPECT_NO_THROW(lock_.core(0).usable_path_lock("lock", "/locks/b"));
  lock_.core(0).close();
  try {
    lock_.core(0).usable_path_lock("lock", "/locks/c");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::closed);
  }
}

// By its number, a thread knows whether it holds the lock.
TEST(ReentryCounter, EachThread_HasItsNumber) {
  const auto number = detail::ReentryCounter::this_thread();
  EXPECT_EQ(detail::ReentryCounter::this_thread(), number);
  const auto of_other = [] { return detail::ReentryCounter::this_thread(); };
  const auto second = std::async(std::launch::async, of_other).get();
  const auto third = std::async(std::launch::async, of_other).get();
  EXPECT_EQ(std::set({number, second, third}).size(), 3U);
}

class ReentrantLock : public PathLockTest {
 protected:
  void SetUp() override {
    PathLockTest::SetUp();
    lock_.use(0);
  }
  void TearDown() override {
    lock_.core(0).close();
    PathLockTest::TearDown();
  }
  /// Acquires the lock for this thread. Returns its contender.
  std::shared_ptr<detail::Contender> lock() {
    std::shared_ptr<detail::Contender> granted;
    detail::PendingAcquire::start(
        lock_.path_lock(0),
        {.owner = Owner::this_thread(),
         .time_limit = detail::TimeLimit::endless(),
         .kind = core::CountKind::lock,
         .reentrant_thread = detail::ReentryCounter::this_thread(),
         .done = [&](const detail::AcquireOutcome& outcome) { granted = outcome.contender; }},
        {});
    run();
    EXPECT_TRUE(granted);
    return granted;
  }
};

// Another thread destroys the last lock object and closes the client before lock() returns.
TEST_F(ReentrantLock, GrantReturnedAfterClose_IsNotRetained) {
  auto granted = lock();
  EXPECT_TRUE(lock_.path_lock(0)->lock_nested());
  lock_.end_use(0);
  lock_.core(0).close();
  lock_.world().run_all();
  const std::weak_ptr<detail::Contender> left = granted;
  granted.reset();
  EXPECT_TRUE(left.expired());
}

// A nested acquire that was not counted by the thread alone leaves the count as it is.
TEST_F(ReentrantLock, AcquiredAgain_RetainsTheCount) {
  lock();
  const auto path_lock = lock_.path_lock(0);
  EXPECT_TRUE(path_lock->lock_nested());
  lock();
  EXPECT_EQ(path_lock->ownership(Owner::this_thread()).count(), 3);
}

TEST_F(ReentrantLock, Lost_IsNotNested) {
  lock();
  const auto path_lock = lock_.path_lock(0);
  EXPECT_TRUE(path_lock->lock_nested());
  lock_.world().pause(0);
  lock_.world().run_for(60s);
  EXPECT_FALSE(path_lock->lock_nested()) << "the lease has ended";
  lock_.world().resume(0);
  run();
  EXPECT_FALSE(path_lock->lock_nested());
}

/// Closes the client, and destroys the last lock object on the path of the world before that path
/// is closed. Returns whether this order was achieved.
bool destroyed_while_closing(LockWorld& lock) {
  std::vector<std::shared_ptr<detail::PathLock>> others;
  bool destroyed = false;
  bool in_time = false;
  const auto destroy = [&](const detail::AcquireOutcome&) {
    if (std::exchange(destroyed, true)) return;
    in_time = lock.held() > 0;
    lock.end_use(0);
  };
  // The order in which the paths are closed is unknown. One of these is closed first.
  for (int i = 0; i < 16; ++i) {
    const std::string path = "/locks/other-" + std::to_string(i);
    others.push_back(lock.path_lock(0, path.c_str()));
    acquire_path(others.back(), destroy);
  }
  lock.core(0).close();
  lock.world().run_all();
  return in_time;
}

TEST_F(PathLockTest, ObjectDestroyedWhileClientCloses_HoldIsLost) {
  lock_.use(0);
  const auto call = granted(0);
  ASSERT_TRUE(destroyed_while_closing(lock_));
  EXPECT_EQ(lock_.call(call).hold.loss_reason(), LossReason::closed);
  EXPECT_EQ(lock_.losses_notified(call), 1U);
}

TEST_F(PathLockTest, SharedNodeOfClosingClient_IsForgotten) {
  lock_.use(0);
  const auto call = granted(0, {.local = {.batch = 4}});
  const auto behind = waiting(0, {.local = {.batch = 4}});
  ASSERT_TRUE(destroyed_while_closing(lock_));
  EXPECT_EQ(lock_.losses_notified(call), 1U);
  EXPECT_EQ(error(behind), Errc::closed);
}

// Calls of one owner share a znode, as do the contenders of a cohort. A deadline outlasts the
// connection timeout.
TEST_F(PathLockTest, CallsOfOneZnode_EndAtTheirOwnDeadlines) {
  for (const bool one_owner : {true, false}) {
    for (const int batch : {1, 8}) {
      SCOPED_TRACE(std::to_string(one_owner) + ", " + std::to_string(batch));
      disconnect(0);
      const Owner owner = Owner::unique();
      const auto request = [&](std::optional<Duration> timeout = std::nullopt) {
        return Request{.owner = one_owner ? owner : Owner::unique(),
                       .timeout = timeout,
                       .local = {.batch = batch}};
      };
      const auto first = lock_.acquire(0, request());
      const auto with_deadline = lock_.acquire(0, request(2min));
      const auto last = lock_.acquire(0, request());
      const auto in_vain = lock_.acquire(0, request(1min));
      run_for(client(0).options().connection_timeout + 1s);
      EXPECT_EQ(error(first), Errc::not_connected);
      EXPECT_EQ(error(last), Errc::not_connected);
      EXPECT_EQ(lock_.call(in_vain).outcomes, 0);
      run_for(50s);
      EXPECT_EQ(error(in_vain), Errc::not_connected) << "at its deadline";
      EXPECT_EQ(lock_.call(with_deadline).outcomes, 0);
      lock_.world().reconnect(0);
      run_for(client(0).options().session_timeout);
      ASSERT_TRUE(is_granted(with_deadline));
      finish();
    }
  }
}

TEST(PathLockLateEvents, OwnerDestroyed_CallbackDoesNothing) {
  LockWorld lock(1);
  auto path_lock = lock.path_lock(0);
  int calls = 0;
  const auto count = [&calls] { ++calls; };
  const auto callback = detail::under_lock(path_lock->weak_from_this(), count);
  callback();
  EXPECT_EQ(calls, 1);
  const auto retaining = detail::under_lock(path_lock->shared_from_this(), count);
  path_lock.reset();
  retaining();
  EXPECT_EQ(calls, 2) << "it retains its owner";
}

class PathLockSharedTest : public PathLockTest {
 protected:
  static Request to_write(Owner owner = Owner::unique()) { return LockWorld::to_write(owner); }
  static Request to_read(Owner owner = Owner::unique()) { return LockWorld::to_read(owner); }
  /// A single attempt of client 1 to write, beside the reader at client 0.
  std::size_t attempt_to_write(Owner owner) {
    granted(0, to_read());
    Request attempt = to_write(owner);
    attempt.timeout = 0s;
    return lock_.acquire(1, attempt);
  }
};

TEST_F(PathLockSharedTest, UpgradeOfWaitingReader_IsRefused) {
  const Owner owner = Owner::unique();
  granted(1, to_write());
  waiting(0, to_read(owner));
  const auto upgrade = lock_.acquire(0, to_write(owner));
  run();
  EXPECT_EQ(error(upgrade), Errc::would_deadlock);
}

TEST_F(PathLockSharedTest, ReaderOfWaitingWriter_JoinsIt) {
  const Owner owner = Owner::unique();
  const auto holder = granted(0, to_read());
  const auto writes = waiting(1, to_write(owner));
  const auto reads = waiting(1, to_read(owner));
  EXPECT_EQ(lock_.nodes().size(), 2U);
  release(holder);
  EXPECT_TRUE(lock_.call(writes).granted() && lock_.call(reads).granted());
  EXPECT_EQ(lock_.call(reads).token, lock_.call(writes).token);
  EXPECT_EQ(lock_.path_lock(1)->ownership(owner).exclusive_count(), 1);
  EXPECT_EQ(lock_.path_lock(1)->ownership(owner).count(), 2);
}

// The single attempt fails. It was the only call that required exclusion.
TEST_F(PathLockSharedTest, WriteAttemptFails_JoinedReaderIsGranted) {
  const Owner owner = Owner::unique();
  const auto attempt = attempt_to_write(owner);
  granted(1, to_read(owner));  // beside the other reader
  expect_ended_with_nothing(attempt);
}

TEST_F(PathLockSharedTest, WriteAttemptFails_JoinedWriterStaysWriter) {
  const Owner owner = Owner::unique();
  attempt_to_write(owner);
  const auto reads = lock_.acquire(1, to_read(owner));
  const auto writes = lock_.acquire(1, to_write(owner));
  run();
  EXPECT_EQ(lock_.call(writes).outcomes + lock_.call(reads).outcomes, 0);
}

TEST_F(PathLockSharedTest, WriterReleases_GrantsWithoutRequest) {
  const auto writer = granted(0, to_write());
  const auto reader = waiting(1, to_read());
  const auto behind = waiting(2, to_read());
  reset_counts();
  release(writer);
  EXPECT_TRUE(is_granted(reader) && is_granted(behind));
  EXPECT_EQ(client(1).requests() + client(2).requests(), 0U);
  release(reader);
  EXPECT_EQ(client(1).requests(Kind::announce_and_delete), 0U) << "no contender trusts it";
}

using PathLockSemaphoreTest = PathLockSharedTest;

// Other contenders may hold permits, too. So the permits of an owner are no mutex, no read lock and
// no other number of permits.
TEST_F(PathLockSemaphoreTest, OwnerWithPermits_NestsOnlyAsManyPermits) {
  Request two = LockWorld::permits(2, 4);
  const Owner owner = two.owner;
  const auto first = granted(0, two);
  const auto second = granted(0, two);
  EXPECT_EQ(lock_.call(second).token, lock_.call(first).token);
  Request one = LockWorld::permits(1, 4);
  one.owner = owner;
  Request of_five = LockWorld::permits(2, 5);
  of_five.owner = owner;
  const std::vector<Request> others{
      one, of_five, {.owner = owner}, LockWorld::to_read(owner), LockWorld::to_write(owner)};
  for (const Request& other : others) {
    const auto refused = lock_.acquire(0, other);
    run();
    EXPECT_EQ(error(refused), Errc::would_deadlock);
  }
  EXPECT_EQ(lock_.nodes().size(), 1U);
  release(first);
  EXPECT_EQ(lock_.call(second).hold.state(), HoldState::held);
}

TEST_F(PathLockSemaphoreTest, UnlockOfLock_ReleasesNoPermits) {
  Request two = LockWorld::permits(2, 4);
  two.kind = core::CountKind::lock;
  const Owner owner = two.owner;
  const auto call = granted(0, two);
  const auto path_lock = lock_.path_lock(0);
  EXPECT_FALSE(path_lock->unlock(owner, core::CountKind::lock));
  EXPECT_FALSE(path_lock->unlock(owner, core::CountKind::lock, Access::shared));
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::held);
  EXPECT_TRUE(path_lock->unlock(owner, core::CountKind::lock, Access::permits));
  run();
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
}

// Contenders that wait at a gate before they enqueue. At every moment each of them is visible
// exactly once.
class Gate : public PathLockTest {
 protected:
  static Request within(Duration timeout, Request request) {
    request.timeout = timeout;
    return request;
  }
  std::size_t contenders() { return core::contenders(lock_.nodes()).size(); }
  bool is_at_gate(std::size_t client) { return node_of(client).starts_with("weight-"); }
  /// Runs until the client is about to pass the gate, because no contender is ahead of it.
  void run_until_it_passes(std::size_t c) {
    run_only(c, [&] { return client(c).requests(Kind::transaction) > 0; });
  }
};

TEST_F(Gate, ContenderPasses_IsCountedOnceThroughout) {
  const auto holder = granted(0, LockWorld::at_gate(1));
  const auto next = waiting(1, LockWorld::at_gate(9));
  waiting(2, LockWorld::at_gate(3));
  ASSERT_EQ(contenders(), 3U);
  release_node(holder);
  while (contenders() == 3) ASSERT_TRUE(step());
  do {
    ASSERT_EQ(contenders(), 2U);
    ASSERT_EQ(lock_.violation(), "");
  } while (step());
  EXPECT_TRUE(is_granted(next));
  EXPECT_TRUE(is_at_gate(2));
}

TEST_F(Gate, ContenderPasses_RetainsEnqueueTime) {
  const auto holder = granted(0, LockWorld::at_gate(5));
  const auto next = waiting(1, LockWorld::at_gate(5));
  const auto came = ensemble().find(child(node_of(1)))->created_ms;
  run_for(3s);
  release(holder);
  ASSERT_TRUE(is_granted(next));
  const Node* const node = ensemble().find(lock_.call(next).node);
  EXPECT_EQ(core::ZnodeData::parse(node->data)->since_ms, came);
  EXPECT_GT(node->created_ms, came);
}

// PriorityOptions::ageing counts in these sequence numbers.
TEST_F(Gate, ZnodesOfContender_AreTwoAndThreeWithLockDelay) {
  const auto next_number = [this] {
    const std::string name = *ensemble().create_sequential(LockWorld::kPath, "other-");
    ensemble().remove(child(name));
    return name.substr(6);
  };
  for (const std::chrono::milliseconds delay : {0ms, 2'000ms}) {
    const int before = std::stoi(next_number());
    Request request = LockWorld::at_gate(5);
    request.lock_delay = delay;
    reset_counts();
    const auto call = granted(0, request);
    EXPECT_EQ(client(0).requests(), delay == 0ms ? 5U : 7U);
    const int lock_nodes = std::stoi(next_number()) - before - 1;
    EXPECT_EQ(lock_nodes, delay == 0ms ? 2 : 3);
    release(call);
  }
}

// A single attempt passes the gate, but another contender is ahead of it. A call that joined it and
// can wait then waits at the gate. It is behind the heavier contenders, by the weight of its own
// call.
TEST_F(Gate, CallThatJoinedSingleAttempt_WaitsAtGate) {
  for (const std::int32_t weight : {2, 9}) {
    const Owner owner = Owner::unique();
    const auto once = lock_.acquire(0, within(Duration::zero(), LockWorld::at_gate(5, owner)));
    reset_counts();
    run_until_it_passes(0);
    const auto holder = lock_.acquire(1);
    run_only(1, [&] { return is_granted(holder); });
    const auto patient = lock_.acquire(0, LockWorld::at_gate(weight, owner));
    run();
    EXPECT_EQ(lock_.call(once).outcomes, 1);
    EXPECT_FALSE(is_granted(once));
    EXPECT_EQ(lock_.call(patient).outcomes, 0);
    EXPECT_TRUE(is_at_gate(0));
    const auto other = waiting(2, LockWorld::at_gate(7));
    release(holder);
    const bool heavier = weight > 7;
    EXPECT_EQ(is_granted(patient), heavier);
    EXPECT_EQ(is_granted(other), !heavier);
    finish();
  }
}

TEST_F(Gate, CallWithoutGateAfterAttempt_DoesNotWaitAtGate) {
  const Owner owner = Owner::unique();
  granted(1);
  const auto once = lock_.acquire(0, within(Duration::zero(), LockWorld::at_gate(5, owner)));
  lock_.acquire(0, {.owner = owner});
  run();
  EXPECT_EQ(lock_.call(once).outcomes, 1);
  EXPECT_TRUE(node_of(0).starts_with("lock-"));
}

}  // namespace
}  // namespace zklock::model
