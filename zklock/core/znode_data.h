// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/core/session.h"

namespace zklock::core {

inline constexpr std::size_t kMaxValueBytes = 64;  ///< longest value but a note
inline constexpr std::size_t kMaxNoteBytes = 200;
/// More than any version will write. ZnodeData::parse() does not read longer data to the end.
inline constexpr std::size_t kMaxTextBytes = 8192;

/// The data of a contender's znode. They describe the contender, for people and for recovery.
///
/// The text has the line "zklock 1" and below it lines "key=value". Values are cut to 64 bytes, and
/// `note` to 200 bytes, at a whole UTF-8 character. Control characters and invalid UTF-8 become
/// '?'. Unknown keys are skipped, so different versions can use one path. A text that does not
/// begin with "zklock 1" is not of zklock.
struct ZnodeData {
  std::string attempt;  ///< unique among all creates of all clients
  std::string owner;
  std::string host;
  std::string thread;
  std::string application;
  std::string label;  ///< name of the lock object
  std::string note;   ///< purpose of the call
  std::int64_t pid = 0;
  /// The creator promises that no other client can write the znode, and that it writes the znode
  /// only to announce its release.
  bool announces = false;
  bool bound = false;         ///< see Participant::thread_bound
  bool is_candidate = false;  ///< see Participant::is_candidate
  /// If the znode has replaced the granted znode (a downgrade): the czxid of the granted znode.
  /// Otherwise 0.
  std::int64_t token = 0;
  /// If the znode has replaced another: the creation time of the first znode, in milliseconds since
  /// 1970. Otherwise 0. A downgrade and the move from the gate of a PriorityMutex replace the
  /// znode.
  std::int64_t since_ms = 0;

  std::string encode() const;
  static std::optional<ZnodeData> parse(std::string_view text);
};

/// Returns the zxid by which a contender entered the queue. That is `made`, the czxid of its znode,
/// unless `data` say that the znode has replaced the granted one.
Zxid queue_zxid(const std::optional<ZnodeData>& data, Zxid made) noexcept;

/// The data that a holder writes to announce its release, in one transaction with the deletion.
inline constexpr std::string_view kReleasedData = "released";

/// Returns `text` fit for people and logs. It is cut to `max_bytes`, at a whole character. Control
/// characters (C0, DEL, C1), line separators, marks of direction and invalid UTF-8 become '?'.
std::string printable(std::string_view text, std::size_t max_bytes);

}  // namespace zklock::core
