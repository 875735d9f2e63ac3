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

// ---- the znode ----------------------------------------------------------------------------------

TEST_F(Downgrade, Downgraded_HasDataOfWriterZnode) {
  const Node before = *ensemble().find(writer_);
  world().run_for(1s);
  downgraded();
  const Node after = *ensemble().find(reader_);
  auto said = core::ZnodeData::parse(after.data);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->token, hold().token().zxid);
  EXPECT_EQ(said->since_ms, before.created_ms);
  said->token = said->since_ms = 0;
  EXPECT_EQ(said->encode(), before.data);
  release(reads_);
  expect_rest();
}

// A list can be older than the downgrade.
TEST_F(Downgrade, EitherZnodeName_IsOwn) {
  downgraded();
  for (const std::string& node : {writer_, reader_}) {
    client::Reply list;
    list.children = {node.substr(node.rfind('/') + 1)};
    const auto is_mine_at = [&](std::size_t c) {
      const auto path_lock = lock_.path_lock(c);
      detail::ViewBuilder view(list, detail::ViewScope::all_holders());
      view.take({}, detail::OwnZnodes(path_lock->context().keeper().session(), path_lock->nodes()));
      return view.view().lock.holders.at(0).mine;
    };
    EXPECT_TRUE(is_mine_at(0)) << node;
    EXPECT_FALSE(is_mine_at(1)) << node;
  }
  release(reads_);
  expect_rest();
}

TEST_F(Downgrade, BeforeReply_BothNamesAreOwn) {
  downgrade();
  EXPECT_EQ(lock_.path_lock(0)->nodes().size(), 2U);
  EXPECT_TRUE(lock_.has_work(0)) << "flush() waits for it";
  run();
  EXPECT_EQ(lock_.path_lock(0)->nodes().size(), 1U);
  EXPECT_FALSE(lock_.has_work(0));
  release(reads_);
  expect_rest();
}

TEST_F(Downgrade, ZnodeDeletedBefore_IsLoss) {
  ASSERT_EQ(ensemble().remove(writer_), Status::ok);
  downgrade();
  run();
  EXPECT_EQ(hold().state(), HoldState::lost);
  EXPECT_EQ(lock_.losses_notified(reads_), 1U);
  EXPECT_TRUE(lock_.nodes().empty());
  release(reads_);
  expect_rest();
}

// The tick reads the reader's znode before any watch on it is set.
TEST_F(Downgrade, ZnodeReplacedByStranger_IsLoss) {
  downgraded();
  ASSERT_EQ(ensemble().remove(reader_), Status::ok);
  ASSERT_EQ(ensemble().create(reader_), Status::ok);
  world().run_for(5s);
  EXPECT_EQ(hold().state(), HoldState::lost);
  release(reads_);
  ensemble().remove(reader_);
  expect_rest();
}

// A znode of this session at the path is not necessarily the one that the downgrade created.
TEST_F(Downgrade, OtherAttemptAfterLostReply_IsLoss) {
  world().lose_reply(0, Kind::transaction);
  downgrade();
  run();
  const Node node = *ensemble().find(reader_);
  auto other = core::ZnodeData::parse(node.data);
  ASSERT_TRUE(other);
  other->attempt = core::ZnodeData::parse(node.data)->attempt + "0";
  ASSERT_EQ(ensemble().remove(reader_), Status::ok);
  ASSERT_EQ(ensemble().create(reader_, other->encode(), node.owner), Status::ok);
  lock_.connect_all();
  EXPECT_EQ(hold().state(), HoldState::lost);
  release(reads_);
  ensemble().remove(reader_);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
