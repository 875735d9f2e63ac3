// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "zklock/core/znode_data.h"
#include "zklock/core/znode_name.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// Kind of a child of a lock path. Its name alone decides.
///
/// | kind            | name                   | deleted                                         |
/// |-----------------|------------------------|-------------------------------------------------|
/// | contender       | see parse_znode_name() | by its contender, or with the session           |
/// | hold_marker     | see HoldMarker         | with its contender                              |
/// | delay_marker    | see DelayMarker        | with its contender; after a loss by another one |
/// | release_request | release-request-...    | by the call that made it, or with its session   |
/// | proclamation    | proclaimed-...         | with its contender                              |
/// | permit_count    | count                  | not by zklock, except with the path             |
/// | other           | all other names        | not by zklock                                   |
enum class ChildKind {
  contender,
  hold_marker,
  delay_marker,
  release_request,
  proclamation,
  permit_count,
  other
};

ChildKind kind_of(std::string_view child);

/// The child of a semaphore's path whose data are the shared permit count. It belongs to no
/// contender. It is persistent, so the count outlives all clients that use it. Servers do not
/// delete the path, because it is never empty. The data are a decimal number and nothing else:
/// people may read and write it.
inline constexpr std::string_view kCountNode = "count";

/// Returns std::nullopt unless the data are a number from 0 to 2147483647.
inline std::optional<std::int32_t> parse_permit_count(std::string_view data) noexcept {
  if (data.empty() || data.front() == '-') return std::nullopt;
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(data.data(), data.data() + data.size(), number);
  if (error != std::errc() || end != data.data() + data.size()) return std::nullopt;
  return number;
}

/// Returns the cause of an error: `data` are not a permit count.
inline std::string bad_permit_count(std::string_view data) {
  return "the znode " + std::string(kCountNode) + " has the data \"" + printable(data, 32) +
         "\", which is not a permit count; call set_permits()";
}

/// The prefix of a request znode, by which a client requests the release of a contender. The client
/// creates it beside the contender's znode, and the contender watches for it. The client could
/// instead delete the contender's znode, but then the lock would be handed off before the holder is
/// notified. Nor does the client write to the contender's znode: a change of its data announces the
/// release.
///
/// The request znode's name has the contender's sequence number. It is not a contender's name;
/// Curator's contenders sort it last. The data are `kReleaseRequestAsks` or
/// `kReleaseRequestForces`.
inline constexpr std::string_view kReleaseRequestPrefix = "release-request-";
inline constexpr std::string_view kReleaseRequestAsks = "ask";
inline constexpr std::string_view kReleaseRequestForces = "force";

/// Returns the name of the request znode for the contender with that sequence number.
inline std::string release_request_node(Sequence of) {
  return ZnodeName::make(kReleaseRequestPrefix, of).text;
}

/// The prefix of the znode in which a leader publishes its value. That znode is an ephemeral
/// sibling of the leader's lock znode; its name has the lock znode's sequence number. So no two
/// leaders of a path share one. It is deleted with the lock znode or with the session, so no client
/// has to remove a dead leader's value. Its name is not a contender's; Curator's contenders sort it
/// last.
inline constexpr std::string_view kProclamationPrefix = "proclaimed-";
inline std::string proclamation_node(Sequence leader) {
  return ZnodeName::make(kProclamationPrefix, leader).text;
}

/// The data of that znode: the value, and the token of its leader. Sequence numbers start again if
/// the path is recreated, but tokens do not. So the value is valid only for the leader with this
/// token.
///
/// The text is a line "zklock 1 proclaimed <token>", and then the unchanged value.
struct Proclamation {
  FencingToken leader;
  std::string value;

  std::string encode() const;
  /// Returns std::nullopt unless the text begins with that line.
  static std::optional<Proclamation> parse(std::string_view text);
};

}  // namespace zklock::core
