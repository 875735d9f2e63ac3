// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/core/status.h"

namespace zklock::client {

/// What a code of the ZooKeeper C client, or of a server behind it, means for the lock protocol.
core::Status to_status(int code) noexcept;

/// The code's name and number for the text of an error: "ZNOAUTH (-102)".
std::string code_name(int code);

/// Who gave the answer to a write. (That to a read is always one server's.)
enum class AnsweredBy {
  nobody,  ///< perhaps: the C client has the code too, or the answer is not about the request
  server,  ///< the connected server, perhaps by itself
  quorum,  ///< the leader: the request went through the quorum
};
AnsweredBy answered_by(int code) noexcept;

}  // namespace zklock::client
