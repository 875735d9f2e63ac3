// SPDX-License-Identifier: Apache-2.0
// The kinds of contenders that wait for the delay after a loss. Also the marker of the delay, and
// its visibility.
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_delay_fixture.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

class LockDelayKinds : public LockDelay {
 protected:
  struct WriterAndReader {
    std::size_t writer;
    std::size_t reader;
  };
  // One owner of the first client writes, with a delay, and also reads.
  WriterAndReader writes_and_reads(const Owner& owner = Owner::unique(),
                                   core::CountKind kind = core::CountKind::hold) {
    auto writing = LockWorld::to_write(owner);
    writing.lock_delay = kDelay;
    writing.kind = kind;
    const auto writer = granted(0, writing);
    return {writer, granted(0, LockWorld::to_read(owner))};
  }
};

// ---- other kinds of contenders ------------------------------------------------------------------

// The first reader deletes the marker before the timer of the second one runs.
TEST_F(LockDelayKinds, ReadersOfOneClient_WaitForOneDelay) {
  auto writing = LockWorld::to_write();
  writing.lock_delay = kDelay;
  const auto writer = granted(0, writing);
  const auto one = waiting(1, LockWorld::to_read());
  const auto two = waiting(1, LockWorld::to_read());
  lose(0);
  run_for(kDelay - 1ns);
  for (int step = 0; step < 100 && !is_granted(one); ++step) {
    lock_.world().run({Step::Kind::timer});
    for (int message = 0; message < 10; ++message) {
      lock_.world().run({Step::Kind::serve, 1});
      lock_.world().run({Step::Kind::receive, 1});
    }
  }
  run();
  EXPECT_TRUE(is_granted(one) && is_granted(two));
  for (const auto each : {one, two, writer}) release(each);
  expect_rest();
}

// The downgrade and the delete of the marker are one transaction. With two, readers could wait for
// a marker without a delay.
TEST_F(LockDelayKinds, Downgrade_DeletesMarkerInOneTransaction) {
  enum class Trouble { none, put_off, reply_lost, request_lost, marker_deleted, refused };
  for (const Trouble trouble : {Trouble::none, Trouble::put_off, Trouble::reply_lost,
                                Trouble::request_lost, Trouble::marker_deleted, Trouble::refused}) {
    SCOPED_TRACE(static_cast<int>(trouble));
    const auto [writer, reader] = writes_and_reads();
    const auto other = waiting(1, LockWorld::to_read());
    switch (trouble) {
      case Trouble::none: break;
      case Trouble::put_off: client(0).fail_next(Kind::transaction, Status::throttled); break;
      case Trouble::reply_lost: lock_.world().lose_reply(0, Kind::transaction); break;
      case Trouble::request_lost: lock_.world().lose_request(0, Kind::transaction); break;
      case Trouble::marker_deleted:
        ASSERT_EQ(ensemble().remove(child(marker_nodes().at(0))), Status::ok);
        break;
      case Trouble::refused: client(0).fail_next(Kind::transaction, Status::no_auth); break;
    }
    reset_counts();
    release(writer);
    if (trouble == Trouble::none) {
      EXPECT_EQ(client(0).requests(), 1U);
    }
    if (trouble == Trouble::put_off) {
      EXPECT_EQ(markers(), 1U);
      EXPECT_EQ(lock_.nodes().size(), 3U);
    }
    lock_.world().reconnect(0);
    run_for(250ms);
    EXPECT_EQ(markers(), 0U);
    EXPECT_EQ(is_granted(other), trouble != Trouble::refused);
    EXPECT_EQ(lock_.call(reader).hold.state(), HoldState::held);
    release(reader);
    EXPECT_TRUE(is_granted(other));
    release(other);
    expect_rest();
  }
}

TEST_F(LockDelayKinds, DowngradePostponed_ReleaseLeavesNoDelay) {
  const auto [writer, reader] = writes_and_reads();
  const auto next = waiting(1);
  client(0).fail_next(Kind::transaction, Status::throttled);
  release(writer);
  EXPECT_EQ(markers(), 1U);
  release(reader);
  EXPECT_TRUE(is_granted(next));
  EXPECT_EQ(markers(), 0U);
  release(next);
  expect_rest();
}

// The work of an ended thread can be at any point, so its owner is not downgraded.
TEST_F(LockDelayKinds, ThreadExited_NewReaderWaitsForDelay) {
  const Owner owner = Owner::unique();
  const auto [writer, reader] = writes_and_reads(owner, core::CountKind::lock);
  const auto next = waiting(1, LockWorld::to_read());
  lock_.path_lock(0)->thread_exits(owner);
  run_for(1s);
  EXPECT_FALSE(is_granted(next));
  release(reader);
  expect_granted_after(kDelay, next);
  release(next);
  release(writer);
  expect_rest();
}

TEST_F(LockDelayKinds, ContenderAtGate_DoesNotWaitForDelay) {
  Request request = LockWorld::at_gate(5);
  request.lock_delay = kDelay;
  const auto node_of = [&](std::size_t c) { return lock_.path_lock(c)->nodes().at(0); };
  const auto holder = granted(0, request);
  EXPECT_EQ(markers(), 1U) << "of the lock, not of the gate";
  request.owner = Owner::unique();
  const auto next = waiting(1, request);
  lose(0);
  EXPECT_TRUE(node_of(1).starts_with("lock-")) << "it has passed the gate";
  request.owner = Owner::unique();
  const auto late = waiting(2, request);
  EXPECT_TRUE(node_of(2).starts_with("weight-")) << "it has not: the lock is wanted";
  expect_granted_after(kDelay, next);
  release(next);
  EXPECT_TRUE(is_granted(late)) << "at once";
  release(late);
  release(holder);
  expect_rest();
}

// ---- the marker and the znode ------------------------------------------------------------------

TEST_F(LockDelayKinds, MarkerCannotBeDeleted_ReleaseDeletesZnode) {
  const auto holder = granted(0, delayed());
  const std::string marker = child(marker_nodes().at(0));
  ASSERT_EQ(ensemble().create(marker + "/somebody's"), Status::ok);
  release(holder);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  ASSERT_EQ(ensemble().remove(marker + "/somebody's"), Status::ok);
  expect_rest_after_next();
}

TEST_F(LockDelayKinds, ZnodeDeletedByHand_ReleaseDeletesMarker) {
  const auto holder = granted(0, delayed());
  ASSERT_EQ(ensemble().remove(lock_.call(holder).node), Status::ok);
  release(holder);  // before it receives the event
  EXPECT_EQ(lock_.nodes().size(), 0U);
  expect_rest();
}

// ---- a recreated path --------------------------------------------------------------------------

TEST_F(LockDelayKinds, PathRecreated_LeavesMarkerOfOtherHolder) {
  const auto holder = granted(0, delayed());
  const std::string node = lock_.call(holder).node;
  remove_path();
  // The numbers restart. A znode gets the old name before the holder learns of its loss.
  ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
  const auto before = lock_.acquire(1);
  lock_.world().run_all();
  lock_.release(before);
  const auto other = lock_.acquire(1, delayed());
  lock_.world().run_all();
  ASSERT_EQ(lock_.call(other).node, node);
  ASSERT_EQ(lock_.call(holder).hold.state(), HoldState::held);
  EXPECT_EQ(markers(), 1U);
  release(holder);
  EXPECT_EQ(markers(), 1U) << "it is the other's";
  const auto next = waiting(2);
  lose(1);
  expect_granted_after(kDelay, next);
  release(other);
  release(next);
}

// The marker is created while a znode of that name exists, but that znode is another client's.
TEST_F(LockDelayKinds, MarkerBesideForeignZnode_GrantsNothing) {
  const auto holder = granted(0);
  const auto next = waiting(1, delayed());
  release_node(holder);
  while (lock_.nodes().size() > 1) lock_.world().run({Step::Kind::serve, 0});
  while (client(1).can_receive()) lock_.world().run({Step::Kind::receive, 1});
  ASSERT_EQ(client(1).requests(Kind::transaction), 1U) << "it is in flight";
  remove_path();
  ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
  std::vector<std::string> strangers;
  for (int i = 0; i < 3; ++i) {
    strangers.push_back(*ensemble().create_sequential(LockWorld::kPath, "lock-"));
  }
  run();
  EXPECT_FALSE(is_granted(next));
  EXPECT_EQ(markers(), 0U);
  for (const auto& stranger : strangers) {
    ASSERT_EQ(ensemble().remove(child(stranger)), Status::ok);
  }
  run();
  EXPECT_TRUE(is_granted(next));
  EXPECT_EQ(markers(), 1U);
  release(next);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
