// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <functional>
#include <memory>

#include "zklock/client/port/coordinator.h"
#include "zklock/engine/epoch.h"
#include "zklock/engine/path_context.h"

namespace zklock::detail {

/// A watch that its owner requests again after each event.
///
/// | state | event                        | next |
/// |-------|------------------------------|------|
/// | free  | submit()                     | set  |
/// | set   | mark_free(), disarm(),       | free |
/// |       | forget()                     |      |
///
/// The owner calls mark_free() when the watch has fired or could not be set. After disarm() and
/// forget(), replies and events of earlier requests are ignored.
///
/// Thread-safety: none. REQUIRES: path_mutex is held; this object exists while `owner` does.
class WatchSlot {
 public:
  WatchSlot() = default;
  WatchSlot(const WatchSlot&) = delete;
  WatchSlot& operator=(const WatchSlot&) = delete;

  bool is_free() const noexcept ZKLOCK_REQUIRES(path_mutex) { return id_ == client::RequestId{}; }
  /// Sends `watch`, a request that sets a watch. Calls `answered` with its reply and with
  /// path_mutex held.
  void submit(std::weak_ptr<void> owner, PathContext& path, client::Operation watch,
              core::SessionId session, std::function<void(const client::Reply&)> answered)
      ZKLOCK_REQUIRES(path_mutex) {
    assert(is_free());
    id_ = path.core().coordinator().submit(
        {.operation = std::move(watch), .session = session},
        under_lock(std::move(owner), path, epoch_.guard(std::move(answered))));
  }
  /// Returns an event handler that calls `happened` with path_mutex held.
  client::request::OnWatchEvent on_event(std::weak_ptr<void> owner, PathContext& path,
                                         std::function<void(client::request::WatchEvent)> happened)
      ZKLOCK_REQUIRES(path_mutex) {
    return under_lock(
        std::move(owner), path,
        epoch_.guard([happened = std::move(happened)](
                         core::SessionId, client::request::WatchEvent event) { happened(event); }));
  }
  /// Records that no watch is set.
  void mark_free() noexcept ZKLOCK_REQUIRES(path_mutex) { id_ = {}; }
  /// Forgets the watch without removing it: the watched znode is being deleted, which ends the
  /// watch.
  void forget() noexcept ZKLOCK_REQUIRES(path_mutex) {
    id_ = {};
    epoch_.end();
  }
  /// Removes the watch.
  void disarm(PathContext& path) noexcept ZKLOCK_REQUIRES(path_mutex) {
    const client::RequestId id = id_;
    forget();
    if (id != client::RequestId{}) path.core().coordinator().unwatch(id);
  }

 private:
  client::RequestId id_ ZKLOCK_GUARDED_BY(path_mutex){};
  Epoch epoch_ ZKLOCK_GUARDED_BY(path_mutex);
};

}  // namespace zklock::detail
