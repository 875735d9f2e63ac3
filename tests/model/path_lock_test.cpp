// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: the protocol, step by step.
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/engine/pending_acquire.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST_F(PathLockTest, FreeAcquire_IsTwoPipelinedRequests) {
  lock_.acquire(0);
  EXPECT_EQ(client(0).requests(), 2U) << "both are sent before any answer";
  run();
  EXPECT_TRUE(lock_.call(1).granted());
  EXPECT_EQ(client(0).requests(Kind::create_contender), 1U);
  EXPECT_EQ(client(0).requests(Kind::count_children), 1U);
  EXPECT_EQ(client(0).requests(), 2U);
}

TEST_F(PathLockTest, Release_IsOneRequest) {
  const auto call = granted(0);
  reset_counts();
  lock_.release(call);
  run();
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  EXPECT_EQ(client(0).requests(), 1U);
  expect_rest();
}

TEST_F(PathLockTest, ReleaseOfWatchedZnode_IsOneRequest) {
  const auto first = granted(0);
  const auto second = waiting(1);
  run_for(2s);
  ASSERT_EQ(client(1).live_interests(), 2U) << "its own node, and the one before";
  lock_.release(first);
  run();
  ASSERT_TRUE(lock_.call(second).granted());
  reset_counts();
  lock_.release(second);
  run();
  EXPECT_EQ(client(1).requests(Kind::announce_and_delete), 1U);
  EXPECT_EQ(client(1).requests(), 1U);
  EXPECT_EQ(client(1).watch_removals(), 0U) << "it goes with the node";
  expect_rest();
}

TEST_F(PathLockTest, ContendedAcquire_IsThreeRequestsAndHandoffNone) {
  const auto first = granted(0);
  const auto second = waiting(1);
  const auto third = waiting(2);
  for (const std::size_t c : {1U, 2U}) {
    EXPECT_EQ(client(c).requests(Kind::get_and_watch), 1U);
    EXPECT_EQ(client(c).requests(), 3U);
  }
  reset_counts();
  lock_.release(first);
  run();
  EXPECT_TRUE(lock_.call(second).granted());
  lock_.release(second);
  run();
  EXPECT_TRUE(lock_.call(third).granted());
  EXPECT_EQ(client(1).requests(), 1U) << "its own release";
  EXPECT_EQ(client(2).requests(), 0U);
  for (const std::size_t c : {0U, 1U, 2U}) EXPECT_EQ(client(c).requests(Kind::list_children), 0U);
  lock_.release(third);
  expect_rest();
}

TEST_F(PathLockTest, Reentry_SendsNothingAndRepeatsToken) {
  const Owner owner = Owner::unique();
  const auto outer = granted(0, {.owner = owner});
  reset_counts();
  const auto inner = granted(0, {.owner = owner});
  EXPECT_EQ(client(0).requests(), 0U);
  EXPECT_EQ(lock_.call(inner).token, lock_.call(outer).token);
  lock_.release(outer);
  run();
  EXPECT_EQ(client(0).requests(), 0U);
  EXPECT_EQ(lock_.path_lock(0)->ownership(owner).count(), 1);
  lock_.release(inner);
  expect_rest();
}

TEST_F(PathLockTest, WaitersOfOneOwner_ShareOneZnode) {
  const auto first = granted(0);
  const Owner owner = Owner::unique();
  const auto a = waiting(1, {.owner = owner});
  const auto b = waiting(1, {.owner = owner});
  EXPECT_EQ(lock_.nodes().size(), 2U);
  lock_.cancel(a);
  run();
  EXPECT_EQ(lock_.nodes().size(), 2U) << "the other call still waits";
  lock_.release(first);
  run();
  EXPECT_TRUE(lock_.call(b).granted());
  EXPECT_FALSE(lock_.call(a).granted());
  lock_.release(b);
  expect_rest();
}

TEST_F(PathLockTest, MissingParent_IsCreated) {
  ASSERT_EQ(lock_.world().ensemble().remove(LockWorld::kPath), Status::ok);
  const auto call = granted(0);
  EXPECT_EQ(client(0).requests(Kind::create_parents), 1U);
  EXPECT_TRUE(lock_.world().ensemble().find(LockWorld::kPath)->container);
  lock_.release(call);
  expect_rest();
}

TEST_F(PathLockTest, ParentDeleted_TokensStillIncrease) {
  const auto before = granted(0);
  lock_.release(before);
  run();
  ASSERT_EQ(lock_.world().ensemble().remove(LockWorld::kPath), Status::ok);
  const auto after = granted(1);
  EXPECT_EQ(lock_.call(after).node, std::string(LockWorld::kPath) + "/lock-0000000000");
  EXPECT_GT(lock_.call(after).token, lock_.call(before).token);
  lock_.release(after);
  expect_rest();
}

TEST_F(PathLockTest, ForeignZnode_IsHonouredAndNeverTrusted) {
  auto& ensemble = lock_.world().ensemble();
  const auto curator = ensemble.create_sequential(
      LockWorld::kPath, "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-", "10.0.0.1");
  ASSERT_TRUE(curator);
  const auto call = waiting(0);
  EXPECT_EQ(client(0).requests(Kind::list_children), 1U) << "the predicted name is not there";
  ASSERT_EQ(ensemble.set_data(LockWorld::kPath + ("/" + *curator), "released"), Status::ok);
  run();
  EXPECT_EQ(lock_.call(call).outcomes, 0) << "any client may have written it";
  ASSERT_EQ(ensemble.remove(LockWorld::kPath + ("/" + *curator)), Status::ok);
  run();
  EXPECT_TRUE(lock_.call(call).granted());
  ASSERT_EQ(ensemble.create(LockWorld::kPath + std::string("/config")), Status::ok);
  lock_.release(call);
  run();
  EXPECT_EQ(lock_.nodes(), std::vector<std::string>{"config"});
}

TEST_F(PathLockTest, OtherChildren_DoNotDelay) {
  ASSERT_EQ(lock_.world().ensemble().create(LockWorld::kPath + std::string("/config")), Status::ok);
  const auto call = granted(0);
  lock_.release(call);
  run();
  EXPECT_EQ(lock_.nodes().size(), 1U);
}

TEST_F(PathLockTest, Close_EndsAllCallsAndHolds) {
  const auto held = granted(0);
  const auto waits = waiting(1);
  lock_.core(0).close();
  lock_.core(1).close();
  lock_.world().run_all();
  EXPECT_EQ(error(waits), Errc::closed);
  EXPECT_EQ(lock_.call(held).hold.state(), HoldState::lost);
  EXPECT_EQ(lock_.losses_notified(held), 1U);
  EXPECT_THROW(lock_.acquire(0), Error);
  lock_.release(held);
}

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

// Another thread destroys the last lock object and closes the client before lock() returns.
TEST_F(PathLockTest, GrantReturnedAfterClose_IsNotRetained) {
  lock_.use(0);
  const auto path_lock = lock_.path_lock(0);
  std::shared_ptr<detail::Contender> granted;
  detail::PendingAcquire::start(
      path_lock,
      {.owner = Owner::this_thread(),
       .time_limit = detail::TimeLimit::endless(),
       .kind = core::CountKind::lock,
       .reentrant_thread = detail::ReentryCounter::this_thread(),
       .done = [&](const detail::AcquireOutcome& outcome) { granted = outcome.contender; }},
      {});
  run();
  ASSERT_TRUE(granted);
  EXPECT_TRUE(path_lock->lock_nested());
  lock_.end_use(0);
  lock_.core(0).close();
  lock_.world().run_all();
  const std::weak_ptr<detail::Contender> left = granted;
  granted.reset();
  EXPECT_TRUE(left.expired());
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
  /// Acquires the lock for this thread.
  void lock() {
    bool is_granted = false;
    detail::PendingAcquire::start(
        lock_.path_lock(0),
        {.owner = Owner::this_thread(),
         .time_limit = detail::TimeLimit::endless(),
         .kind = core::CountKind::lock,
         .reentrant_thread = detail::ReentryCounter::this_thread(),
         .done =
             [&](const detail::AcquireOutcome& outcome) { is_granted = bool{outcome.contender}; }},
        {});
    run();
    ASSERT_TRUE(is_granted);
  }
};

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

TEST_F(PathLockTest, ServerError_ReachesCaller) {
  const struct {
    Status status;
    Errc error;
  } table[] = {
      {Status::no_auth, Errc::no_auth},         {Status::quota_exceeded, Errc::quota_exceeded},
      {Status::read_only, Errc::read_only},     {Status::too_many_nodes, Errc::too_many_nodes},
      {Status::invalid_acl, Errc::invalid_acl}, {Status::server_error, Errc::server_error}};
  for (const auto& row : table) {
    lock_.world().fail_next(0, Kind::create_contender, row.status);
    const auto call = lock_.acquire(0);
    run();
    EXPECT_EQ(error(call), row.error);
    EXPECT_TRUE(lock_.nodes().empty());
  }
  expect_rest();
}

TEST_F(PathLockTest, Throttled_IsRetried) {
  lock_.world().fail_next(0, Kind::create_contender, Status::throttled);
  const auto call = lock_.acquire(0);
  lock_.world().run_for(1s);
  EXPECT_TRUE(lock_.call(call).granted());
  lock_.release(call);
  expect_rest();
}

TEST_F(PathLockTest, CounterNearItsEnd_RestartsWithParent) {
  lock_.world().ensemble().set_counter(LockWorld::kPath, core::kFirstUnusableSequence.value);
  const auto call = granted(0);
  EXPECT_EQ(lock_.call(call).node, std::string(LockWorld::kPath) + "/lock-0000000000");
  lock_.release(call);
  expect_rest();
}

TEST_F(PathLockTest, NoOwnCredential_NeitherAnnouncesNorTrusts) {
  LockWorld open(2, {}, false);
  open.connect_all();
  const auto first = open.acquire(0);
  open.world().run_all();
  const auto second = open.acquire(1);
  open.world().run_all();
  const std::string node = open.call(first).node;
  ASSERT_EQ(open.world().ensemble().set_data(node, "released"), Status::ok);
  open.world().run_all();
  EXPECT_EQ(open.call(second).outcomes, 0);
  open.release(first);
  open.world().run_all();
  EXPECT_EQ(open.world().client(0).requests(Kind::announce_and_delete), 0U);
  EXPECT_TRUE(open.call(second).granted());
  open.release(second);
  open.world().run_for(2s);
  EXPECT_EQ(open.violation_at_rest(), "");
}

}  // namespace
}  // namespace zklock::model
