// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: its requests, lost replies, the end of its
// client, and deadlines.
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

TEST_F(PathLockTest, Throttled_IsRetried) {
  lock_.world().fail_next(0, Kind::create_contender, Status::throttled);
  const auto call = lock_.acquire(0);
  lock_.world().run_for(1s);
  EXPECT_TRUE(lock_.call(call).granted());
  lock_.release(call);
  expect_rest();
}

// An announced release grants the next contender without a list. Here the znode is that of another
// program, which promises to announce its release.
TEST_F(PathLockTest, ForeignAnnouncement_GrantsNext) {
  const auto name =
      ensemble().create_sequential(LockWorld::kPath, "lock-", "zklock 1\nannounces=1\n");
  ASSERT_TRUE(name);
  const std::string foreign = child(*name);
  const auto next = waiting(1);
  reset_counts();
  ASSERT_EQ(ensemble().set_data(foreign, "released"), Status::ok);
  run();
  EXPECT_TRUE(is_granted(next));
  EXPECT_EQ(client(1).requests(), 0U);
  ASSERT_EQ(ensemble().remove(foreign), Status::ok);
  release(next);
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

// ---- lost replies, and a client that closes ------------------------------------------------------

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
  lock_.release(call);
}

TEST_F(PathLockTest, SharedNodeOfClosingClient_IsForgotten) {
  lock_.use(0);
  const auto call = granted(0, {.local = {.batch = 4}});
  const auto behind = waiting(0, {.local = {.batch = 4}});
  ASSERT_TRUE(destroyed_while_closing(lock_));
  EXPECT_EQ(lock_.losses_notified(call), 1U);
  EXPECT_EQ(error(behind), Errc::closed);
  lock_.release(call);
}

// ---- deadlines -----------------------------------------------------------------------------------

TEST_F(PathLockTest, LongDeadline_OutlastsConnectionTimeout) {
  lock_.world().disconnect(0);
  run();
  const auto with_deadline = lock_.acquire(0, {.timeout = 2min});
  const auto without = lock_.acquire(0);
  const auto in_vain = lock_.acquire(0, {.timeout = 1min});
  run_for(client(0).options().connection_timeout + 1s);
  EXPECT_EQ(error(without), Errc::not_connected);
  EXPECT_EQ(lock_.call(with_deadline).outcomes, 0);
  run_for(50s);
  EXPECT_EQ(error(in_vain), Errc::not_connected) << "at its deadline";
  EXPECT_EQ(lock_.call(with_deadline).outcomes, 0);
  expect_grant_after_reconnect(with_deadline);
}

// Calls of one owner, and contenders of one cohort, share a znode. Each has its own deadline.
TEST_F(PathLockTest, CallsOfOneZnode_EndAtTheirOwnDeadlines) {
  for (const bool one_owner : {true, false}) {
    SCOPED_TRACE(one_owner);
    lock_.world().disconnect(0);
    run();
    const Owner owner = Owner::unique();
    const auto request = [&](std::optional<Duration> timeout = std::nullopt) {
      LockWorld::Request each{.timeout = timeout};
      one_owner ? void(each.owner = owner) : void(each.local.batch = 8);
      return each;
    };
    const auto first = lock_.acquire(0, request());
    const auto with_deadline = lock_.acquire(0, request(2min));
    const auto last = lock_.acquire(0, request());
    run_for(client(0).options().connection_timeout + 1s);
    EXPECT_EQ(error(first), Errc::not_connected);
    EXPECT_EQ(error(last), Errc::not_connected);
    EXPECT_EQ(lock_.call(with_deadline).outcomes, 0);
    expect_grant_after_reconnect(with_deadline);
  }
}

}  // namespace
}  // namespace zklock::model
