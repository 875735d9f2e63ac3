// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
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

  /// A request with a watch is about to be sent. False, and nothing changed: over the cap.
  [[nodiscard]] bool expect(RequestId id, const Watch& watch, OnEvent on_event);

  // The next three return the watch that is to be removed at the servers, if one is.

  /// By its reply the servers watch. `mute`: but they may keep the events to themselves, since the
  /// client may not read the node.
  [[nodiscard]] std::optional<Watch> arm(RequestId id, bool mute = false);
  /// Its reply was another. `server_watches`: the servers watch nevertheless.
  [[nodiscard]] std::optional<Watch> fail(RequestId id, bool server_watches);
  /// Unwatch.
  [[nodiscard]] std::optional<Watch> cancel(RequestId id);

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
  std::size_t watches() const noexcept { return watched_.size(); }

 private:
  enum class State { expected, unwanted, armed };
  struct Interest {
    RequestId id;
    State state = State::expected;
    OnEvent on_event;
  };
  struct Watched {
    std::vector<Interest> interests;  ///< never empty; in any order
    bool server_watches = false;
    bool mute = false;
  };
  /// Where an interest is: there are ten thousands of them.
  using Entry = std::map<Watch, Watched>::value_type;

  static Interest& interest(Entry& entry, RequestId id) noexcept;
  // Returns the watch that is to be removed at the servers, if one is.
  std::optional<Watch> drop(Entry& entry, RequestId id);
  // Nobody is interested any more.
  void end(const Entry& entry);

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::map<Watch, Watched> watched_;
  std::unordered_map<RequestId, Entry*> entries_;  ///< each with that interest
  std::size_t mute_ = 0;                           ///< of those
  std::map<RequestId, OnEvent> fired_;
};

}  // namespace zklock::client
