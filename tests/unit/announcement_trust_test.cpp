// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/announcement_trust.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;
using Acl = std::vector<AclEntry>;

const AclEntry world_all{AclEntry::all, "world", "anyone"};
const AclEntry team_all{AclEntry::all, "digest", "team:hash"};

AclEntry world(int permissions) {
  return {permissions, "world", "anyone"};
}
AclEntry team(int permissions) {
  return {permissions, "digest", "team:hash"};
}

TEST(CreatorsMayDelete, OpenAndOwnedAcls_Safe) {
  EXPECT_TRUE(creators_may_delete(Acl{world_all}));
  EXPECT_TRUE(creators_may_delete(Acl{team_all}));
  EXPECT_TRUE(creators_may_delete(Acl{team_all, world(AclEntry::read)}));
  EXPECT_TRUE(creators_may_delete(Acl{team_all, world(AclEntry::create | AclEntry::remove)}));
}

TEST(CreatorsMayDelete, EmptyAcl_Safe) {
  EXPECT_TRUE(creators_may_delete(Acl{}));
}

TEST(CreatorsMayDelete, CreateNotPermitted_Safe) {
  EXPECT_TRUE(creators_may_delete(Acl{world(AclEntry::read | AclEntry::write | AclEntry::admin)}));
}

TEST(CreatorsMayDelete, CreateWithoutDelete_Unsafe) {
  EXPECT_FALSE(creators_may_delete(Acl{world(AclEntry::read | AclEntry::create)}));
  EXPECT_FALSE(creators_may_delete(Acl{team_all, world(AclEntry::create)}));
  EXPECT_FALSE(creators_may_delete(Acl{world(AclEntry::create), team_all}));
  EXPECT_FALSE(creators_may_delete(Acl{team(AclEntry::create)}));
  EXPECT_FALSE(creators_may_delete(Acl{{AclEntry::create, "ip", "10.0.0.0/8"}, team_all}));
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
  static constexpr Version unchanged{{10}, 0};
  static constexpr Version changed_once{{10}, 1};
  static constexpr FencingToken predecessor{20};

  void reads(Version version, const Acl& acl, FencingToken last_child = {15}) {
    ASSERT_TRUE(trust_.begin_acl_read_if_due(now_));
    trust_.on_acl_read(version, last_child, acl, now_);
  }

  AnnouncementTrust trust_;
  Instant now_{100s};
};

TEST_F(AnnouncementTrustTest, BeforeTheAclIsRead_NotBelieved) {
  EXPECT_FALSE(trust_.believes(predecessor));
  trust_.on_path_stat(unchanged, now_);
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
  EXPECT_FALSE(trust_.believes(predecessor));
  EXPECT_FALSE(trust_.begin_acl_read_if_due(now_)) << "it is being read";
}

TEST_F(AnnouncementTrustTest, SafeAcl_BelievedAndNotReadAgain) {
  trust_.on_path_stat(unchanged, now_);
  reads(unchanged, {world_all});
  EXPECT_TRUE(trust_.believes(predecessor));
  for (int i = 0; i < 10; ++i) {
    now_ += 1min;
    trust_.on_path_stat(unchanged, now_);
    EXPECT_FALSE(trust_.begin_acl_read_if_due(now_));
    EXPECT_TRUE(trust_.believes(predecessor));
  }
}

TEST_F(AnnouncementTrustTest, UnsafeAcl_NotBelievedAndNotReadAgain) {
  reads(unchanged, {world(AclEntry::create)});
  EXPECT_FALSE(trust_.believes(predecessor));
  trust_.on_path_stat(unchanged, now_);
  EXPECT_FALSE(trust_.begin_acl_read_if_due(now_));
}

TEST_F(AnnouncementTrustTest, AclChanged_ReadAgain) {
  reads(unchanged, {world_all});
  trust_.on_path_stat(changed_once, now_);
  EXPECT_FALSE(trust_.believes(predecessor));
  reads(changed_once, {world(AclEntry::create)});
  EXPECT_FALSE(trust_.believes(predecessor));
}

TEST_F(AnnouncementTrustTest, PathRecreated_ReadAgain) {
  reads(unchanged, {world_all});
  trust_.on_path_stat({{30}, 0}, now_);
  EXPECT_FALSE(trust_.believes({40}));
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
}

// A znode that existed before the ACL was read can have been created under an earlier ACL.
TEST_F(AnnouncementTrustTest, AclChangedBefore_BelievedOfLaterNodesOnly) {
  reads(changed_once, {world_all}, predecessor);
  EXPECT_FALSE(trust_.believes(predecessor));
  EXPECT_TRUE(trust_.believes({predecessor.zxid + 1}));
}

// The ACL has not changed since the first read, nor have the permissions that it grants.
TEST_F(AnnouncementTrustTest, SameAclReadAgain_NodesSinceTheFirstBelieved) {
  reads(changed_once, {world_all});
  now_ += AnnouncementTrust::max_age + 1ms;
  reads(changed_once, {world_all}, predecessor);
  EXPECT_TRUE(trust_.believes(predecessor));
  EXPECT_FALSE(trust_.believes({15}));
  now_ += AnnouncementTrust::max_age + 1ms;
  reads({{10}, 2}, {world_all}, predecessor);
  EXPECT_FALSE(trust_.believes(predecessor)) << "it has changed in between";
}

TEST_F(AnnouncementTrustTest, AclRefused_NotBelievedAndNotReadAgain) {
  trust_.on_path_stat(unchanged, now_);
  ASSERT_TRUE(trust_.begin_acl_read_if_due(now_));
  trust_.on_acl_refused(now_);
  trust_.on_path_stat(unchanged, now_);
  EXPECT_FALSE(trust_.begin_acl_read_if_due(now_));
  EXPECT_FALSE(trust_.believes(predecessor));
  trust_.on_path_stat(changed_once, now_);
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
}

TEST_F(AnnouncementTrustTest, RequestFailed_ReadAgain) {
  ASSERT_TRUE(trust_.begin_acl_read_if_due(now_));
  trust_.on_acl_not_read();
  EXPECT_FALSE(trust_.believes(predecessor));
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
}

TEST_F(AnnouncementTrustTest, NoStatForLong_NotBelievedUntilReadAgain) {
  reads(unchanged, {world_all});
  now_ += AnnouncementTrust::max_age;
  EXPECT_FALSE(trust_.begin_acl_read_if_due(now_));
  EXPECT_TRUE(trust_.believes(predecessor));
  now_ += 1ms;
  EXPECT_TRUE(trust_.begin_acl_read_if_due(now_));
  EXPECT_FALSE(trust_.believes(predecessor));
  trust_.on_acl_read(unchanged, {15}, Acl{world_all}, now_);
  EXPECT_TRUE(trust_.believes(predecessor));
}

}  // namespace
}  // namespace zklock::core
