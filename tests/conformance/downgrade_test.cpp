// SPDX-License-Identifier: Apache-2.0
// Downgrades of a SharedMutex on real servers: a writer releases the write lock and continues to
// read.
#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class DowngradeTest : public LockTest {
 protected:
  struct Both {
    Owner owner;
    Hold writing;
    Hold reading;
  };
  static Both both(SharedMutex& mutex) {
    const Owner owner = Owner::unique();
    Hold writing = mutex.acquire({.owner = owner});
    Hold reading = mutex.acquire_shared({.owner = owner});
    return {owner, std::move(writing), std::move(reading)};
  }
  // Releases the write lock and waits until the ensemble has confirmed the downgrade.
  Hold downgraded(Both held) {
    held.writing.release();
    EXPECT_TRUE(client_->flush(kTestTimeout));
    return std::move(held.reading);
  }
  std::string name_of(const Hold& hold) { return hold.node().substr(kPath.size() + 1); }

  std::unique_ptr<Client> client_ = connect();
  SharedMutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect();
  SharedMutex others_mutex_{*other_, kPath};
};

TEST_F(DowngradeTest, ReaderWaits_IsGrantedAtTheDowngrade) {
  Both held = both(mutex_);
  auto reader = others_mutex_.async_acquire_shared();
  ASSERT_TRUE(reaches_nodes(2));
  const FencingToken token = held.writing.token();
  EXPECT_EQ(held.reading.node(), kPath + "/__WRIT__0000000000");
  EXPECT_FALSE(is_ready(reader));
  Hold reading = downgraded(std::move(held));
  Hold along = get(reader);
  EXPECT_EQ(reading.state(), HoldState::held);
  EXPECT_EQ(along.state(), HoldState::held);
  EXPECT_EQ(reading.token(), token);
  EXPECT_EQ(reading.node(), kPath + "/__READ__0000000000");
  EXPECT_EQ(nodes().size(), 2U);
  EXPECT_TRUE(others_mutex_.try_lock_shared());
  others_mutex_.unlock_shared();
  EXPECT_FALSE(others_mutex_.try_lock());
  along.release();
  reading.release();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(DowngradeTest, WriterQueued_StaysAheadOfLaterReaders) {
  Both held = both(mutex_);
  auto writer = others_mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  auto late = mutex_.async_acquire_shared();
  ASSERT_TRUE(reaches_nodes(3));
  Hold reading = downgraded(std::move(held));
  EXPECT_FALSE(others_mutex_.try_lock_shared()) << "the writer is ahead";
  EXPECT_FALSE(is_ready(writer) || is_ready(late));
  reading.release();
  Hold writing = get(writer);
  EXPECT_FALSE(is_ready(late));
  writing.release();
  get(late).release();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(DowngradeTest, LockAndLockShared_ThreadDowngradesByUnlock) {
  mutex_.lock();
  mutex_.lock_shared();
  mutex_.unlock();
  EXPECT_EQ(mutex_.write_count(), 0);
  EXPECT_EQ(mutex_.read_count(), 1);
  EXPECT_TRUE(others_mutex_.try_lock_shared_for(kTestTimeout));
  others_mutex_.unlock_shared();
  EXPECT_EQ(error_of([&] { return mutex_.try_lock(); }), Errc::would_deadlock);
  mutex_.unlock_shared();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(DowngradeTest, ReleasedAtOnce_LeavesNoZnode) {
  for (int i = 0; i < 50; ++i) {
    auto held = both(mutex_);
    auto rival = i % 2 == 0 ? others_mutex_.async_acquire() : others_mutex_.async_acquire_shared();
    held.writing.release();
    held.reading.release();
    get(rival).release();
  }
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(other_->flush(kTestTimeout));
  EXPECT_TRUE(becomes_empty());
}

// Only the creating client may write the reader's znode; every client may read it.
TEST_F(DowngradeTest, Downgraded_ZnodeAndParticipantDescribeAReader) {
  Both held = both(mutex_);
  const auto before = raw().get_acl(held.writing.node()).entries;
  const auto since = mutex_.participants().at(0).since;
  const Hold reading = downgraded(std::move(held));
  EXPECT_EQ(raw().get_acl(reading.node()).entries, before);
  EXPECT_EQ(raw().exists(reading.node()).stat.ephemeralOwner, client_->session_id());
  EXPECT_EQ(raw().set_data(reading.node(), "x").rc, ZNOAUTH);
  const LockObserver observer(*other_, kPath);
  for (const Participant& reader : {mutex_.participants().at(0), others_mutex_.readers().at(0),
                                    observer.state().holders.at(0)}) {
    EXPECT_EQ(reader.node, name_of(reading));
    EXPECT_EQ(reader.access, Access::shared);
    EXPECT_TRUE(reader.holds);
    EXPECT_EQ(reader.token, reading.token()) << "not that of the node";
    EXPECT_EQ(reader.since, since);
    EXPECT_EQ(reader.session_id, client_->session_id());
    EXPECT_EQ(reader.application, "conformance");
  }
  EXPECT_TRUE(mutex_.participants().at(0).mine);
  EXPECT_FALSE(others_mutex_.participants().at(0).mine);
  EXPECT_TRUE(mutex_.writers().empty());
}

TEST_F(DowngradeTest, ZnodeOfTheReaderIsDeleted_HoldIsLost) {
  ClientOptions brief = options();
  brief.session_timeout = 4s;  // short: the client checks its znode every 0.2 s
  client_ = connect(brief);
  SharedMutex mutex(*client_, kPath);
  Both held = both(mutex);
  // The holder must have set the watch on its first znode, and that watch must not report the
  // downgrade.
  ASSERT_TRUE(eventually(
      [&] {
        return request_release(*other_, kPath, {.deadline = 10ms}) ||
               held.reading.release_request_token().stop_requested();
      },
      kTestTimeout));
  const Hold reading = downgraded(std::move(held));
  std::atomic<int> notified{0};
  const std::stop_callback on_loss(reading.loss_token(), [&] { ++notified; });
  EXPECT_EQ(reading.state(), HoldState::held);
  ASSERT_EQ(raw().delete_node(reading.node()), ZOK);
  EXPECT_TRUE(eventually([&] { return notified == 1; }, kTestTimeout));
  EXPECT_EQ(reading.state(), HoldState::lost);
}

TEST_F(DowngradeTest, DuringAndAfterTheDowngrade_TransactionsCommit) {
  ASSERT_EQ(raw().create("/data", "0").rc, ZOK);
  for (int i = 1; i <= 20; ++i) {
    Both held = both(mutex_);
    GuardedTransaction before(held.reading);
    before.set("/data", std::to_string(i));
    held.writing.release();
    before.commit(kTestTimeout);  // the downgrade is in flight
    EXPECT_EQ(raw().get_data("/data").data, std::to_string(i));
    EXPECT_TRUE(client_->flush(kTestTimeout));
    GuardedTransaction after(held.reading);
    after.set("/data", "after");
    after.commit(kTestTimeout);
    EXPECT_EQ(raw().get_data("/data").data, "after");
  }
  const Hold reading = downgraded(both(mutex_));
  GuardedTransaction late(reading);
  ASSERT_EQ(raw().delete_node(reading.node()), ZOK);
  EXPECT_EQ(error_of([&] { return late.commit(kTestTimeout), 0; }), Errc::lock_lost);
}

TEST_F(DowngradeTest, ThreadEndsWithBothLocks_LeavesNoZnode) {
  std::thread([&] {
    mutex_.lock();
    mutex_.lock_shared();
  }).join();
  EXPECT_TRUE(becomes_empty());
}

// A Curator reader creates its own znode and looks for writers ahead of it.
TEST_F(DowngradeTest, CuratorReaderWaits_SeesNoWriterAfterTheDowngrade) {
  Both held = both(mutex_);
  const auto theirs = raw().create(kPath + "/_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__READ__",
                                   "10.0.0.1", ZOO_EPHEMERAL_SEQUENTIAL);
  ASSERT_EQ(theirs.rc, ZOK);
  Hold reading = downgraded(std::move(held));
  for (const std::string& name : nodes()) {
    EXPECT_EQ(name.find("__WRIT__"), std::string::npos);
  }
  auto writer = others_mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  reading.release();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(writer)) << "their reader";
  ASSERT_EQ(raw().delete_node(theirs.path), ZOK);
  get(writer).release();
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
