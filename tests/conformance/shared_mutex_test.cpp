// SPDX-License-Identifier: Apache-2.0
#include <future>
#include <map>
#include <memory>
#include <set>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/shared_mutex_fixture.h"

namespace zklock::testing {
namespace {

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

// ---- owners and counts --------------------------------------------------------------------------

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
  mutex_.lock_shared();
  EXPECT_EQ(twin.read_count(), 1);
  EXPECT_FALSE(plain.is_held_by_this_thread()) << "reading is not holding alone";
  EXPECT_EQ(plain.hold_count(), 0);
  EXPECT_EQ(error_of([&] { return plain.try_lock(); }), Errc::would_deadlock);
  twin.unlock_shared();
  plain.lock();
  EXPECT_EQ(mutex_.write_count(), 1);
  EXPECT_TRUE(twin.try_lock_shared());
  twin.unlock_shared();
  plain.unlock();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(SharedMutexTest, MutexesOfOtherClients_ExcludeEachOther) {
  ReentrantMutex reentrant(*other_, kPath);
  Mutex mutex(*other_, kPath);
  Hold reading = mutex_.acquire_shared();
  EXPECT_FALSE(reentrant.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  reading.release();
  ASSERT_TRUE(becomes_empty());
  mutex.lock();
  EXPECT_FALSE(mutex_.try_lock_shared());
  EXPECT_FALSE(mutex_.try_lock());
  mutex.unlock();
}

// ---- queries of the queue -----------------------------------------------------------------------

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

// ---- watches ------------------------------------------------------------------------------------

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

TEST_F(SharedMutexTest, ReadLock_IsNotCountedByOtherMutexes) {
  const auto client = connect();
  SharedMutex shared(*client, kPath);
  ReentrantMutex reentrant(*client, kPath);
  PriorityMutex weighted(*client, kPath);
  MultiMutex several(*client, {kPath});
  const auto counts = [&] {
    return std::vector<int>{reentrant.hold_count(), weighted.hold_count(), several.hold_count()};
  };
  shared.lock_shared();
  EXPECT_EQ(counts(), (std::vector<int>{0, 0, 0}));
  EXPECT_FALSE(weighted.is_held_by_this_thread());
  EXPECT_FALSE(several.is_held_by_this_thread());
  shared.unlock_shared();
  shared.lock();
  shared.lock_shared();
  EXPECT_EQ(counts(), (std::vector<int>{1, 1, 1}));
  shared.unlock_shared();
  shared.unlock();
}

}  // namespace
}  // namespace zklock::testing
