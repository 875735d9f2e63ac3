// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <functional>
#include <memory>

#include "zklock/client/port/coordinator.h"
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
/// Thread-safety: none. REQUIRES: the engine mutex is held. `owner`: an object whose part this is.
class WatchSlot {
 public:
  WatchSlot() = default;
  WatchSlot(const WatchSlot&) = delete;
  WatchSlot& operator=(const WatchSlot&) = delete;

  bool is_free() const noexcept { return id_ == client::RequestId{}; }
  /// Returns a callback that calls `step` with the engine mutex held. It does nothing after
  /// disarm() or forget().
  template <class Step>
  auto unless_forgotten(std::weak_ptr<void> owner, PathContext& path, Step step) const {
    return under_lock(std::move(owner), path, epoch_.guard(std::move(step)));
  }
  /// Sends `watch`, a request that sets a watch. Calls `answered` with its reply and with
  /// the engine mutex held.
  void submit(std::weak_ptr<void> owner, PathContext& path, client::Operation watch,
              core::SessionId session, std::function<void(const client::Reply&)> answered) {
    assert(is_free());
    id_ = path.core().coordinator().submit(
        {.operation = std::move(watch), .session = session},
        unless_forgotten(std::move(owner), path, std::move(answered)));
  }
  /// Returns an event handler that calls `happened` with the engine mutex held.
  client::request::OnWatchEvent on_event(
      std::weak_ptr<void> owner, PathContext& path,
      std::function<void(client::request::WatchEvent)> happened) const {
    return unless_forgotten(
        std::move(owner), path,
        [happened = std::move(happened)](core::SessionId, client::request::WatchEvent event) {
          happened(event);
        });
  }
  /// Records that no watch is set.
  void mark_free() noexcept { id_ = {}; }
  /// Forgets the watch without removing it: the watched znode is being deleted, which ends the
  /// watch.
  void forget() noexcept {
    id_ = {};
    epoch_.end();
  }
  /// Removes the watch.
  void disarm(PathContext& path) noexcept {
    const client::RequestId id = id_;
    forget();
    if (id != client::RequestId{}) path.core().coordinator().unwatch(id);
  }

 private:
  client::RequestId id_{};
  Epoch epoch_;
};

}  // namespace zklock::detail
