// SPDX-License-Identifier: Apache-2.0
// A client that locks a path repeatedly detects by its sequence number that its znode is the first.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

class SequenceHintTest : public PathLockTest {
 protected:
  void SetUp() override {
    PathLockTest::SetUp();
    lock_.use(0);
    lock_.use(1);
  }
  void cycle(std::size_t client) { release(granted(client)); }
  /// Acquires twice in a row. After that, the client relies on the sequence number.
  void get_used_to_it(std::size_t client) {
    cycle(client);
    cycle(client);
    reset_counts();
  }
  /// Recreates the path by hand, then creates and deletes that many children.
  void make_path_anew(int children) {
    ASSERT_EQ(ensemble().remove(LockWorld::kPath), Status::ok);
    ensemble().create_container(LockWorld::kPath);
    for (int i = 0; i < children; ++i) {
      const auto name = ensemble().create_sequential(LockWorld::kPath, "lock-");
      ASSERT_EQ(ensemble().remove(child(*name)), Status::ok);
    }
  }
};

TEST_F(SequenceHintTest, AlternatingClients_DoNotUseHint) {
  get_used_to_it(0);
  cycle(1);
  EXPECT_EQ(requests_of_a_grant(0), 3U) << "a wrong guess: create, watch, list";
  cycle(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(requests_of_a_grant(0), 2U);
    cycle(1);
  }
  cycle(0);
  cycle(0);
  EXPECT_EQ(requests_of_a_grant(0), 1U);
}

// The ensemble delays the delete of the released znode. The client detects that, and waits for the
// delete.
TEST_F(SequenceHintTest, DeleteOfReleasedZnodePending_IsWaitedFor) {
  get_used_to_it(0);
  const auto before = granted(0);
  client(0).fail_next(Kind::announce_and_delete, Status::throttled);
  release_node(before);
  const auto own = waiting(0);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  run_for(1s);
  EXPECT_TRUE(is_granted(own));
}

// In the new path a contender with the previous sequence number holds.
TEST_F(SequenceHintTest, PathRecreated_IsNotTakenForOldPath) {
  get_used_to_it(0);
  const int next = ensemble().find(LockWorld::kPath)->counter;
  make_path_anew(next - 1);
  granted(1);
  EXPECT_EQ(lock_.nodes(),
            std::vector<std::string>{core::ZnodeName::make("lock-", {next - 1}).text});
  waiting(0);
}

// The path is replaced before the watch is set, and a znode in it gets the old name.
TEST_F(SequenceHintTest, PathReplacedBeforeWatch_HintIsNotUsed) {
  cycle(0);
  const auto held = lock_.acquire(0);
  ASSERT_TRUE(lock_.world().run_until([&] { return lock_.call(held).granted(); }, 1s));
  ASSERT_EQ(lock_.nodes().size(), 1U);
  const std::string node = lock_.nodes().front();
  ASSERT_EQ(ensemble().remove(child(node)), Status::ok);
  make_path_anew(0);
  ensemble().set_counter(LockWorld::kPath, core::ZnodeName::parse(node)->sequence.value);
  release(held);
  EXPECT_EQ(client(0).server_watches(), 1U);
  granted(1);
  EXPECT_EQ(lock_.nodes(), std::vector<std::string>{node}) << "it has the name";
  waiting(0);
}

TEST_F(SequenceHintTest, Reconnected_QueriesAgain) {
  get_used_to_it(0);
  lock_.world().disconnect(0);
  reconnect(0);
  EXPECT_EQ(requests_of_a_grant(0), 3U) << "create, count, and the watch";
  EXPECT_EQ(requests_of_a_grant(0), 1U);
}

// The watch ends with the session, without an event.
TEST_F(SequenceHintTest, WatchOfOldSession_HintIsNotUsed) {
  get_used_to_it(0);
  const int next = ensemble().find(LockWorld::kPath)->counter;
  lock_.world().expire(0);
  run();
  ASSERT_TRUE(client(0).is_connected());
  make_path_anew(next - 1);
  granted(1);
  waiting(0);
}

TEST_F(SequenceHintTest, IdleTime_WatchEndsAndIsSetAgain) {
  get_used_to_it(0);
  run_for(900ms);
  EXPECT_EQ(client(0).server_watches(), 1U);
  EXPECT_EQ(requests_of_a_grant(0), 1U);
  run_for(900ms);
  EXPECT_EQ(client(0).server_watches(), 1U) << "it was used meanwhile";
  run_for(200ms);
  EXPECT_EQ(client(0).server_watches(), 0U);
  EXPECT_EQ(requests_of_a_grant(0), 2U) << "a client that locks this rarely sets no watch";
  EXPECT_EQ(requests_of_a_grant(0), 3U);
  EXPECT_EQ(requests_of_a_grant(0), 1U);
  run_for(1s);
  EXPECT_EQ(requests_of_a_grant(0), 2U) << "exactly a second is too long";
}

TEST_F(SequenceHintTest, WatchRefused_NotTriedForOneMinute) {
  client(0).fail_next(Kind::get_and_watch, Status::no_auth);
  client(0).fail_next(Kind::exists_and_watch, Status::no_auth);
  cycle(0);
  EXPECT_EQ(requests_of_a_grant(0), 3U) << "create, count, and the watch";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(requests_of_a_grant(0), 2U);
  run_for(1min);
  cycle(0);
  EXPECT_EQ(requests_of_a_grant(0), 3U);
  EXPECT_EQ(requests_of_a_grant(0), 1U);
}

TEST_F(SequenceHintTest, WatchThrottled_IsTriedAgain) {
  client(0).fail_next(Kind::get_and_watch, Status::throttled);
  cycle(0);
  EXPECT_EQ(requests_of_a_grant(0), 3U) << "create, count, and the watch";
  EXPECT_EQ(requests_of_a_grant(0), 3U) << "the same";
  EXPECT_EQ(requests_of_a_grant(0), 1U);
}

class ManyPaths : public SequenceHintTest {
 protected:
  void SetUp() override {
    SequenceHintTest::SetUp();
    for (int i = 0; i < detail::SequenceHint::kMostWatchedPaths; ++i) {
      watch_another("/locks/other-" + std::to_string(i));
    }
    ASSERT_EQ(client(0).server_watches(), others_.size());
  }
  void TearDown() override {
    while (!others_.empty()) give_back_another();
    SequenceHintTest::TearDown();
  }
  void watch_another(const std::string& path) {
    const auto& other = others_.emplace_back(lock_.path_lock(0, path.c_str()));
    other->attach();
    for (int i = 0; i < 2; ++i) cycle_other(other);
    expect_existing_paths(0);
  }
  /// Detaches the last object of one of the other paths.
  void give_back_another() {
    others_.back()->detach();
    others_.pop_back();
    run();
  }
  void expect_to_count_each_time() {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(requests_of_a_grant(0), 2U) << "create and count";
  }

  std::vector<std::shared_ptr<detail::PathLock>> others_;
};

TEST_F(ManyPaths, PathBeyondLimit_IsLockedWithoutHint) {
  expect_to_count_each_time();
  EXPECT_EQ(client(0).server_watches(), others_.size());
  granted(1);
  waiting(0);
  waiting(1);
}

TEST_F(ManyPaths, PathsReleased_MakeRoomForAsMany) {
  expect_to_count_each_time();
  give_back_another();
  EXPECT_EQ(requests_of_a_grant(0), 3U) << "and the watch on the path";
  EXPECT_EQ(requests_of_a_grant(0), 1U);
  EXPECT_EQ(client(0).server_watches(), others_.size() + 1);
  lock_.end_use(0);
  lock_.use(0);
  watch_another("/locks/one-more");
  EXPECT_EQ(client(0).server_watches(), others_.size()) << "in its stead";
  expect_to_count_each_time();
}

}  // namespace
}  // namespace zklock::model
