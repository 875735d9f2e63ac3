// SPDX-License-Identifier: Apache-2.0
// evict(): the delete of a contender's znode by another client.
#include "zklock/evict.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/security_fixture.h"

namespace zklock::testing {
namespace {

const std::string kCuratorPrefix = "/_c_01234567-89ab-cdef-0123-456789abcdef-lock-";

class EvictTest : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  // Makes a contender of Curator that never releases.
  void plant_curator() {
    mutex_.lock();  // creates the path
    mutex_.unlock();
    ASSERT_TRUE(client_->flush(kTestTimeout));
    ASSERT_EQ(raw().create(kPath + kCuratorPrefix, "", ZOO_EPHEMERAL_SEQUENTIAL).rc, ZOK);
  }
};

TEST_F(EvictTest, CuratorHolder_NextIsGranted) {
  plant_curator();
  auto next = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  const auto contenders = mutex_.participants();
  ASSERT_TRUE(contenders.front().holds);
  EXPECT_TRUE(evict(*client_, kPath, contenders.front()));
  EXPECT_TRUE(get(next));
}

TEST_F(EvictTest, WaitingContender_LeavesTheQueue) {
  plant_curator();
  const auto other = connect();
  ReentrantMutex others(*other, kPath);
  auto waiting = others.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_TRUE(evict(*client_, kPath, mutex_.participants().back()));
  // Its client notices the loss, and enqueues again.
  EXPECT_TRUE(evict(*client_, kPath, mutex_.participants().front()));
  EXPECT_TRUE(get(waiting));
}

TEST_F(EvictTest, ZnodeIsDeletedAlready_IsTrue) {
  plant_curator();
  const auto contender = mutex_.participants().front();
  EXPECT_TRUE(evict(*client_, kPath, contender));
  EXPECT_TRUE(evict(*client_, kPath, contender));
}

TEST_F(EvictTest, OtherToken_NothingIsDeleted) {
  plant_curator();
  auto contender = mutex_.participants().front();
  ++contender.token.zxid;
  EXPECT_FALSE(evict(*client_, kPath, contender));
  --contender.token.zxid;
  ++contender.session_id;
  EXPECT_FALSE(evict(*client_, kPath, contender));
  EXPECT_EQ(nodes().size(), 1U);
}

TEST_F(EvictTest, NoName_Throws) {
  plant_curator();
  auto contender = mutex_.participants().front();
  contender.node = "count";
  EXPECT_EQ(error_of([&] { (void)evict(*client_, kPath, contender); }), Errc::invalid_option);
}

class EvictSecurity : public Security {};

TEST_F(EvictSecurity, NoDeletePermission_IsNoAuth) {
  const auto owner = connect(credential("secret"));
  ReentrantMutex mutex(*owner, "/a");
  const Hold hold = mutex.acquire();
  const auto contender = mutex.participants().front();
  const auto stranger = connect(credential("wrong"));
  EXPECT_EQ(error_of([&] { (void)evict(*stranger, "/a", contender); }), Errc::no_auth);
  EXPECT_EQ(hold.state(), HoldState::held);
}

}  // namespace
}  // namespace zklock::testing
