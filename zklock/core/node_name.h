// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/participant.h"

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

/// Whether a contender may have that number. The others come from a counter that is at its end, and
/// say nothing.
constexpr bool is_usable(Sequence number) noexcept {
  return number.value >= 0 && number < first_unusable_sequence;
}

/// What the name of a contender's node says. It refers to the text that was parsed.
struct Contention {
  Sequence sequence = {};
  Access access = Access::exclusive;
  std::int32_t permits = 0;      ///< that it wants; 0 for the other kinds of access
  std::int32_t of = 0;           ///< how many there are; 0 when the name does not say
  std::int32_t weight = 0;       ///< of weighted access
  std::int32_t ageing = 0;       ///< of weighted access; 0: strict
  std::string_view prefix = {};  ///< the name without the number

  std::string_view name = {};

  /// By its name; Curator's are so called, too, where they are not protected.
  bool is_of_zklock() const noexcept;
  /// In the order of arrival; the name decides between equal numbers (only a counter at its end
  /// makes such).
  bool before(const Contention& other) const noexcept;
};

/// Returns what a child's name says if it is the name of a contender: one of these prefixes and the
/// sequence number, and nothing before or after.
///
/// | written by                       | prefix              | access    |
/// |----------------------------------|---------------------|-----------|
/// | zklock: mutexes, elections       | lock-               | exclusive |
/// | zklock: SharedMutex              | __WRIT__            | exclusive |
/// |                                  | __READ__            | shared    |
/// | zklock: Semaphore                | permits-2-of-4-     | permits   |
/// |   with a shared count            | permits-2-          | permits   |
/// | zklock: PriorityMutex            | weight-7-age-16-    | weighted  |
/// |   strictly by weight             | weight-7-           | weighted  |
/// | Curator: InterProcessMutex,      | _c_<uuid>-lock-     | exclusive |
/// |   LeaderSelector                 |                     |           |
/// | Curator: InterProcessReadWrite-  | _c_<uuid>-__WRIT__  | exclusive |
/// |   Lock                           | _c_<uuid>-__READ__  | shared    |
/// | go-zookeeper: Lock               | _c_<hex>-lock-      | exclusive |
/// | Kazoo: Lock, WriteLock, Election | <hex>__lock__       | exclusive |
/// | Kazoo: ReadLock                  | <hex>__rlock__      | shared    |
///
/// <uuid> is a UUID as text: hexadecimal digits in groups of 8, 4, 4, 4 and 12, with '-' between
/// them. <hex> is 32 hexadecimal digits. The sequence number is as ZooKeeper prints it: ten digits
/// (%010d), or a minus sign and ten digits if the counter is past its end. Every other child, such as
/// block-0000000001 or __lock__0000000001, is ignored.
std::optional<Contention> parse_contention(std::string_view name) noexcept;

/// The prefixes of zklock's own names.
inline constexpr std::string_view lock_prefix = "lock-";
inline constexpr std::string_view write_prefix = "__WRIT__";
inline constexpr std::string_view read_prefix = "__READ__";
/// `of` 0: the number is not said.
std::string permits_prefix(std::int32_t permits, std::int32_t of);
inline constexpr std::int32_t most_weight = 10;
/// `ageing` 0: strict.
std::string weight_prefix(std::int32_t weight, std::int32_t ageing);

/// Of a contender's node: its name, without the parent's path.
struct NodeName {
  std::string text;
  Sequence sequence;

  /// Nothing for every name that parse_contention refuses.
  static std::optional<NodeName> parse(std::string_view text);
  static NodeName make(std::string_view prefix, Sequence sequence);
  bool has_prefix(std::string_view prefix) const noexcept;
  /// Of zklock's writers: what its node is called when it only reads on. It keeps its number, and so
  /// its place in the queue. Nothing for all others.
  std::optional<NodeName> reading_on() const;
};

}  // namespace zklock::core
