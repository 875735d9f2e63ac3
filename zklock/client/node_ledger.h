// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zklock::client {

/// Keeps count of the bytes of path names of a session's ephemeral nodes: ZooKeeper cannot close a
/// session whose nodes exceed about 1 MB.
///
/// Thread-safety: none, its owner locks.
class NodeLedger {
 public:
  explicit NodeLedger(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// A create is about to be sent, perhaps with removals that `give_back` so many bytes. False, and
  /// nothing changed: over the cap.
  [[nodiscard]] bool reserve(std::string_view parent, std::string_view prefix,
                             std::size_t give_back = 0) noexcept;
  /// What became of it: the node's name, ...
  void created(std::string_view parent, std::string_view prefix, std::string_view name);
  /// ... or that there is none, ...
  void failed(std::string_view parent, std::string_view prefix) noexcept;
  /// ... or nobody knows: it counts until a node of such a name goes that was not seen created, or
  /// one of the very name is.
  void unknown(std::string_view parent, std::string_view prefix);

  /// The node was deleted, whosever it was, ...
  void deleted(const std::string& path);
  /// ... or was found not to exist.
  void missing(const std::string& path);
  /// ... or may have been: it counts as one that is unknown.
  void doubted(const std::string& path);

  /// `parent` was listed: no more than so many nodes below it can be there unknown.
  void listed(const std::string& parent, std::size_t children);

  /// The session ended, and with it all nodes.
  void clear() noexcept;

  std::size_t bytes() const noexcept { return bytes_; }
  /// Of what counts by that very name, be it in doubt; 0 of others.
  std::size_t bytes_of(const std::string& path) const;

 private:
  struct Doubt {
    std::string prefix;
    std::size_t size;
  };
  /// Stands for a path, which ten thousands would keep else. Should two paths have the same one, a few
  /// bytes are miscounted until the session ends: the cap leaves room for more than that.
  using Hash = std::uint64_t;

  static Hash hash(std::string_view path) noexcept;
  template <class Matches>
  bool forget_doubt(const std::string& parent, Matches matches);
  bool missing_here(const std::string& path);

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::unordered_map<Hash, std::size_t> nodes_;  ///< by path
  std::multimap<std::string, Doubt> doubtful_;   // by parent
};

}  // namespace zklock::client
