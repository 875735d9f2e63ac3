// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/fencing_token.h"

namespace zklock::core {

/// What a contender writes into its node: who it is, for people and for recovery.
///
/// A text of "key=value" lines under the line "zklock 1". Values are cut to 64 bytes (at a whole
/// UTF-8 character); control characters and invalid UTF-8 become '?'. Unknown keys are skipped, so
/// that versions can live side by side; a text that does not begin with "zklock 1" was not written
/// by zklock.
struct NodeData {
  std::string attempt;  ///< unique over all creates of all clients
  std::string owner;
  std::string host;
  std::string thread;
  std::string application;
  std::int64_t pid = 0;
  /// The creator promises that nobody else can write the node, and that it writes it only to
  /// announce its release.
  bool announces = false;
  /// Of a node that has taken the place of the one that the hold was granted by: the zxid that made
  /// that one. 0: of any other.
  std::int64_t token = 0;
  /// Of a node that has taken another's place: when that was made (milliseconds since 1970). 0: of
  /// any other.
  std::int64_t since_ms = 0;

  std::string encode() const;
  static std::optional<NodeData> parse(std::string_view text);
};

/// The zxid by which the contender came to the queue whose node, with these data, was made by
/// `made`: that one, unless the node has taken another's place.
FencingToken came_by(const std::optional<NodeData>& data, FencingToken made) noexcept;

/// What the holder writes on release, in one transaction with the deletion.
inline constexpr std::string_view released_data = "released";

/// `text` as it may be shown to people and logs: cut to `max_bytes` at a whole character, control
/// characters (C0, DEL, C1) and invalid UTF-8 replaced by '?'.
std::string printable(std::string_view text, std::size_t max_bytes);

}  // namespace zklock::core
