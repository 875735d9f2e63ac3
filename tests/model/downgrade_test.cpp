// SPDX-License-Identifier: Apache-2.0
// A writer is downgraded while other events happen. Other readers are then granted, or wait as
// behind a writer.
#include <string>

#include <gtest/gtest.h>

#include "tests/model/downgrade_fixture.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/queue_reader.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;
using Downgrade = DowngradeTest;

TEST_F(Downgrade, ReaderWaits_IsGranted) {
  const auto reader = waiting(1, to_read());
  const FencingToken token = hold().token();
  reset_counts();
  downgraded();
  EXPECT_TRUE(lock_.call(reader).granted());
  EXPECT_EQ(lock_.held(), 2U);
  EXPECT_EQ(hold().state(), HoldState::held);
  EXPECT_EQ(hold().token(), token);
  EXPECT_EQ(client(0).requests(), 1U);
  EXPECT_EQ(client(0).requests(Kind::transaction), 1U);
  EXPECT_EQ(client(1).requests(), 1U) << "a list";
  reset_counts();
  release(reads_);
  EXPECT_EQ(client(0).requests(Kind::remove), 1U)
      << "without an announcement, which no reader trusts";
  EXPECT_EQ(client(0).requests(), 1U);
  release(reader);
  expect_rest();
}

TEST_F(Downgrade, WriterQueuedFirst_IsGrantedBeforeReader) {
  const auto writer = waiting(1, to_write());
  const auto reader = waiting(2, to_read());
  reset_counts();
  downgraded();
  EXPECT_EQ(lock_.call(writer).outcomes + lock_.call(reader).outcomes, 0);
  EXPECT_EQ(client(1).requests(), 2U) << "a list, and a watch";
  EXPECT_EQ(client(2).requests(), 0U) << "it watches the writer before it";
  world().run_for(5s);
  EXPECT_EQ(client(1).requests(Kind::list_children), 1U) << "the young node of an old number";
  release(reads_);
  EXPECT_TRUE(lock_.call(writer).granted());
  EXPECT_EQ(lock_.call(reader).outcomes, 0);
  release(writer);
  EXPECT_TRUE(lock_.call(reader).granted());
  release(reader);
  expect_rest();
}

TEST_F(Downgrade, ReadersAroundWriter_OnlyThoseAheadAreGranted) {
  const auto first = waiting(1, to_read());
  const auto writer = waiting(2, to_write());
  const auto late = waiting(1, to_read());
  downgraded();
  EXPECT_TRUE(lock_.call(first).granted());
  EXPECT_EQ(lock_.call(writer).outcomes + lock_.call(late).outcomes, 0);
  release(reads_);
  EXPECT_EQ(lock_.call(writer).outcomes, 0);
  release(first);
  EXPECT_TRUE(lock_.call(writer).granted());
  release(writer);
  release(late);
  expect_rest();
}

TEST_F(Downgrade, WriteCountLeft_NotDowngraded) {
  const auto again = granted(0, LockWorld::to_write(owner_));
  reset_counts();
  release(writes_);
  EXPECT_EQ(client(0).requests(), 0U);
  EXPECT_TRUE(is_writer());
  release(again);
  EXPECT_TRUE(is_reader());
  const auto more = granted(0, LockWorld::to_read(owner_));
  const auto upgrade = lock_.acquire(0, LockWorld::to_write(owner_));
  run();
  EXPECT_EQ(error(upgrade), Errc::would_deadlock);
  release(more);
  EXPECT_TRUE(is_reader());
  EXPECT_EQ(client(0).requests(), 1U);
  release(reads_);
  expect_rest();
}

TEST_F(Downgrade, ReadReleasedFirst_NotDowngraded) {
  release(reads_);
  EXPECT_EQ(client(0).requests(), 0U);
  release(writes_);
  EXPECT_EQ(client(0).requests(), client(0).requests(Kind::announce_and_delete));
  expect_rest();
}

TEST_F(Downgrade, ThreadExited_NotDowngraded) {
  release(reads_);
  release(writes_);
  auto writes = LockWorld::to_write(owner_);
  writes.kind = core::CountKind::lock;
  writes_ = granted(0, writes);
  auto reads = LockWorld::to_read(owner_);
  reads.kind = core::CountKind::shared_lock;
  reads_ = granted(0, reads);
  reset_counts();
  lock_.path_lock(0)->thread_exits(owner_);
  run();
  EXPECT_EQ(client(0).requests(), client(0).requests(Kind::remove));
  EXPECT_EQ(client(0).requests(), 1U);
  release(reads_);
  release(writes_);
  expect_rest();
}

TEST_F(Downgrade, Mutex_NotDowngraded) {
  release(reads_);
  release(writes_);
  const auto alone = granted(0, {.owner = owner_});
  const auto reads = granted(0, LockWorld::to_read(owner_));
  const auto reader = waiting(1, to_read());
  release(alone);
  EXPECT_EQ(lock_.call(reader).outcomes, 0);
  release(reads);
  EXPECT_TRUE(lock_.call(reader).granted());
  release(reader);
  expect_rest();
}

// The call of the writer has ended by its timeout. The readers that share its znode still wait.
TEST_F(Downgrade, WriterTimedOut_SharingReadersAreDowngraded) {
  const Owner owner = Owner::unique();
  auto wish = LockWorld::to_write(owner);
  wish.timeout = 1s;
  const auto writes = waiting(1, wish);
  const auto reads = waiting(1, LockWorld::to_read(owner));
  const auto behind = waiting(2, to_read());
  world().run_for(1s);
  ASSERT_EQ(lock_.call(writes).outcomes, 1);
  release(reads_);
  release(writes_);
  EXPECT_TRUE(lock_.call(reads).granted());
  EXPECT_TRUE(lock_.call(behind).granted());
  EXPECT_EQ(lock_.held(), 2U);
  release(reads);
  release(behind);
  expect_rest();
}

TEST_F(Downgrade, Refused_RemainsWriter) {
  for (const Status refusal : {Status::no_auth, Status::quota_exceeded, Status::too_many_nodes,
                               Status::server_error, Status::invalid_acl, Status::read_only}) {
    const auto reader = waiting(1, to_read());
    world().fail_next(0, Kind::transaction, refusal);
    downgrade();
    world().run_for(2s);
    EXPECT_TRUE(is_writer());
    EXPECT_EQ(hold().state(), HoldState::held);
    EXPECT_EQ(lock_.call(reader).outcomes, 0) << "it waits as if it still wrote";
    EXPECT_EQ(client(0).requests(Kind::transaction), 1U) << "quietly, and once";
    EXPECT_EQ(client(0).live_interests(), 2U) << "it watches its node again";
    reset_counts();
    release(reads_);
    EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U) << "as a writer";
    EXPECT_EQ(client(1).requests(Kind::list_children), 0U);
    EXPECT_TRUE(lock_.call(reader).granted());
    release(reader);
    writes_ = granted(0, LockWorld::to_write(owner_));
    reads_ = granted(0, LockWorld::to_read(owner_));
    writer_ = hold().node();
    reset_counts();
  }
  release(reads_);
  release(writes_);
  expect_rest();
}

TEST_F(Downgrade, NameTakenByStranger_RemainsWriter) {
  ASSERT_EQ(ensemble().create(reader_), Status::ok);
  downgrade();
  run();
  EXPECT_EQ(hold().state(), HoldState::held);
  EXPECT_EQ(hold().node(), writer_);
  EXPECT_TRUE(there(writer_));
  release(reads_);
  EXPECT_EQ(lock_.nodes().size(), 1U) << "the stranger's is not touched";
  ensemble().remove(reader_);
  expect_rest();
}

TEST_F(Downgrade, Throttled_IsRetried) {
  const auto reader = waiting(1, to_read());
  world().fail_next(0, Kind::transaction, Status::throttled);
  downgrade();
  run();
  EXPECT_TRUE(is_writer());
  world().run_for(1s);
  EXPECT_TRUE(is_reader());
  EXPECT_TRUE(lock_.call(reader).granted());
  release(reads_);
  release(reader);
  expect_rest();
}

TEST_F(Downgrade, ReleaseWhileThrottled_LeavesNoZnode) {
  world().fail_next(0, Kind::transaction, Status::throttled);
  downgrade();
  run();
  release(reads_);
  EXPECT_TRUE(lock_.nodes().empty());
  EXPECT_FALSE(lock_.has_work(0));
  expect_rest();
}

TEST_F(Downgrade, MaximumHoldTime_CountsFromWriteGrant) {
  release(reads_);
  release(writes_);
  auto wish = LockWorld::to_write(owner_);
  wish.limit = {.longest = 3s};
  writes_ = granted(0, wish);
  reads_ = granted(0, LockWorld::to_read(owner_));
  const auto writer = waiting(1, to_write());
  downgrade();
  run();
  world().run_for(5s);
  EXPECT_EQ(hold().state(), HoldState::lost) << "it is the same hold";
  EXPECT_TRUE(lock_.call(writer).granted());
  release(reads_);
  release(writer);
  expect_rest();
}

// The loss is notified before the client learns of the lost reply. The delete of the znode follows.
TEST_F(Downgrade, MaximumHoldTimeBeforeReply_DeletesEitherZnode) {
  release(reads_);
  release(writes_);
  auto wish = LockWorld::to_write(owner_);
  wish.limit = {.longest = 3s};
  writes_ = granted(0, wish);
  reads_ = granted(0, LockWorld::to_read(owner_));
  world().run_for(2999ms);
  downgrade();
  while (client(0).can_serve()) world().run({Step::Kind::serve, 0});
  ASSERT_EQ(lock_.nodes().size(), 1U);
  ASSERT_EQ(lock_.nodes()[0].find("__READ__"), 0U);
  world().disconnect(0);
  while (world().dispatcher(0).empty()) world().run({Step::Kind::timer});
  while (client(0).can_receive()) world().run({Step::Kind::receive, 0});
  EXPECT_EQ(hold().state(), HoldState::lost);
  ASSERT_FALSE(world().dispatcher(0).empty())
      << "the loss is notified first, then the znode is deleted";
  lock_.connect_all();
  world().run_for(1s);
  EXPECT_TRUE(lock_.nodes().empty());
  release(reads_);
  expect_rest();
}

TEST_F(Downgrade, ReleaseRequestBySequenceNumber_IsObeyed) {
  downgraded();
  world().run_for(2s);
  const auto name = core::ZnodeName::parse(reader_.substr(reader_.rfind('/') + 1));
  const std::string marker = LockWorld::kPath + ("/" + core::release_request_node(name->sequence));
  ASSERT_EQ(ensemble().create(marker, std::string(core::kReleaseRequestForces)), Status::ok);
  world().run_for(5s);
  EXPECT_EQ(hold().state(), HoldState::lost);
  EXPECT_FALSE(there(reader_));
  ASSERT_EQ(ensemble().remove(marker), Status::ok);
  release(reads_);
  expect_rest();
}

TEST_F(Downgrade, CloseDuringDowngrade_HoldIsLost) {
  for (int steps = 0; steps < 3; ++steps) {
    LockWorld lock(1);
    lock.connect_all();
    const Owner owner = Owner::unique();
    const auto writes = lock.acquire(0, LockWorld::to_write(owner));
    const auto reads = lock.acquire(0, LockWorld::to_read(owner));
    lock.world().run_all();
    lock.release(writes);
    for (int i = 0; i < steps; ++i) lock.world().run(lock.world().steps().front());
    lock.core(0).close();
    lock.world().run_all();
    EXPECT_EQ(lock.call(reads).hold.state(), HoldState::lost);
    EXPECT_FALSE(lock.has_work(0));
    lock.release(reads);
  }
}

}  // namespace
}  // namespace zklock::model
