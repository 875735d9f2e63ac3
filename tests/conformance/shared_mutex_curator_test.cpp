// SPDX-License-Identifier: Apache-2.0
// SharedMutex beside the contenders of a Curator read-write lock.
#include <string>

#include <boost/chrono.hpp>
#include <boost/thread/lock_types.hpp>
#include <boost/thread/shared_lock_guard.hpp>
#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/shared_mutex_fixture.h"

namespace zklock::testing {
namespace {

class SharedWithCurator : public SharedMutexTest {
 protected:
  std::string enqueue(const std::string& name) {
    static_cast<void>(raw().create(kPath));
    const auto made = raw().create(kPath + "/_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-" + name,
                                   "10.0.0.1", ZOO_EPHEMERAL_SEQUENTIAL);
    EXPECT_EQ(made.rc, ZOK);
    return made.path;
  }
};

TEST_F(SharedWithCurator, CuratorReaderHolds_ReadersEnterAndWritersWait) {
  const std::string reads = enqueue("__READ__");
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

TEST_F(SharedWithCurator, CuratorWriterHolds_ReadersAndWritersWait) {
  const std::string writes = enqueue("__WRIT__");
  EXPECT_FALSE(mutex_.try_lock_shared());
  EXPECT_FALSE(mutex_.try_lock());
  auto reader = mutex_.async_acquire_shared();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(reader));
  ASSERT_EQ(raw().delete_node(writes), ZOK);
  EXPECT_TRUE(get(reader));
}

// Curator orders znodes by the sequence number behind the marker, and reads the marker itself.
TEST_F(SharedWithCurator, OwnNodes_HaveCuratorMarkers) {
  const Hold reading = mutex_.acquire_shared();
  const std::string theirs = enqueue("__WRIT__");
  auto late = others_mutex_.async_acquire_shared();
  ASSERT_TRUE(reaches_nodes(3));
  EXPECT_FALSE(is_ready(late)) << "the Curator writer is ahead";
  EXPECT_EQ(reading.node(), kPath + "/__READ__0000000000");
  EXPECT_EQ(theirs.substr(theirs.size() - 10), "0000000001");
  ASSERT_EQ(raw().delete_node(theirs), ZOK);
  EXPECT_TRUE(get(late));
  auto writer = others_mutex_.async_acquire();
  EXPECT_TRUE(eventually([&] { return raw().exists(kPath + "/__WRIT__0000000003").rc == ZOK; },
                         kTestTimeout));
}

}  // namespace
}  // namespace zklock::testing
