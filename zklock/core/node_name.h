// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::core {

/// The number that ZooKeeper appends to a sequential node's name: how many children the parent
/// had been given before. Signed 32 bits; it sticks at its maximum (later nodes get the same
/// suffix again, or a negative one).
struct Sequence {
  std::int32_t value = 0;
  friend auto operator<=>(const Sequence&, const Sequence&) = default;
};

/// From here on the counter is treated as exhausted: far enough from the end that all contenders
/// of a full queue, creating at once, stay below it.
inline constexpr Sequence first_unusable_sequence{2'147'000'000};

inline constexpr std::string_view lock_prefix = "lock-";

/// The number of a contender's name, found without copying the name; nothing for every name that
/// NodeName::parse refuses.
std::optional<Sequence> parse_sequence(std::string_view text) noexcept;

/// The name of a contender's node.
///
/// | whose               | looks like                             | own format |
/// |---------------------|----------------------------------------|------------|
/// | zklock              | lock-0000000042                        | yes        |
/// | Curator, Go         | _c_<uuid>-lock-0000000042              | no         |
/// | Kazoo               | <hex>__lock__0000000042                | no         |
///
/// What follows the last "lock-" or "__lock__" must be a number as ZooKeeper prints it: ten digits
/// (%010d), or a minus sign and ten digits for a counter past its end. Everything else is not a
/// contender, and is left alone.
struct NodeName {
  std::string text;  ///< the node's name, without the parent's path
  Sequence sequence;
  bool own_format = false;

  static std::optional<NodeName> parse(std::string_view text);
  /// The name in zklock's format.
  static NodeName make(Sequence sequence);
  /// In the order of arrival; the text decides between equal numbers (only a counter at its end
  /// makes such).
  bool before(const NodeName& other) const noexcept;
};

}  // namespace zklock::core
