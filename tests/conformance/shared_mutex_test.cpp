// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <shared_mutex>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class SharedMutexTest : public LockTest {
 protected:
  static AcquireOptions with_new_owner() { return {.owner = Owner::unique()}; }

  const std::unique_ptr<Client> client_ = connect();
  SharedMutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect();
  SharedMutex others_mutex_{*other_, kPath};
};

TEST_F(SharedMutexTest, TwoReadersHold_WriterWaitsForBoth) {
  Hold first = mutex_.acquire_shared(with_new_owner());
  Hold second = others_mutex_.acquire_shared(with_new_owner());
  auto writer = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  first.release();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(writer));
  EXPECT_FALSE(others_mutex_.try_lock());
  second.release();
  EXPECT_EQ(get(writer).state(), HoldState::held);
}

TEST_F(SharedMutexTest, ReaderBehindWaitingWriter_Waits) {
  Hold reader = mutex_.acquire_shared(with_new_owner());
  auto writer = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  auto late = others_mutex_.async_acquire_shared();
  ASSERT_TRUE(reaches_nodes(3));
  EXPECT_FALSE(others_mutex_.try_lock_shared());
  reader.release();
  Hold written = get(writer);
  EXPECT_FALSE(is_ready(late));
  const FencingToken token = written.token();
  written.release();
  EXPECT_GT(get(late).token(), token);
}

TEST_F(SharedMutexTest, NestedLocks_AreCountedPerThreadAndMode) {
  mutex_.lock();
  mutex_.lock();
  mutex_.lock_shared();
  const Hold reading = mutex_.acquire_shared();
  EXPECT_EQ(mutex_.write_count(), 2);
  EXPECT_EQ(mutex_.read_count(), 2);
  auto elsewhere = in_thread([&] { return mutex_.write_count() + mutex_.read_count(); });
  EXPECT_EQ(get(elsewhere), 0);
  EXPECT_EQ(others_mutex_.write_count() + others_mutex_.read_count(), 0);
  mutex_.unlock();
  mutex_.unlock();
  EXPECT_EQ(mutex_.write_count(), 0);
  EXPECT_EQ(mutex_.read_count(), 2);
  mutex_.unlock_shared();
  EXPECT_EQ(mutex_.read_count(), 1);
  EXPECT_EQ(nodes().size(), 1U);
}

TEST_F(SharedMutexTest, Upgrade_IsRefusedAtOnce) {
  const std::shared_lock reading(mutex_);
  EXPECT_EQ(error_of([&] { return mutex_.try_lock(); }), Errc::would_deadlock);
  EXPECT_EQ(error_of([&] { return mutex_.try_lock_for(kTestTimeout); }), Errc::would_deadlock);
  EXPECT_EQ(error_of([&] { return mutex_.lock(), 0; }), Errc::would_deadlock);
  EXPECT_EQ(mutex_.read_count(), 1);
  EXPECT_EQ(nodes().size(), 1U);
  EXPECT_NE(error_text_of([&] { return mutex_.lock(), 0; })
                .find("lock /lock: this owner holds a read lock here, and would wait for itself; "
                      "unlock it first"),
            std::string::npos);
}

TEST_F(SharedMutexTest, ObjectsOfOneClientOnOnePath_ShareLock) {
  SharedMutex twin(*client_, kPath);
  ReentrantMutex plain(*client_, kPath);
  PriorityMutex weighted(*client_, kPath);
  MultiMutex several(*client_, {kPath});
  mutex_.lock_shared();
  EXPECT_EQ(twin.read_count(), 1);
  EXPECT_FALSE(plain.is_held_by_this_thread()) << "reading is not holding alone";
  EXPECT_EQ(plain.hold_count() + weighted.hold_count() + several.hold_count(), 0);
  EXPECT_EQ(error_of([&] { return plain.try_lock(); }), Errc::would_deadlock);
  twin.unlock_shared();
  plain.lock();
  EXPECT_EQ(mutex_.write_count(), 1);
  EXPECT_EQ(plain.hold_count() + weighted.hold_count() + several.hold_count(), 3);
  EXPECT_TRUE(twin.try_lock_shared());
  twin.unlock_shared();
  plain.unlock();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(SharedMutexTest, Participants_ShowReadersAndWriters) {
  const Hold first = mutex_.acquire_shared(with_new_owner());
  const Hold second = others_mutex_.acquire_shared(with_new_owner());
  auto writer = others_mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  auto late = mutex_.async_acquire_shared();
  ASSERT_TRUE(reaches_nodes(4));
  const auto all = mutex_.participants();
  ASSERT_EQ(all.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].access, i == 2 ? Access::exclusive : Access::shared);
    EXPECT_EQ(all[i].holds, i < 2);
    EXPECT_EQ(all[i].mine, i == 0 || i == 3);
    EXPECT_EQ(all[i].permits, 0);
  }
  EXPECT_EQ(all[1].token, second.token());
  const auto readers = mutex_.readers();
  ASSERT_EQ(readers.size(), 3U);
  EXPECT_EQ(readers[2].node, all[3].node);
  const auto writers = mutex_.writers();
  ASSERT_EQ(writers.size(), 1U);
  EXPECT_EQ(writers[0].node, all[2].node);
}

TEST_F(SharedMutexTest, CuratorReaderHolds_ReadersEnterAndWritersWait) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  const std::string reads = raw()
                                .create(kPath + "/_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__READ__",
                                        "10.0.0.1", ZOO_EPHEMERAL_SEQUENTIAL)
                                .path;
  EXPECT_TRUE(mutex_.try_lock_shared());
  mutex_.unlock_shared();
  ASSERT_TRUE(reaches_nodes(1));
  EXPECT_FALSE(mutex_.try_lock());
  auto writer = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(writer));
  ASSERT_EQ(raw().delete_node(reads), ZOK);
  EXPECT_TRUE(get(writer));
}

// ---- downgrades: a writer releases the write lock and continues to read -------------------------

class DowngradeTest : public SharedMutexTest {
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
  std::thread([&] {
    mutex_.lock();
    mutex_.lock_shared();
  }).join();
  EXPECT_TRUE(becomes_empty()) << "the thread has ended";
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
  const auto client = connect(brief);
  SharedMutex mutex(*client, kPath);
  Both held = both(mutex);
  // The holder must have set the watch on its first znode, and that watch must not report the
  // downgrade.
  ASSERT_TRUE(eventually(
      [&] {
        return request_release(*other_, kPath, {.deadline = 10ms}) ||
               held.reading.release_request_token().stop_requested();
      },
      kTestTimeout));
  held.writing.release();
  EXPECT_TRUE(client->flush(kTestTimeout));
  const Hold reading = std::move(held.reading);
  std::atomic<int> notified{0};
  const std::stop_callback on_loss(reading.loss_token(), [&] { ++notified; });
  EXPECT_EQ(reading.state(), HoldState::held);
  ASSERT_EQ(raw().delete_node(reading.node()), ZOK);
  EXPECT_TRUE(eventually([&] { return notified == 1; }, kTestTimeout));
  EXPECT_EQ(reading.state(), HoldState::lost);
}

class SharedMutexWatches : public OwnServerTest {
 protected:
  // Returns for each znode, in the order of the queue, how many other sessions watch it.
  std::vector<std::size_t> watchers(const SharedMutex& mutex) {
    std::map<std::string, std::set<std::string>> sessions;
    std::istringstream answer(query_server(server_, "wchp"));
    std::string path;
    for (std::string line; std::getline(answer, line);) {
      if (line.starts_with("/")) path = line;
      const auto begins = line.find("0x");
      if (begins == 1) sessions[path].insert(line.substr(begins));
    }
    std::vector<std::size_t> counts;
    for (const Participant& each : mutex.participants()) {
      std::ostringstream own;
      own << "0x" << std::hex << each.session_id;
      auto others = sessions[chroot_.path() + kPath + "/" + each.node];
      others.erase(own.str());  // a long hold watches its own znode
      counts.push_back(others.size());
    }
    return counts;
  }
};

TEST_F(SharedMutexWatches, Waiter_WatchesOnlyNearestConflict) {
  const auto client = connect();
  SharedMutex mutex(*client, kPath);
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::future<Hold>> waiting;
  std::vector<std::unique_ptr<SharedMutex>> mutexes;
  const auto enqueue = [&](bool writes) {
    clients.push_back(connect());
    mutexes.push_back(std::make_unique<SharedMutex>(*clients.back(), kPath));
    SharedMutex& theirs = *mutexes.back();
    const std::size_t before = nodes().size();
    waiting.push_back(writes ? theirs.async_acquire() : theirs.async_acquire_shared());
    ASSERT_TRUE(reaches_nodes(before + 1));
  };
  Hold reading = mutex.acquire_shared();
  for (const bool writes : {true, true, false, false, false, true}) enqueue(writes);
  // The reader; two writers; three readers; a writer.
  const std::vector<std::size_t> wanted{1, 1, 3, 0, 0, 1, 0};
  EXPECT_TRUE(eventually([&] { return watchers(mutex) == wanted; }, kTestTimeout))
      << ::testing::PrintToString(watchers(mutex));
  reading.release();
  for (auto& each : waiting) EXPECT_TRUE(get(each));
}

}  // namespace
}  // namespace zklock::testing
