// SPDX-License-Identifier: Apache-2.0
// The ensemble is emptied, or restored from an old backup, while a path lock continues. The zxids
// restart, so the tokens of the new session are lower than those that the path lock has stored.

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class EmptiedServers : public PathLockTest {
 protected:
  void SetUp() override {
    PathLockTest::SetUp();
    for (const std::size_t c : {0U, 1U, 2U}) lock_.use(c);
    raise_zxids_to(ensemble().last_zxid() + 1'000);
  }
  void TearDown() override {
    for (const std::size_t c : {0U, 1U, 2U}) lock_.end_use(c);
    expect_rest();
  }
  void cycle(std::size_t client) { release(granted(client)); }
  /// Sets the next sequence number of the path. Creates the path if it is missing.
  void begin_numbers_at(int next) {
    ensemble().create("/locks");
    ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
    ensemble().set_counter(LockWorld::kPath, next);
  }
  void reap() {
    run_for(2s);
    ASSERT_GT(ensemble().reap_containers(), 0U);
    run();
  }
  /// Empties the ensemble, and gives each client a new session.
  void empty_servers() {
    lock_.empty_servers();
    run();
    for (const std::size_t c : {0U, 1U, 2U}) lock_.world().disconnect(c);
    run_for(client(0).options().session_timeout + 1s);
    for (const std::size_t c : {0U, 1U, 2U}) lock_.world().reconnect(c);
    run();
  }
  void raise_zxids_to(std::int64_t zxid) {
    while (ensemble().last_zxid() < zxid) ASSERT_EQ(ensemble().set_data("/", {}), Status::ok);
  }
  void expect_released_nodes_are_deleted() {
    for (const std::size_t c : {0U, 1U, 0U, 0U}) {
      cycle(c);
      EXPECT_TRUE(lock_.nodes().empty());
    }
  }
};

TEST_F(EmptiedServers, PathRecreatedBefore_ReleasedZnodeIsDeleted) {
  cycle(0);
  cycle(1);
  reap();
  cycle(0);
  cycle(1);
  empty_servers();
  expect_released_nodes_are_deleted();
}

TEST_F(EmptiedServers, FirstSequenceBeyondEnd_ReleasedZnodeIsDeleted) {
  cycle(0);
  reap();
  cycle(0);
  empty_servers();
  begin_numbers_at(core::kFirstUnusableSequence.value);
  cycle(0);
  expect_released_nodes_are_deleted();
}

// A repeated delete must not delete the new znode of that name.
TEST_F(EmptiedServers, PathRecreatedLater_IsDetected) {
  cycle(0);
  empty_servers();
  cycle(0);
  reap();
  const auto holder = lock_.acquire(0);
  reset_counts();
  run();
  ASSERT_TRUE(is_granted(holder));
  EXPECT_EQ(client(0).requests(Kind::check), 1U) << "it is looked for";
  release(holder);
}

// After that, the client's own sequence number equals that of the last znode that it released.
TEST_F(EmptiedServers, ReusedSequenceNumber_NextIsNotFirst) {
  cycle(0);
  const auto last = granted(0);
  const int number = core::ZnodeName::parse(lock_.nodes().at(0))->sequence.value;
  release(last);
  empty_servers();
  begin_numbers_at(number - 1);
  const auto lost = granted(0);
  run_for(900ms);  // until its own znode is watched
  ASSERT_EQ(ensemble().remove(lock_.call(lost).node), Status::ok);
  run();
  const auto holder = granted(0);
  ASSERT_EQ(core::ZnodeName::parse(lock_.nodes().at(0))->sequence.value, number);
  const auto next = waiting(0);
  release(holder);
  EXPECT_TRUE(is_granted(next));
  release(next);
  release(lost);
}

}  // namespace
}  // namespace zklock::model
