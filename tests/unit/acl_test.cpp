// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/acl.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/client/zookeeper/credentials.h"

namespace zklock::client {
namespace {

const DigestCredential kOwn{"zklock-1", "own"};
const DigestCredential kUser{"team", "secret"};

std::vector<std::string> text(const std::vector<AclEntry>& entries) {
  std::vector<std::string> lines;
  for (const AclEntry& entry : entries) {
    lines.push_back(std::to_string(entry.permissions) + " " + entry.scheme + " " + entry.id);
  }
  return lines;
}
using Entries = std::vector<std::string>;

TEST(Acl, OpenPolicy_ClientHasAllAndWorldReads) {
  EXPECT_EQ(text(node_acl(AclPolicy::open(), kOwn, {})),
            (Entries{"31 digest " + digest_id(kOwn), "1 world anyone"}));
  EXPECT_EQ(text(node_acl(AclPolicy::open(), kOwn, kUser)),
            (Entries{"31 digest " + digest_id(kOwn), "1 world anyone"}));
  EXPECT_EQ(text(parent_acl(AclPolicy::open(), kUser)), Entries{"31 world anyone"});
}

TEST(Acl, CreatorAllPolicy_ClientAndUserHaveEntries) {
  EXPECT_EQ(text(node_acl(AclPolicy::creator_all(), kOwn, kUser)),
            (Entries{"31 digest " + digest_id(kOwn), "1 digest " + digest_id(kUser)}));
  EXPECT_EQ(text(parent_acl(AclPolicy::creator_all(), kUser)),
            Entries{"31 digest " + digest_id(kUser)});
}

TEST(Acl, ListPolicy_TakenUnchanged) {
  const AclPolicy policy =
      AclPolicy::list({{AclEntry::read, "ip", "10.0.0.0/8"}, {31, "auth", ""}});
  EXPECT_EQ(text(node_acl(policy, kOwn, kUser)), (Entries{"1 ip 10.0.0.0/8", "31 auth "}));
  EXPECT_EQ(text(parent_acl(policy, {})), (Entries{"1 ip 10.0.0.0/8", "31 auth "}));
}

TEST(Acl, CAcl_HasTheEntriesInOrder) {
  const Acl acl({{AclEntry::read, "ip", "10.0.0.0/8"}, {AclEntry::all, "auth", ""}});
  const ACL_vector& c_acl = acl.c_acl();
  ASSERT_EQ(c_acl.count, 2);
  EXPECT_EQ(c_acl.data[0].perms, static_cast<int>(ZOO_PERM_READ));
  EXPECT_STREQ(c_acl.data[0].id.scheme, "ip");
  EXPECT_STREQ(c_acl.data[0].id.id, "10.0.0.0/8");
  EXPECT_EQ(c_acl.data[1].perms, static_cast<int>(ZOO_PERM_ALL));
  EXPECT_STREQ(c_acl.data[1].id.scheme, "auth");
  EXPECT_STREQ(c_acl.data[1].id.id, "");
}

}  // namespace
}  // namespace zklock::client
