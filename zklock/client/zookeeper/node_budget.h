// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "zklock/client/port/coordinator.h"

namespace zklock::client {

/// Counts the path bytes of a session's ephemeral znodes. ZooKeeper cannot close a session whose
/// znodes have more than about 1 MB of paths.
///
/// Thread-safety: none; the caller locks.
class NodeBudget {
 public:
  explicit NodeBudget(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::size_t max_bytes() const noexcept { return max_bytes_; }

  /// Counts the bytes of a create that is about to be sent. `requested`: its full path, without the
  /// sequence number. `freed`: the bytes that the deletes of its transaction free. Returns false,
  /// without effect, if the sum would exceed the cap, or half of it for an optional znode.
  [[nodiscard]] bool reserve(std::string_view requested, std::size_t freed = 0,
                             bool leaves_room = false) noexcept;

  // Each reserve() is followed by a call of one of the next three: the outcome of the create.

  /// The znode `path` was created.
  void created(std::string_view path, std::string_view requested);
  /// No znode was created. Its bytes no longer count.
  void failed(std::string_view requested) noexcept;
  /// The outcome is unknown: the znode may exist, so its bytes still count. If the create was
  /// sequential, the next deleted() of a matching znode frees them. A deleted znode matches if its
  /// path is `requested` and a number, and created() was not called for it. If the create was not
  /// sequential, the next created(), deleted() or missing() of that path ends this count.
  void unknown(std::string_view requested);

  /// The znode was deleted. It may have belonged to another session.
  void deleted(const std::string& path);
  /// The znode was found not to exist.
  void missing(const std::string& path);
  /// The znode may have been deleted. From now on it counts as a create with an unknown outcome.
  void maybe_deleted(const std::string& path);

  /// `parent` was found to have that many children. So at most that many creates with an unknown
  /// outcome have made a znode below it. The others no longer count.
  void listed(const std::string& parent, std::size_t children);

  // These count all ephemeral znodes that a transaction creates or deletes.

  /// Reserves the bytes of all creates, or none. The bytes of the znodes that the transaction
  /// deletes are free for its creates. So are the bytes that still count for an earlier create of
  /// an equal path, after a lost reply.
  [[nodiscard]] bool reserve(std::span<const request::Write> writes);
  /// The transaction was not sent.
  void failed(std::span<const request::Write> writes) noexcept;
  void on_reply(std::span<const request::Write> writes, const Reply& reply);

  /// The session has ended, and its znodes with it.
  void clear() noexcept;

  std::size_t bytes() const noexcept { return bytes_; }
  /// Returns the bytes that count for exactly this path, even if its outcome is unknown. 0: none.
  std::size_t bytes_of(const std::string& path) const;

 private:
  /// Replaces the path of a znode, because tens of thousands of paths would take much memory. If
  /// two paths have equal hashes, a few bytes are miscounted until the session ends. The cap leaves
  /// room for more than that.
  using Hash = std::uint64_t;
  /// Bytes by the path of the request: without the sequence number, if the create was sequential.
  using Unknown = std::multimap<std::string, std::size_t, std::less<>>;

  static Hash hash(std::string_view path) noexcept;
  bool forget_unknown(std::string_view requested);
  bool forget_exactly(std::string_view path);

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::unordered_map<Hash, std::size_t> nodes_;  ///< bytes by hash of path
  Unknown unknown_;                              ///< creates with an unknown outcome
};

}  // namespace zklock::client
