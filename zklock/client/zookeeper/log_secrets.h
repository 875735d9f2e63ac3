// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "zklock/client_options.h"

namespace zklock::client {

/// Returns the texts that must not appear in a log. Each password is hidden together with the user
/// or the key file in front of it. A password of at least eight bytes is hidden everywhere: a
/// shorter one can be part of any word.
std::vector<std::string> log_secrets(const std::vector<DigestCredential>& credentials,
                                     const std::optional<TlsOptions>& tls);

}  // namespace zklock::client
