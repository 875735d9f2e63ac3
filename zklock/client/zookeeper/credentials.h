// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "zklock/client_options.h"

namespace zklock::client {

/// Returns the id of a credential in an ACL entry of ZooKeeper's "digest" scheme:
/// "user:base64(sha1(user:password))".
std::string digest_id(const DigestCredential& credential);

/// Returns "user:password", the form of that scheme for authentication. It is secret.
std::string digest_secret(const DigestCredential& credential);

/// Returns a credential with a random password of 256 bits from the kernel. Throws
/// std::system_error if the kernel provides none.
DigestCredential random_credential();

/// Returns the texts that must not appear in a log. Each password is hidden together with the user
/// or the key file in front of it. A password of at least eight bytes is hidden everywhere: a
/// shorter one can be part of any word.
std::vector<std::string> log_secrets(const std::vector<DigestCredential>& credentials,
                                     const std::optional<TlsOptions>& tls);

}  // namespace zklock::client
