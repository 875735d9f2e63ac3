// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zklock/core/session.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// The values of the keys of a line; empty ones are omitted.
struct LogFields {
  std::string owner = {};
  FencingToken token = {};
  std::string node = {};  ///< name of the znode
  std::optional<Duration> held = std::nullopt;
  std::optional<Duration> waited = std::nullopt;
  std::string label = {};
  std::string note = {};
};

/// Returns a line of the log, in the form that LogSink describes. No value can forge another key.
/// The caller makes the line printable.
std::string log_line(std::string_view operation, std::string_view path, std::string_view sentence,
                     const LogFields& fields);

}  // namespace zklock::core
