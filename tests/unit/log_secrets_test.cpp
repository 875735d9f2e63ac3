// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/log_secrets.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::client {
namespace {

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
