// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "zklock/client/coordinator.h"
#include "zklock/client/watch.h"

namespace zklock::client {

/// Who wants to hear of what, in one session.
///
/// | interest | entered by                | an event for its watch | cancel()    |
/// |----------|---------------------------|------------------------|-------------|
/// | expected | expect(): sent            | not for it             | -> unwanted |
/// | unwanted | cancel() before the reply | not for it             |             |
/// | armed    | arm(): by the reply       | -> fired               | gone        |
/// | fired    | fire()                    | not for it (once)      | gone        |
///
/// The servers' watch serves all the interests in it; it is to be removed when the last one went
/// without an event.
///
/// Thread-safety: none, its owner locks.
class WatchRegistry {
 public:
  using OnEvent = request::OnWatchEvent;

  /// `max_bytes`: cap on the sum of the lengths of the watches' paths.
  explicit WatchRegistry(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  WatchRegistry(const WatchRegistry&) = delete;
  WatchRegistry& operator=(const WatchRegistry&) = delete;

  /// A request with a watch is about to be sent. False, and nothing changed: over the cap.
  /// Throws, and nothing changed: std::bad_alloc.
  [[nodiscard]] bool expect(RequestId id, const Watch& watch, OnEvent on_event);

  // The next three return the watch that is to be removed at the servers, if one is.

  /// By its reply the servers watch. `mute`: but they may keep the events to themselves, since the
  /// client may not read the node.
  [[nodiscard]] std::optional<Watch> arm(RequestId id, bool mute = false) noexcept;
  /// Its reply was another. `server_watches`: the servers watch nevertheless.
  [[nodiscard]] std::optional<Watch> fail(RequestId id, bool server_watches) noexcept;
  /// Unwatch.
  [[nodiscard]] std::optional<Watch> cancel(RequestId id) noexcept;

  /// The servers told an event of the path, and have ended the watches that it is for. Returns the
  /// interests that it is for, in the order of their requests; each is then to be taken, and may be
  /// cancelled until.
  std::vector<RequestId> fire(const std::string& path, request::WatchEvent event);
  /// Empty when it was cancelled.
  OnEvent take_fired(RequestId id);

  /// There are paths whose events may not come: to be asked for, as long as they are in the list.
  bool has_mute_paths() const noexcept { return mute_ > 0; }
  std::vector<std::string> mute_paths() const;

  /// Asked before the removal of the servers' watch is sent. False: somebody wants it again; it
  /// then stays, and is noted as theirs.
  [[nodiscard]] bool may_remove(const Watch& watch);

  /// The session ended, and with it all watches.
  void clear() noexcept;

  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t watches() const noexcept { return watched_[0].size() + watched_[1].size(); }

 private:
  struct Watched;
  // Ten thousands may wait, each with a watch of its own, and mostly the only interest in it: so the
  // interests are chained where they are found by their ids. The hash of a path is not worth its room,
  // nor is a state that can be told from the rest.
  struct PathHash {
    std::size_t operator()(const std::string& path) const noexcept {
      return std::hash<std::string>{}(path);
    }
  };
  using Paths = std::unordered_map<std::string, Watched, PathHash>;
  using Entry = Paths::value_type;
  struct Interest {
    Entry* entry = nullptr;  ///< that it is in
    OnEvent on_event;        ///< empty: unwanted
    // Of those that are armed, a chain that each can leave by itself: ten thousands may be in it.
    std::pair<const RequestId, Interest>* next = nullptr;
    std::pair<const RequestId, Interest>** link = nullptr;  ///< what leads here; null: not armed
  };
  using Interests = std::unordered_map<RequestId, Interest>;
  struct Watched {
    WatchKind kind;
    bool server_watches = false;
    bool mute = false;
    std::uint32_t under_way = 0;             ///< of the interests, how many are not armed
    Interests::value_type* armed = nullptr;  ///< the first of those that are, in any order
  };

  Paths& of_kind(WatchKind kind) noexcept { return watched_[static_cast<std::size_t>(kind)]; }
  void forget(Interests::iterator interest) noexcept;
  // The next two return the watch that is to be removed at the servers, if one is.
  std::optional<Watch> drop(Interests::iterator interest) noexcept;
  // Nobody may be interested any more.
  std::optional<Watch> end_if_idle(Entry& entry) noexcept;

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::array<Paths, 2> watched_;  ///< by kind
  Interests interests_;
  std::size_t mute_ = 0;  ///< of those that are watched
  std::map<RequestId, OnEvent> fired_;
};

}  // namespace zklock::client
