// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

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

}  // namespace zklock::client
