// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: readers, writers and permits.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class PathLockSharedTest : public PathLockTest {
 protected:
  using Request = LockWorld::Request;

  static Request to_write(Owner owner = Owner::unique()) { return LockWorld::to_write(owner); }
  static Request to_read(Owner owner = Owner::unique()) { return LockWorld::to_read(owner); }
  static Request within(Request request, Duration timeout) {
    request.timeout = timeout;
    return request;
  }
  std::size_t requests() {
    std::size_t all = 0;
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) all += client(c).requests();
    return all;
  }
  std::size_t watches() {
    std::size_t all = 0;
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) all += client(c).live_interests();
    return all;
  }
};

TEST_F(PathLockSharedTest, WriterReleases_GrantsWithoutRequest) {
  const auto writer = granted(0, to_write());
  const auto reader = waiting(1, to_read());
  const auto behind = waiting(2, to_read());
  reset_counts();
  release(writer);
  EXPECT_TRUE(lock_.call(reader).granted() && lock_.call(behind).granted());
  EXPECT_EQ(client(1).requests() + client(2).requests(), 0U);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  release(reader);
  EXPECT_EQ(client(1).requests(Kind::announce_and_delete), 0U) << "no reader trusts it";
  release(behind);
  expect_rest();
}

TEST_F(PathLockSharedTest, ManyWritersQueued_EachReaderWakesOnce) {
  const auto holder = granted(0, to_write());
  constexpr std::size_t kWriters = 6;
  constexpr std::size_t kReaders = 4;
  std::vector<std::size_t> queued;
  for (std::size_t i = 0; i < kWriters; ++i) queued.push_back(waiting(1, to_write()));
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < kReaders; ++i) late.push_back(waiting(2, to_read()));
  EXPECT_EQ(watches(), kWriters + kReaders) << "one each";
  reset_counts();
  release(holder);
  for (const std::size_t writer : queued) {
    EXPECT_TRUE(lock_.call(writer).granted());
    EXPECT_EQ(client(2).requests(), 0U) << "the readers sleep";
    release(writer);
  }
  for (const std::size_t reader : late) EXPECT_TRUE(lock_.call(reader).granted());
  EXPECT_EQ(client(2).requests(), 0U) << "granted by the last writer's release";
  for (const std::size_t reader : late) release(reader);
  expect_rest();
}

TEST_F(PathLockSharedTest, UpgradeOfWaitingReader_IsRefused) {
  const Owner owner = Owner::unique();
  const auto writer = granted(1, to_write());
  const auto reads = waiting(0, to_read(owner));
  const auto upgrade = lock_.acquire(0, to_write(owner));
  run();
  EXPECT_EQ(error(upgrade), Errc::would_deadlock);
  release(writer);
  EXPECT_TRUE(lock_.call(reads).granted());
  release(reads);
  expect_rest();
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
  release(writes);
  release(reads);
  expect_rest();
}

// The single attempt fails. It was the only call that required exclusion.
TEST_F(PathLockSharedTest, WriteAttemptFails_JoinedReaderIsGranted) {
  const Owner owner = Owner::unique();
  const auto holder = granted(0, to_read());
  const auto attempt = lock_.acquire(1, within(to_write(owner), 0s));
  const auto reads = lock_.acquire(1, to_read(owner));
  run();
  EXPECT_EQ(lock_.call(attempt).outcomes, 1);
  EXPECT_FALSE(lock_.call(attempt).granted());
  EXPECT_TRUE(lock_.call(reads).granted()) << "beside the other reader";
  release(holder);
  release(reads);
  expect_rest();
}

TEST_F(PathLockSharedTest, WriteAttemptFails_JoinedWriterStaysWriter) {
  const Owner owner = Owner::unique();
  const auto holder = granted(0, to_read());
  lock_.acquire(1, within(to_write(owner), 0s));
  const auto reads = lock_.acquire(1, to_read(owner));
  const auto writes = lock_.acquire(1, to_write(owner));
  run();
  EXPECT_EQ(lock_.call(writes).outcomes + lock_.call(reads).outcomes, 0);
  release(holder);
  EXPECT_TRUE(lock_.call(writes).granted() && lock_.call(reads).granted());
  release(writes);
  release(reads);
  expect_rest();
}

// ---- permits -------------------------------------------------------------------------------------

class PathLockSemaphoreTest : public PathLockSharedTest {
 protected:
  static Request permits(int wanted, int all = 4) { return LockWorld::permits(wanted, all); }
};

TEST_F(PathLockSemaphoreTest, Release_WakesAtMostThePermitCount) {
  constexpr std::size_t kWaiters = 12;
  const auto first = granted(0, permits(2, 2));
  std::vector<std::size_t> queued;
  for (std::size_t i = 0; i < kWaiters; ++i) queued.push_back(waiting(1 + i % 2, permits(1, 2)));
  std::size_t worst = 0;
  reset_counts();
  release(first);
  for (const std::size_t each : queued) {
    EXPECT_TRUE(lock_.call(each).granted());
    reset_counts();
    release(each);
    const std::size_t lists =
        client(1).requests(Kind::list_children) + client(2).requests(Kind::list_children);
    worst = std::max(worst, lists);
  }
  EXPECT_LE(worst, 2U);
  expect_rest();
}

// Other contenders may hold permits, too. So the permits of an owner are no mutex, no read lock and
// no other number of permits.
TEST_F(PathLockSemaphoreTest, OwnerWithPermits_NestsOnlyAsManyPermits) {
  Request two = permits(2);
  const Owner owner = two.owner;
  const auto first = granted(0, two);
  const auto second = granted(0, two);
  EXPECT_EQ(lock_.call(second).token, lock_.call(first).token);
  Request one = permits(1);
  one.owner = owner;
  Request of_five = permits(2, 5);
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
  release(second);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, UnlockOfLock_ReleasesNoPermits) {
  Request two = permits(2);
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

}  // namespace
}  // namespace zklock::model
