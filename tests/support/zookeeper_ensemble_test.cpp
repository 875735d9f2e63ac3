// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/zookeeper_ensemble.h"

#include <gtest/gtest.h>

#include "support/raw_client.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Ensemble : public ::testing::Test {
 protected:
  void SetUp() override {
    ensemble_.start();
    ASSERT_TRUE(ensemble_.wait_until_serving()) << ensemble_.log();
  }

  ZooKeeperEnsemble ensemble_;
};

TEST_F(Ensemble, AllMembersUp_ElectsOneLeader) {
  const auto leader = ensemble_.leader();
  const auto follower = ensemble_.follower();
  ASSERT_TRUE(leader);
  ASSERT_TRUE(follower);
  EXPECT_NE(leader, follower);
  EXPECT_EQ(ensemble_[*leader].mode(), "leader");

  // A write through one member is visible through another.
  RawClient at_leader(ensemble_[*leader].hosts());
  RawClient at_follower(ensemble_[*follower].hosts());
  ASSERT_EQ(at_leader.create("/shared", "x").rc, ZOK);
  EXPECT_TRUE(eventually([&] { return at_follower.get_data("/shared").data == "x"; }));
}

TEST_F(Ensemble, LeaderKilled_ElectsAnother) {
  RawClient client(ensemble_.hosts());
  ASSERT_EQ(client.create("/kept", "x").rc, ZOK);
  const auto first = ensemble_.leader();
  ASSERT_TRUE(first);
  ensemble_[*first].kill_hard();
  ASSERT_TRUE(ensemble_.wait_until_serving()) << ensemble_.log();
  const auto second = ensemble_.leader();
  ASSERT_TRUE(second);
  EXPECT_NE(second, first);
  EXPECT_TRUE(eventually([&] { return client.get_data("/kept").rc == ZOK; }, seconds(60)));

  ensemble_[*first].start();
  ASSERT_TRUE(ensemble_.wait_until_serving()) << ensemble_.log();
  EXPECT_EQ(ensemble_[*first].mode(), "follower");
}

TEST_F(Ensemble, LeaderPaused_ElectsAnother) {
  const auto first = ensemble_.leader();
  ASSERT_TRUE(first);
  ensemble_[*first].pause();
  EXPECT_TRUE(eventually([&] { return ensemble_.leader() != std::nullopt; }, seconds(60)));
  EXPECT_NE(ensemble_.leader(), first);
  ensemble_[*first].resume();
  EXPECT_TRUE(ensemble_.wait_until_serving()) << ensemble_.log();
}

TEST_F(Ensemble, Minority_DoesNotServe) {
  const auto leader = ensemble_.leader();
  ASSERT_TRUE(leader);
  ensemble_[(*leader + 1) % 3].kill_hard();
  ensemble_[(*leader + 2) % 3].kill_hard();
  EXPECT_TRUE(eventually([&] { return !ensemble_.leader(); }, seconds(60)));
  EXPECT_FALSE(ensemble_.wait_until_serving(milliseconds(50)));
}

TEST_F(Ensemble, ExpireThroughOtherMember_EndsSession) {
  RawClient owner(ensemble_[0].hosts());
  ASSERT_EQ(owner.create("/mine", {}, ZOO_EPHEMERAL).rc, ZOK);
  expire_session(ensemble_[1].hosts(), owner.session_id());
  EXPECT_TRUE(eventually([&] { return owner.state() == ZOO_EXPIRED_SESSION_STATE; }));
  RawClient other(ensemble_[1].hosts());
  EXPECT_TRUE(eventually([&] { return other.exists("/mine").rc == ZNONODE; }));
}

}  // namespace
}  // namespace zklock::testing
