// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <functional>
#include <iosfwd>
#include <string_view>

#include "zklock/export.h"

namespace zklock {

/// The importance of a line of the log.
enum class LogLevel { debug, info, warning, error };

/// Returns the name of the enumerator, for example "warning"; "unknown" for any other value.
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(LogLevel level) noexcept;
/// Writes to_string().
ZKLOCK_EXPORT std::ostream& operator<<(std::ostream& out, LogLevel level);

/// Receives the log, one call for each line, without a line end. The line is printable and has at
/// most 1,024 bytes. A thread of the client calls the sink, one call at a time. The threads of
/// clients that share a sink can call it at the same time. If the sink blocks, lines wait, at most
/// 1,000 and 1,000 more about losses. Further lines are dropped and counted in a later line. No
/// lock waits for the sink. An exception that it throws is dropped.
///
/// Client::close() waits up to one second for the sink to take waiting lines. It drops the rest,
/// and all waiting lines if the sink itself calls close(). No call begins after close() has closed
/// the client. But a call that is in flight can outlast close() and the destructor of the Client.
/// So a sink should own what it uses, for example by a shared_ptr.
///
/// Lines about holds and acquires have the form
/// @code
///   <operation> <path>: <sentence>; <key>=<value> <key>=<value> ...
/// @endcode
/// A path that does not fit into the line is cut. The keys come in the order owner, token, node,
/// held, waited, label, note. A key without a value is omitted. A path or a value is quoted if it
/// contains a space, `"`, `=` or `;`. Then `\"` and `\\` stand for `"` and `\`. The sentence
/// contains no `; `. So the keys begin after the first `; ` behind the path. Times are in seconds,
/// with three decimals and `s`.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

}  // namespace zklock
