// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/client.h"
#include "zklock/error.h"

namespace zklock::cli {

/// Replaces names of the library's API: "check the hosts" for "check ClientOptions::hosts".
[[nodiscard]] std::string without_api_names(std::string text);

/// Returns the cause of the error and its code, without the operation and the path, which zklock's
/// own lines have already.
[[nodiscard]] std::string text_of(const Error& error);

/// Returns why the client has no connection: ": 127.0.0.1:1 refused the connection". Returns an
/// empty text if that is unknown.
[[nodiscard]] std::string connection_problem(const Client& client);

}  // namespace zklock::cli
