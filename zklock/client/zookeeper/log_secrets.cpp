// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/log_secrets.h"

#include <cstddef>
#include <utility>

#include "zklock/client/zookeeper/digest_id.h"

namespace zklock::client {
namespace {

constexpr std::size_t kShortestHiddenEverywhere = 8;

void add(std::vector<std::string>& secrets, const std::string& password, std::string in_context) {
  if (password.empty()) return;
  secrets.push_back(std::move(in_context));
  if (password.size() >= kShortestHiddenEverywhere) secrets.push_back(password);
}

}  // namespace

std::vector<std::string> log_secrets(const std::vector<DigestCredential>& credentials,
                                     const std::optional<TlsOptions>& tls) {
  std::vector<std::string> secrets;
  for (const DigestCredential& credential : credentials) {
    add(secrets, credential.password, digest_secret(credential));
  }
  if (tls) add(secrets, tls->key_password, tls->key_file + "," + tls->key_password);
  return secrets;
}

}  // namespace zklock::client
