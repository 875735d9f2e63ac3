// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/credentials.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include <boost/uuid/detail/sha1.hpp>
#include <sys/random.h>

namespace zklock::client {
namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= group.size() ? kAlphabet[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

std::string sha1(std::string_view text) {
  boost::uuids::detail::sha1 hash;
  hash.process_bytes(text.data(), text.size());
  unsigned int words[5] = {};
  hash.get_digest(words);
  std::string bytes;
  for (const unsigned int word : words) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift & 255U);
  }
  return bytes;
}

constexpr std::size_t kShortestHiddenEverywhere = 8;

void add(std::vector<std::string>& secrets, const std::string& password, std::string in_context) {
  if (password.empty()) return;
  secrets.push_back(std::move(in_context));
  if (password.size() >= kShortestHiddenEverywhere) secrets.push_back(password);
}

}  // namespace

std::string digest_secret(const DigestCredential& credential) {
  return credential.user + ":" + credential.password;
}

std::string digest_id(const DigestCredential& credential) {
  return credential.user + ":" + base64(sha1(digest_secret(credential)));
}

DigestCredential random_credential() {
  std::array<unsigned char, 40> random{};
  if (::getentropy(random.data(), random.size()) != 0) {
    throw std::system_error(errno, std::generic_category(), "getentropy");
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : random) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  // The first 64 bits are the public user name. The other 256 bits are the secret.
  return {"zklock-" + text.substr(0, 16), text.substr(16)};
}

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
