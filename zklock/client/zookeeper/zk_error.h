// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/core/status.h"

namespace zklock::client {

/// Returns the status of a code of the ZooKeeper C client, or of a server behind it.
core::Status to_status(int code) noexcept;

/// Returns the code's name and value for error texts: "ZNOAUTH (-102)".
std::string code_name(int code);

/// The origin of the answer to a write. (A read is always answered by one server.)
enum class AnsweredBy {
  /// No server is known to have answered. The C client can return the code without a server, or the
  /// code does not refer to the request.
  none,
  server,  ///< the connected server, perhaps alone
  quorum,  ///< the leader: a quorum operation
};
/// Returns the origin of an answer to a write that has this code.
AnsweredBy answered_by(int code) noexcept;

}  // namespace zklock::client
