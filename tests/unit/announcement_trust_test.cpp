// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/announcement_trust.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;
using Acl = std::vector<AclEntry>;

const AclEntry kWorldAll{AclEntry::all, "world", "anyone"};
const AclEntry kTeamAll{AclEntry::all, "digest", "team:hash"};

AclEntry world(int permissions) {
  return {permissions, "world", "anyone"};
}
AclEntry team(int permissions) {
  return {permissions, "digest", "team:hash"};
}

TEST(CreatorsMayDelete, OpenAndOwnedAcls_Safe) {
  EXPECT_TRUE(creators_may_delete(Acl{kWorldAll}));
  EXPECT_TRUE(creators_may_delete(Acl{kTeamAll}));
  EXPECT_TRUE(creators_may_delete(Acl{kTeamAll, world(AclEntry::read)}));
  EXPECT_TRUE(creators_may_delete(Acl{kTeamAll, world(AclEntry::create | AclEntry::remove)}));
}

TEST(CreatorsMayDelete, EmptyAcl_Safe) {
  EXPECT_TRUE(creators_may_delete(Acl{}));
}

TEST(CreatorsMayDelete, CreateNotPermitted_Safe) {
  EXPECT_TRUE(creators_may_delete(Acl{world(AclEntry::read | AclEntry::write | AclEntry::admin)}));
}

TEST(CreatorsMayDelete, CreateWithoutDelete_Unsafe) {
  EXPECT_FALSE(creators_may_delete(Acl{world(AclEntry::read | AclEntry::create)}));
  EXPECT_FALSE(creators_may_delete(Acl{kTeamAll, world(AclEntry::create)}));
  EXPECT_FALSE(creators_may_delete(Acl{world(AclEntry::create), kTeamAll}));
  EXPECT_FALSE(creators_may_delete(Acl{team(AclEntry::create)}));
  EXPECT_FALSE(creators_may_delete(Acl{{AclEntry::create, "ip", "10.0.0.0/8"}, kTeamAll}));
}

TEST(CreatorsMayDelete, WorldMayDelete_Safe) {
  EXPECT_TRUE(creators_may_delete(Acl{team(AclEntry::create), world(AclEntry::remove)}));
  EXPECT_FALSE(
      creators_may_delete(Acl{team(AclEntry::create), {AclEntry::remove, "ip", "10.0.0.0/8"}}));
}

// Without ADMIN, the client sees "user:x" instead of each secret.
TEST(CreatorsMayDelete, EqualIdsInTwoEntries_NotCombined) {
  const AclEntry creates{AclEntry::create, "digest", "team:x"};
  const AclEntry deletes{AclEntry::remove, "digest", "team:x"};
  EXPECT_FALSE(creators_may_delete(Acl{creates, deletes}));
}

class AnnouncementTrustTest : public ::testing::Test {
 protected:
  using Version = AnnouncementTrust::Version;
  static constexpr Version kUnchanged{{10}, 0};
  static constexpr Version kChangedOnce{{10}, 1};
  static constexpr FencingToken kPredecessor{20};

  void reads(Version version, const Acl& acl, FencingToken pzxid = {15}) {
    ASSERT_TRUE(trust_.begin_acl_read_if_due(now_));
    trust_.on_acl_read(version, pzxid, acl, now_);
  }

  AnnouncementTrust trust_;
  Instant now_{100s};
};

TEST_F(AnnouncementTrustTest, BeforeTheAclIsRead_NotBelieved) {
  EXPECT_FALSE(trust_.believes(kPredecessor));
  trust_.on_path_stat(kUnchanged, now_);
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
  EXPECT_FALSE(trust_.believes(kPredecessor));
  EXPECT_FALSE(trust_.begin_acl_read_if_due(now_)) << "it is being read";
}

TEST_F(AnnouncementTrustTest, SafeAcl_BelievedAndNotReadAgain) {
  trust_.on_path_stat(kUnchanged, now_);
  reads(kUnchanged, {kWorldAll});
  EXPECT_TRUE(trust_.believes(kPredecessor));
  for (int i = 0; i < 10; ++i) {
    now_ += 1min;
    trust_.on_path_stat(kUnchanged, now_);
    EXPECT_FALSE(trust_.begin_acl_read_if_due(now_));
    EXPECT_TRUE(trust_.believes(kPredecessor));
  }
}

TEST_F(AnnouncementTrustTest, UnsafeAcl_NotBelievedAndNotReadAgain) {
  reads(kUnchanged, {world(AclEntry::create)});
  EXPECT_FALSE(trust_.believes(kPredecessor));
  trust_.on_path_stat(kUnchanged, now_);
  EXPECT_FALSE(trust_.begin_acl_read_if_due(now_));
}

TEST_F(AnnouncementTrustTest, AclChanged_ReadAgain) {
  reads(kUnchanged, {kWorldAll});
  trust_.on_path_stat(kChangedOnce, now_);
  EXPECT_FALSE(trust_.believes(kPredecessor));
  reads(kChangedOnce, {world(AclEntry::create)});
  EXPECT_FALSE(trust_.believes(kPredecessor));
}

TEST_F(AnnouncementTrustTest, PathRecreated_ReadAgain) {
  reads(kUnchanged, {kWorldAll});
  trust_.on_path_stat({{30}, 0}, now_);
  EXPECT_FALSE(trust_.believes({40}));
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
}

// A znode that existed before the ACL was read can have been created under an earlier ACL.
TEST_F(AnnouncementTrustTest, AclChangedBefore_BelievedOfLaterNodesOnly) {
  reads(kChangedOnce, {kWorldAll}, kPredecessor);
  EXPECT_FALSE(trust_.believes(kPredecessor));
  EXPECT_TRUE(trust_.believes({kPredecessor.zxid + 1}));
}

// The ACL has not changed since the first read, nor have the permissions that it grants.
TEST_F(AnnouncementTrustTest, SameAclReadAgain_NodesSinceTheFirstBelieved) {
  reads(kChangedOnce, {kWorldAll});
  now_ += AnnouncementTrust::kMaxAge + 1ms;
  reads(kChangedOnce, {kWorldAll}, kPredecessor);
  EXPECT_TRUE(trust_.believes(kPredecessor));
  EXPECT_FALSE(trust_.believes({15}));
  now_ += AnnouncementTrust::kMaxAge + 1ms;
  reads({{10}, 2}, {kWorldAll}, kPredecessor);
  EXPECT_FALSE(trust_.believes(kPredecessor)) << "it has changed in between";
}

TEST_F(AnnouncementTrustTest, AclRefused_NotBelievedAndNotReadAgain) {
  trust_.on_path_stat(kUnchanged, now_);
  ASSERT_TRUE(trust_.begin_acl_read_if_due(now_));
  trust_.on_acl_refused(now_);
  trust_.on_path_stat(kUnchanged, now_);
  EXPECT_FALSE(trust_.begin_acl_read_if_due(now_));
  EXPECT_FALSE(trust_.believes(kPredecessor));
  trust_.on_path_stat(kChangedOnce, now_);
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
}

TEST_F(AnnouncementTrustTest, RequestFailed_ReadAgain) {
  ASSERT_TRUE(trust_.begin_acl_read_if_due(now_));
  trust_.on_acl_not_read();
  EXPECT_FALSE(trust_.believes(kPredecessor));
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
}

TEST_F(AnnouncementTrustTest, NoStatForLong_NotBelievedUntilReadAgain) {
  reads(kUnchanged, {kWorldAll});
  now_ += AnnouncementTrust::kMaxAge;
  EXPECT_FALSE(trust_.begin_acl_read_if_due(now_));
  EXPECT_TRUE(trust_.believes(kPredecessor));
  now_ += 1ms;
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
  EXPECT_FALSE(trust_.believes(kPredecessor));
  trust_.on_acl_read(kUnchanged, {15}, Acl{kWorldAll}, now_);
  EXPECT_TRUE(trust_.believes(kPredecessor));
}

}  // namespace
}  // namespace zklock::core
