// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/credentials.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/client/zookeeper/acl.h"

namespace zklock::client {
namespace {

TEST(DigestId, Credential_EncodedAsByZooKeeper) {
  // The test servers have their superuser by this id.
  EXPECT_EQ(digest_id({"super", "zklock"}), "super:GTvXID4KgrBNvIYRGOvRjN2lsFw=");
  // printf a: | openssl dgst -sha1 -binary | base64
  EXPECT_EQ(digest_id({"a", ""}), "a:faqErSBWcv9/lZW1ERCcDsnNQLg=");
}

TEST(DigestId, Secret_IsUserAndPassword) {
  EXPECT_EQ(digest_secret({"me", "open:sesame"}), "me:open:sesame");
}

TEST(DigestId, RandomCredentials_Differ) {
  std::set<std::string> users;
  std::set<std::string> passwords;
  for (int i = 0; i < 100; ++i) {
    const DigestCredential credential = random_credential();
    EXPECT_EQ(credential.user.find(':'), std::string::npos);
    EXPECT_EQ(credential.password.size(), 64U) << "256 bits";
    users.insert(credential.user);
    passwords.insert(credential.password);
  }
  EXPECT_EQ(users.size(), 100U);
  EXPECT_EQ(passwords.size(), 100U);
}

using Texts = std::vector<std::string>;

TEST(LogSecrets, LongPassword_IsHiddenEverywhere) {
  EXPECT_EQ(log_secrets({{"me", "open sesame"}}, std::nullopt),
            (Texts{"me:open sesame", "open sesame"}));
}

TEST(LogSecrets, ShortPassword_IsHiddenBehindItsUserOrKey) {
  const TlsOptions tls{
      .ca_file = "ca", .certificate_file = "cert", .key_file = "/k.pem", .key_password = "a"};
  EXPECT_EQ(log_secrets({{"me", "b"}}, tls), (Texts{"me:b", "/k.pem,a"}));
}

TEST(LogSecrets, EmptyPassword_HidesNothing) {
  const TlsOptions tls{
      .ca_file = "ca", .certificate_file = "cert", .key_file = "key", .key_password = {}};
  EXPECT_EQ(log_secrets({{"me", ""}}, tls), Texts{});
}

// ---- ACLs ---------------------------------------------------------------------------------------

const DigestCredential kOwn{"zklock-1", "own"};
const DigestCredential kUser{"team", "secret"};

Texts text(const std::vector<AclEntry>& entries) {
  Texts lines;
  for (const AclEntry& entry : entries) {
    lines.push_back(std::to_string(entry.permissions) + " " + entry.scheme + " " + entry.id);
  }
  return lines;
}
TEST(Acl, OpenPolicy_ClientHasAllAndWorldReads) {
  EXPECT_EQ(text(node_acl(AclPolicy::open(), kOwn, {})),
            (Texts{"31 digest " + digest_id(kOwn), "1 world anyone"}));
  EXPECT_EQ(text(node_acl(AclPolicy::open(), kOwn, kUser)),
            (Texts{"31 digest " + digest_id(kOwn), "1 world anyone"}));
  EXPECT_EQ(text(parent_acl(AclPolicy::open(), kUser)), Texts{"31 world anyone"});
}

TEST(Acl, CreatorAllPolicy_ClientAndUserHaveTexts) {
  EXPECT_EQ(text(node_acl(AclPolicy::creator_all(), kOwn, kUser)),
            (Texts{"31 digest " + digest_id(kOwn), "1 digest " + digest_id(kUser)}));
  EXPECT_EQ(text(parent_acl(AclPolicy::creator_all(), kUser)),
            Texts{"31 digest " + digest_id(kUser)});
}

TEST(Acl, ListPolicy_TakenUnchanged) {
  const AclPolicy policy =
      AclPolicy::list({{AclEntry::read, "ip", "10.0.0.0/8"}, {31, "auth", ""}});
  EXPECT_EQ(text(node_acl(policy, kOwn, kUser)), (Texts{"1 ip 10.0.0.0/8", "31 auth "}));
  EXPECT_EQ(text(parent_acl(policy, {})), (Texts{"1 ip 10.0.0.0/8", "31 auth "}));
}

TEST(Acl, CAcl_HasTheTextsInOrder) {
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
