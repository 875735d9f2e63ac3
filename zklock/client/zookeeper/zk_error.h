// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "zklock/core/status.h"

namespace zklock::client {

/// Returns the status of a ZooKeeper error code, even of codes that only servers define.
core::Status to_status(int code) noexcept;

/// Returns the code's name and value for error texts: "ZNOAUTH (-102)".
std::string code_name(int code);

/// The kinds of requests, by the servers that answer them.
enum class RequestKind : std::uint8_t {
  read,   ///< one server
  sync,   ///< the leader
  write,  ///< a quorum; but one server can refuse it
  multi,  ///< a quorum
};

/// Returns which servers certainly took part in the answer to a request. Returns std::nullopt if
/// the code does not prove an answer: the C client itself produced it, or it reports a failed
/// connection.
std::optional<core::AnsweredBy> answered_by(int code, RequestKind kind) noexcept;

}  // namespace zklock::client
