// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <string>
#include <utility>

#include "zklock/client/port/coordinator.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {

/// A watch that its owner requests again after each event.
///
/// | state | event                        | next |
/// |-------|------------------------------|------|
/// | free  | watch()                      | set  |
/// | set   | mark_free(), disarm(),       | free |
/// |       | forget()                     |      |
///
/// The owner calls mark_free() when the watch has fired or could not be set. After disarm() and
/// forget(), replies and events of earlier requests are ignored.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. `owner`: an object whose part this is,
/// made by std::make_shared.
class WatchSlot {
 public:
  WatchSlot() = default;
  WatchSlot(const WatchSlot&) = delete;
  WatchSlot& operator=(const WatchSlot&) = delete;

  bool is_free() const noexcept { return id_ == client::RequestId{}; }
  /// Returns a callback that calls `step` with the engine mutex held. It does nothing after
  /// disarm() or forget(), or if `owner` does not exist any more.
  template <class Owner, class Step>
  auto unless_forgotten(Owner& owner, Step step) const {
    return under_lock(owner.weak_from_this(), epoch_.guard(std::move(step)));
  }
  /// Sends a request that reads and watches the znode at `path`. Calls `answered` with its reply,
  /// and `happened` with the event, both as unless_forgotten() does.
  template <class Request, class Owner, class Answered, class Happened>
  void watch(Owner& owner, std::string path, core::SessionId session, Answered answered,
             Happened happened) {
    assert(is_free());
    auto on_event = [happened = std::move(happened)](
                        core::SessionId, client::request::WatchEvent event) { happened(event); };
    Request request{.path = std::move(path),
                    .on_event = unless_forgotten(owner, std::move(on_event))};
    id_ = owner.entry().context.coordinator().submit(
        {.operation = std::move(request), .session = session},
        unless_forgotten(owner, std::move(answered)));
  }
  void mark_free() noexcept { id_ = {}; }
  /// Forgets the watch without removing it: the watched znode is being deleted, which ends the
  /// watch.
  void forget() noexcept {
    id_ = {};
    epoch_.end();
  }
  /// Removes the watch.
  void disarm(EngineContext& context) noexcept {
    const client::RequestId id = id_;
    forget();
    if (id != client::RequestId{}) context.coordinator().unwatch(id);
  }

 private:
  client::RequestId id_{};
  Epoch epoch_;
};

}  // namespace zklock::detail
