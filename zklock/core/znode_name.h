// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/participant.h"

namespace zklock::core {

/// The sequence number that ZooKeeper appends to a sequential znode's name: the number of children
/// created earlier below this parent. It has 32 bits with a sign. At the maximum the counter is
/// useless: depending on the server, later znodes get the maximum again, or a negative number.
struct Sequence {
  std::int32_t value = 0;
  friend auto operator<=>(const Sequence&, const Sequence&) = default;
};

/// From this value on, the counter is treated as exhausted. It is far below the maximum. So even if
/// all contenders of a full queue create at once, the counter does not reach the maximum.
inline constexpr Sequence kFirstUnusableSequence{2'147'000'000};

/// Returns whether a contender may have this sequence number. All other numbers come from a counter
/// at its end, and define no order.
constexpr bool is_usable(Sequence number) noexcept {
  return number.value >= 0 && number < kFirstUnusableSequence;
}

/// The content of a contender's znode name, as parsed by parse_znode_name(). It refers to the
/// parsed text, which must outlive it.
struct ParsedZnodeName {
  Sequence sequence = {};
  Access access = Access::exclusive;
  std::int32_t permits = 0;      ///< requested permits; 0 without permits access
  std::int32_t named_total = 0;  ///< total of the permits; 0: not named
  std::int32_t weight = 0;       ///< with weighted access
  std::int32_t ageing = 0;       ///< with weighted access; 0: strict order
  std::string_view prefix = {};  ///< name without the sequence number

  std::string_view name = {};

  /// Returns whether the name has a format of zklock. Names of Curator without protection have it
  /// too.
  bool is_of_zklock() const noexcept;
  /// Returns whether this contender arrived before `other`: it has the lower sequence number. Only
  /// a counter at its end gives equal numbers; then the names decide.
  bool before(const ParsedZnodeName& other) const noexcept;
};

/// Returns the content of a child's name if it is a contender's: one of these prefixes and the
/// sequence number, and nothing before or after. Returns std::nullopt for all other names.
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
/// (%010d), or a minus sign and ten digits if the counter is past its end. Every other child, such
/// as block-0000000001 or __lock__0000000001, is ignored.
std::optional<ParsedZnodeName> parse_znode_name(std::string_view name) noexcept;

/// The prefixes of zklock's own names.
inline constexpr std::string_view kLockPrefix = "lock-";
inline constexpr std::string_view kWritePrefix = "__WRIT__";
inline constexpr std::string_view kReadPrefix = "__READ__";
/// `named_total` 0: the name has no total.
std::string permits_prefix(std::int32_t permits, std::int32_t named_total);
inline constexpr std::int32_t kMostWeight = 10;
/// `ageing` 0: strictly by weight.
std::string weight_prefix(std::int32_t weight, std::int32_t ageing);

/// The name of a znode with a sequence number, without the parent's path. parse() accepts names of
/// contenders only.
struct ZnodeName {
  std::string text;
  Sequence sequence;

  /// Returns std::nullopt for every name that parse_znode_name() refuses.
  static std::optional<ZnodeName> parse(std::string_view text);
  static ZnodeName make(std::string_view prefix, Sequence sequence);
  bool has_prefix(std::string_view prefix) const noexcept;
  /// If this is the name of a zklock writer, returns the name of its znode after a downgrade to
  /// reader. The sequence number is unchanged, and so is the position in the queue. Otherwise
  /// returns nothing.
  std::optional<ZnodeName> as_reader() const;
};

}  // namespace zklock::core
