// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/request.h"

namespace zklock::client {

/// The watch that the servers have after the reply to the request of an interest. An unreadable
/// znode is one on which the client has no READ permission.
enum class ServerWatch : std::uint8_t {
  nothing,
  kept,        ///< another watch of this path and kind
  armed,       ///< the requested watch
  unreadable,  ///< the requested one; its event may be withheld
  refused,     ///< none: the znode is unreadable
};

/// The watches of one session, and the interests in them. An interest is the handler that one
/// request registers for the event of a watch.
///
/// | interest | entered by                | an event of its watch  | cancel()    |
/// |----------|---------------------------|------------------------|-------------|
/// | expected | expect(): before sending  | no effect              | -> unwanted |
/// | unwanted | cancel() before the reply | no effect              | no effect   |
/// | armed    | settle(): at the reply    | -> fired               | -> removed  |
/// | fired    | fire()                    | no effect              | -> removed  |
///
/// The servers have one watch for all interests in a path and kind. That watch must be removed when
/// its last interest ends without an event.
///
/// Thread-safety: none; the caller locks.
class WatchRegistry {
 public:
  using OnEvent = request::OnWatchEvent;

  /// `max_bytes`: the cap on the sum of the path lengths of all watches.
  explicit WatchRegistry(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::size_t max_bytes() const noexcept { return max_bytes_; }
  WatchRegistry(const WatchRegistry&) = delete;
  WatchRegistry& operator=(const WatchRegistry&) = delete;

  /// Registers the interest of a request that is about to be sent. Returns false, without effect,
  /// if the watch would exceed the cap.
  [[nodiscard]] bool expect(RequestId id, const Watch& watch, OnEvent on_event);

  // Both of the next return the watch that must be removed at the servers, or std::nullopt.

  /// Called at the reply. Arms the interest if that is `armed`, `unreadable` or `refused`, and
  /// otherwise removes it. For the last two, see Reply::unreadable.
  [[nodiscard]] std::optional<Watch> settle(RequestId id, ServerWatch at_servers) noexcept;
  /// Cancels the interest: its handler will not be called.
  [[nodiscard]] std::optional<Watch> cancel(RequestId id) noexcept;

  /// Fires all armed interests in the watches that the event ends. Returns the ids of their
  /// requests, in the order of the requests. REQUIRES: the caller then calls take_fired() for each
  /// id. Until then cancel() can remove the interest.
  std::vector<RequestId> fire(const std::string& path, request::WatchEvent event);
  /// Removes a fired interest. Returns its handler; empty if the interest was cancelled.
  OnEvent take_fired(RequestId id);

  /// Returns whether the znode of any watch is unreadable. The client must check repeatedly whether
  /// these znodes exist, because the servers may withhold their events.
  bool has_unreadable_paths() const noexcept { return unreadable_ > 0; }
  /// Marks each unreadable path without an unanswered check as being checked. Returns these paths.
  /// REQUIRES: the caller calls end_presence_check() for each path when its check is answered.
  std::vector<std::string> begin_presence_checks();
  /// Ends the check of this path. The next begin_presence_checks() returns the path again.
  void end_presence_check(const std::string& path) noexcept;
  /// Returns whether the servers have this watch, as far as the replies and events show.
  bool is_at_servers(const Watch& watch) const;

  /// Called before the removal of the servers' watch is sent. If the watch has no interest, returns
  /// true: the removal must be sent. Otherwise returns false: the watch is wanted again, and stays
  /// at the servers.
  [[nodiscard]] bool begin_removal(const Watch& watch);

  /// Removes all watches and interests, because the session has ended.
  void clear() noexcept;

  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t watch_count() const noexcept { return watched_[0].size() + watched_[1].size(); }

 private:
  struct Watched;
  // Tens of thousands of contenders may wait, each with its own watch and the only interest in it.
  // So the entries must be small. With std::hash<std::string>, libstdc++ would store the hash in
  // each entry; with PathHash it does not. The state of an interest is not stored: it follows from
  // the other members.
  struct PathHash {
    std::size_t operator()(const std::string& path) const noexcept {
      return std::hash<std::string>{}(path);
    }
  };
  using Paths = std::unordered_map<std::string, Watched, PathHash>;
  using Entry = Paths::value_type;
  // An intrusive list, because a watch may have tens of thousands of interests, and each is removed
  // in constant time.
  using Hook =
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  /// Armed if it is linked.
  struct Interest : Hook {
    Interest(RequestId request, Entry& watch, OnEvent handler)
        : id(request), entry(&watch), on_event(std::move(handler)) {}

    const RequestId id;
    Entry* entry;      ///< its watch; null: fired
    OnEvent on_event;  ///< empty: unwanted
  };
  using Interests = std::unordered_map<RequestId, Interest>;
  struct Watched {
    WatchKind kind;
    bool server_watches = false;
    bool unreadable = false;
    bool is_being_checked = false;  ///< a presence check is unanswered
    std::uint32_t in_flight = 0;    ///< count of interests not armed
    boost::intrusive::list<Interest, boost::intrusive::constant_time_size<false>> armed = {};
  };

  Paths& of_kind(WatchKind kind) noexcept { return watched_[static_cast<std::size_t>(kind)]; }
  const Paths& of_kind(WatchKind kind) const noexcept {
    return watched_[static_cast<std::size_t>(kind)];
  }
  // Removes the interest from its watch.
  void detach(Interest& interest) noexcept;
  // Both return the watch that must be removed at the servers, if there is one.
  std::optional<Watch> drop(Interests::iterator interest) noexcept;
  // Removes the watch if it has no interest any more.
  std::optional<Watch> end_if_idle(Entry& entry) noexcept;

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::array<Paths, 2> watched_;  ///< by kind
  Interests interests_;
  std::size_t unreadable_ = 0;  ///< count of watches of unreadable znodes
};

}  // namespace zklock::client
