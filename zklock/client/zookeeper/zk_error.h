// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "zklock/core/status.h"

namespace zklock::client {

/// Returns the status of a code of the ZooKeeper C client, or of a server behind it.
core::Status to_status(int code) noexcept;

/// Returns the code's name and value for error texts: "ZNOAUTH (-102)".
std::string code_name(int code);

/// Returns who answered a write with this code. Returns nothing if perhaps no server did. The C
/// client can return such a code without a server, or the code does not refer to the request.
/// `is_multi`: the write was a multi.
std::optional<core::AnsweredBy> answered_by(int code, bool is_multi) noexcept;

}  // namespace zklock::client
