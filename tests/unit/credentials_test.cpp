// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/credentials.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace zklock::client
