// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: readers and writers.
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/path_lock_shared_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST_F(PathLockSharedTest, ReadersAndWriter_OnlyReadersHoldTogether) {
  const auto first = granted(0, to_read());
  const auto second = granted(1, to_read());
  const auto writer = waiting(2, to_write());
  const auto late = waiting(0, to_read());
  release(first);
  EXPECT_EQ(lock_.call(writer).outcomes, 0);
  release(second);
  EXPECT_TRUE(lock_.call(writer).granted());
  EXPECT_EQ(lock_.call(late).outcomes, 0);
  release(writer);
  EXPECT_TRUE(lock_.call(late).granted());
  EXPECT_GT(lock_.call(late).token, lock_.call(writer).token);
  release(late);
  expect_rest();
}

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

TEST_F(PathLockSharedTest, WriterTimesOut_ReadersAreGranted) {
  const auto first = granted(0, to_read());
  const auto writer = waiting(1, within(to_write(), 1s));
  const auto late = waiting(2, to_read());
  lock_.world().run_for(1s);
  EXPECT_EQ(lock_.call(writer).outcomes, 1);
  EXPECT_TRUE(lock_.call(late).granted());
  EXPECT_EQ(lock_.held(), 2U);
  release(first);
  release(late);
  expect_rest();
}

TEST_F(PathLockSharedTest, Downgrade_RetainsTokenAndPosition) {
  const Owner owner = Owner::unique();
  const auto writes = granted(0, to_write(owner));
  const auto rival = waiting(1, to_write());
  const auto reads = granted(0, to_read(owner));
  EXPECT_EQ(lock_.call(reads).token, lock_.call(writes).token);
  EXPECT_EQ(lock_.call(reads).node, lock_.call(writes).node);
  release(writes);
  EXPECT_EQ(lock_.call(reads).hold.state(), HoldState::held);
  EXPECT_EQ(lock_.path_lock(0)->ownership(owner).exclusive_count(), 0);
  EXPECT_EQ(lock_.call(rival).outcomes, 0);
  const auto upgrade = lock_.acquire(0, to_write(owner));
  EXPECT_EQ(error(upgrade), Errc::would_deadlock);
  const auto again = granted(0, to_read(owner));
  release(reads);
  release(again);
  EXPECT_TRUE(lock_.call(rival).granted());
  release(rival);
  expect_rest();
}

TEST_F(PathLockSharedTest, UpgradeWhileReading_IsRefusedAndReadRetained) {
  const Owner owner = Owner::unique();
  const auto reads = granted(0, to_read(owner));
  reset_counts();
  for (const auto& request : {to_write(owner), within(to_write(owner), 0s)}) {
    const auto upgrade = lock_.acquire(0, request);
    run();
    EXPECT_EQ(error(upgrade), Errc::would_deadlock);
  }
  EXPECT_EQ(requests(), 0U);
  EXPECT_EQ(lock_.call(reads).hold.state(), HoldState::held);
  release(reads);
  release(granted(0, to_write(owner)));
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

TEST_F(PathLockSharedTest, ForeignReaderOrWriter_IsHonoured) {
  auto& ensemble = lock_.world().ensemble();
  const auto enqueue = [&](const char* prefix) {
    return LockWorld::kPath + ("/" + *ensemble.create_sequential(LockWorld::kPath, prefix));
  };
  const std::string reads = enqueue("_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__READ__");
  const auto reader = granted(0, to_read());
  const auto writer = waiting(1, to_write());
  release(reader);
  EXPECT_EQ(lock_.call(writer).outcomes, 0);
  ASSERT_EQ(ensemble.remove(reads), Status::ok);
  run();
  EXPECT_TRUE(lock_.call(writer).granted());
  const std::string writes = enqueue("_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__WRIT__");
  release(writer);
  const auto late = waiting(0, to_read());
  ASSERT_EQ(ensemble.set_data(writes, "released"), Status::ok);
  run();
  EXPECT_EQ(lock_.call(late).outcomes, 0) << "any client may have written it";
  ASSERT_EQ(ensemble.remove(writes), Status::ok);
  run();
  EXPECT_TRUE(lock_.call(late).granted());
  release(late);
  expect_rest();
}

TEST_F(PathLockSharedTest, MutexOnPath_ActsAsWriter) {
  const auto reader = granted(0, to_read());
  const auto mutex = waiting(1);
  const auto late = waiting(2, to_read());
  release(reader);
  EXPECT_TRUE(lock_.call(mutex).granted());
  release(mutex);
  EXPECT_TRUE(lock_.call(late).granted());
  release(late);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
