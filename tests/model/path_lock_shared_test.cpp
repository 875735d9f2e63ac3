// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: readers and writers.
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/path_lock_shared_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

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

}  // namespace
}  // namespace zklock::model
