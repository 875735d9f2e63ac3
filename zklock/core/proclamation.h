// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zklock/core/znode_name.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

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
