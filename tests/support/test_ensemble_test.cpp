// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/test_ensemble.h"

#include <algorithm>
#include <cstddef>

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

  TestEnsemble ensemble_;
};

TEST_F(Ensemble, AllMembersUp_ElectsOneLeader) {
  const auto leader = ensemble_.leader();
  const auto followers = ensemble_.followers();
  ASSERT_TRUE(leader);
  ASSERT_EQ(followers.size(), 2U);
  EXPECT_EQ(std::count(followers.begin(), followers.end(), *leader), 0);
  EXPECT_EQ(ensemble_[*leader].mode(), "leader");

  // A write through one member is visible through another.
  RawClient at_leader(ensemble_[*leader].hosts());
  RawClient at_follower(ensemble_[followers[0]].hosts());
  ASSERT_EQ(at_leader.create("/shared", "x").rc, ZOK);
  EXPECT_TRUE(eventually([&] { return at_follower.get_data("/shared").data == "x"; }));
}

TEST_F(Ensemble, LeaderKilled_ElectsAnother) {
  RawClient client(ensemble_.hosts());
  ASSERT_EQ(client.create("/kept", "x").rc, ZOK);
  const auto first = ensemble_.leader();
  ASSERT_TRUE(first);
  ensemble_[*first].kill();
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
  ensemble_[(*leader + 1) % 3].kill();
  ensemble_[(*leader + 2) % 3].kill();
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

TEST(IsolatedMember, ServesReadsOnlyUntilItRejoins) {
  TestServerOptions options;
  options.extra_config = {"syncLimit=60"};  // so long the member does not notice
  TestEnsemble ensemble(options, 3, TestEnsemble::Links::cuttable);
  ensemble.start();
  ASSERT_TRUE(ensemble.wait_until_serving()) << ensemble.log();
  const std::size_t member = ensemble.followers().at(0);
  RawClient inside(ensemble[member].hosts());
  ASSERT_EQ(inside.create("/before").rc, ZOK);
  ensemble.isolate(member);
  RawClient outside(ensemble[ensemble.leader().value()].hosts());
  ASSERT_EQ(outside.create("/meanwhile").rc, ZOK);
  EXPECT_EQ(inside.exists("/before").rc, ZOK);
  EXPECT_EQ(inside.exists("/meanwhile").rc, ZNONODE);
  ensemble.rejoin();
  EXPECT_TRUE(eventually([&] { return inside.exists("/meanwhile").rc == ZOK; }));
}

}  // namespace
}  // namespace zklock::testing
