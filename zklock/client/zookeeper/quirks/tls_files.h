// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/client_options.h"

namespace zklock::client {

// Quirk: the C client reads the TLS files anew for each connection. If it cannot use one, it tries
// again at once, and again, without an event. So zklock reads the files before it opens a handle. In
// a handshake it calls select(), which writes beyond its buffer for a descriptor of 1024 or more.
// Needed by: 3.9.5. No report is known.
// When it is mended: delete this, and check_tls() no longer calls it.

/// Returns why the C client could not use these files; empty if no reason is known. Each file must
/// be readable, and contain a PEM block of its kind. If OpenSSL is reachable in this process, it
/// loads the files as the C client will. Then the password must open the key, and the key must
/// belong to the certificate. Reads the files; sends nothing.
std::string tls_file_problem(const TlsOptions& tls);

/// Returns whether the functions of OpenSSL are reachable. zklock does not link OpenSSL. So the C
/// client or the program must be linked to a shared OpenSSL 1.1 or later.
bool openssl_is_reachable() noexcept;

/// Returns why TLS cannot work with this limit of descriptors; empty if it can.
std::string tls_descriptor_problem();

}  // namespace zklock::client
