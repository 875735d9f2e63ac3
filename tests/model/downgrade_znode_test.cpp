// SPDX-License-Identifier: Apache-2.0
// The znode during a downgrade: its names, its data, and its deletion by others.
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/downgrade_fixture.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/queue_view.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;
using Downgrade = DowngradeTest;

TEST_F(Downgrade, DowngradedZnode_HasDataOfWriterZnode) {
  const Node before = *ensemble().find(writer_);
  world().run_for(1s);
  downgraded();
  const Node after = *ensemble().find(reader_);
  EXPECT_EQ(after.owner, before.owner);
  auto said = core::ZnodeData::parse(after.data);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->token, hold().token().zxid);
  EXPECT_EQ(said->since_ms, before.created_ms);
  EXPECT_NE(after.created_ms, before.created_ms);
  said->token = said->since_ms = 0;
  EXPECT_EQ(said->encode(), before.data);
  EXPECT_EQ(lock_.path_lock(0)->nodes(), std::vector{reader_.substr(reader_.rfind('/') + 1)});
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

TEST_F(Downgrade, ReleaseBeforeReply_LeavesNoZnode) {
  for (int steps = 0; steps < 3; ++steps) {
    if (steps > 0) {
      writes_ = granted(0, LockWorld::to_write(owner_));
      reads_ = granted(0, LockWorld::to_read(owner_));
    }
    const auto reader = waiting(1, to_read());
    const auto writer = waiting(2, to_write());
    downgrade();
    step(steps);
    lock_.release(reads_);
    run();
    EXPECT_TRUE(lock_.call(reader).granted());
    EXPECT_EQ(lock_.nodes().size(), 2U);
    release(reader);
    EXPECT_TRUE(lock_.call(writer).granted());
    release(writer);
  }
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

TEST_F(Downgrade, OwnZnodeWatched_NoLossByDowngrade) {
  world().run_for(2s);
  ASSERT_EQ(client(0).live_interests(), 2U) << "its node, and the marker";
  downgraded();
  world().run_for(5s);
  EXPECT_EQ(hold().state(), HoldState::held);
  EXPECT_EQ(client(0).live_interests(), 2U);
  ASSERT_EQ(ensemble().remove(reader_), Status::ok);
  run();
  EXPECT_EQ(hold().state(), HoldState::lost);
  EXPECT_EQ(lock_.losses_notified(reads_), 1U);
  release(reads_);
  expect_rest();
}

// Without READ permission, the client sees the owner of the znode, but not its data.
TEST_F(Downgrade, ZnodeUnreadable_IsNoLoss) {
  downgraded();
  client(0).fail_next(Kind::get_and_watch, Status::no_auth);
  world().run_for(5s);
  EXPECT_EQ(client(0).live_interests(), 2U) << "its node, and the marker";
  EXPECT_EQ(hold().state(), HoldState::held);
  ASSERT_EQ(ensemble().remove(reader_), Status::ok);
  run();
  EXPECT_EQ(hold().state(), HoldState::lost);
  release(reads_);
  expect_rest();
}

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

// The downgrade is executed, its reply is lost, and the znode is deleted before the next query.
TEST_F(Downgrade, ZnodeDeletedAfterLostReply_IsLoss) {
  world().lose_reply(0, Kind::transaction);
  downgrade();
  run();
  ASSERT_TRUE(there(reader_));
  ASSERT_EQ(ensemble().remove(reader_), Status::ok);
  lock_.connect_all();
  EXPECT_EQ(hold().state(), HoldState::lost);
  release(reads_);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
