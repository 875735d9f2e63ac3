// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zklock/core/node_name.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// Where a leader says its value: an ephemeral node beside its lock node, which has the lock node's
/// number in its name. So no two leaders of a path share one, it goes with the leader's session,
/// and nobody has to clear away what a dead one said. It is none of a contender; among Curator's
/// contenders it sorts last.
inline constexpr std::string_view proclamation_prefix = "proclaimed-";
inline std::string proclamation_node(Sequence leader) {
  return NodeName::make(proclamation_prefix, leader).text;
}

/// What stands in that node: the value, and whose it is. The numbers begin again when the path was
/// deleted meanwhile, the tokens do not: the value counts for the leader with this token alone.
///
/// A line "zklock 1 proclaimed <token>", then the value as it is.
struct Proclamation {
  FencingToken leader;
  std::string value;

  std::string encode() const;
  /// Nothing where the text does not begin as above.
  static std::optional<Proclamation> parse(std::string_view text);
};

}  // namespace zklock::core
