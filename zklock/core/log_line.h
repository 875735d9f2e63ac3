// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

/// The longest line of the log, in bytes.
inline constexpr std::size_t kMaxLogLine = 1024;

/// Returns a path or a value as a line shows it: quoted if necessary, see LogSink.
std::string log_value(std::string_view value);

/// Returns a line of the log, in the form that LogSink describes. No value can forge another key. A
/// path is cut if the line would be too long with it. The caller makes the line printable.
std::string log_line(std::string_view operation, std::string_view path, std::string_view sentence,
                     const LogFields& fields);

}  // namespace zklock::core
