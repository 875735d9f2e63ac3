// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/digest_id.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace zklock::client
