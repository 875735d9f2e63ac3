// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/client_options.h"

namespace zklock::client {

/// The id under which ZooKeeper's "digest" scheme knows a credential in an ACL:
/// "user:base64(sha1(user:password))".
std::string digest_id(const DigestCredential& credential);

/// "user:password", as the scheme wants it for authentication. A secret.
std::string digest_secret(const DigestCredential& credential);

/// A credential that nobody can guess (256 bits from the kernel). Throws std::system_error when the
/// kernel gives none.
DigestCredential random_credential();

}  // namespace zklock::client
