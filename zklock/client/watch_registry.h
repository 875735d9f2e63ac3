// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "zklock/client/coordinator.h"

namespace zklock::client {

/// Who wants to hear of which path, in one session.
///
/// | interest | entered by                | an event of the path | cancel()    |
/// |----------|---------------------------|----------------------|-------------|
/// | expected | expect(): sent            | not for it           | -> unwanted |
/// | unwanted | cancel() before the reply | not for it           |             |
/// | armed    | arm(): the reply was ok   | -> fired             | gone        |
/// | fired    | fire()                    | not for it (once)    | gone        |
///
/// The servers' watch on a path serves all its interests; it is to be removed when the last one
/// went without an event.
///
/// Thread-safety: none, its owner locks.
class WatchRegistry {
 public:
  using OnEvent = std::function<void(SessionId, request::WatchEvent)>;

  /// `max_bytes`: cap on the sum of the watched paths' lengths.
  explicit WatchRegistry(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// A request with a watch is about to be sent. False, and nothing changed: over the cap.
  [[nodiscard]] bool expect(RequestId id, const std::string& path, OnEvent on_event);

  // The next three return the path whose watch is to be removed at the servers, or an empty string.

  /// Its reply was ok: the servers watch the path. `mute`: but they may keep its events to
  /// themselves, since the client may not read the node.
  [[nodiscard]] std::string arm(RequestId id, bool mute = false);
  /// Its reply was not ok. `server_watches`: the servers watch the path nevertheless.
  [[nodiscard]] std::string fail(RequestId id, bool server_watches);
  /// Unwatch.
  [[nodiscard]] std::string cancel(RequestId id);

  /// The servers told an event of the path, and watch it no more. Returns the interests that it is
  /// for, in the order of their requests; each is then to be taken, and may be cancelled until.
  std::vector<RequestId> fire(const std::string& path);
  /// Empty when it was cancelled.
  OnEvent take_fired(RequestId id);

  /// The paths whose events may not come: to be asked for, as long as they are in this list.
  std::vector<std::string> mute_paths() const;

  /// Asked before the removal of the servers' watch is sent. False: somebody wants the path again;
  /// the watch then stays, and is noted as theirs.
  [[nodiscard]] bool may_remove(const std::string& path);

  /// The session ended, and with it all watches.
  void clear() noexcept;

  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t paths() const noexcept { return paths_.size(); }

 private:
  enum class State { expected, unwanted, armed };
  struct Interest {
    std::string path;
    State state = State::expected;
    OnEvent on_event;
  };
  struct Path {
    std::set<RequestId> interests;
    bool server_watches = false;
    bool mute = false;
  };

  // Returns the path whose watch is to be removed at the servers, or an empty string.
  std::string drop(RequestId id);

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::map<RequestId, Interest> interests_;
  std::unordered_map<std::string, Path> paths_;
  std::map<RequestId, OnEvent> fired_;
};

}  // namespace zklock::client
