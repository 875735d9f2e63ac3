// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "zklock/client/port/coordinator.h"

namespace zklock::detail {

class LockNode;

/// A watch of a lock node that is requested at the next tick of the session. Most lock nodes end
/// before that, and need no watch.
///
/// | state | event                | next                                              |
/// |-------|----------------------|---------------------------------------------------|
/// | due   | tick()               | set, by begin()                                   |
/// | set   | again()              | due                                               |
/// | both  | disarm(), forget()   | due                                               |
///
/// After disarm() and forget(), replies and events of earlier requests are ignored.
///
/// Thread-safety: none. REQUIRES: within a Section of the path lock. Part of its lock node.
class TickedWatch {
 public:
  explicit TickedWatch(LockNode& lock_node) : node_(lock_node) {}
  TickedWatch(const TickedWatch&) = delete;
  TickedWatch& operator=(const TickedWatch&) = delete;
  virtual ~TickedWatch() = default;

  /// Sets the watch. Returns false if it was set already.
  bool tick();
  /// Removes the watch.
  void disarm() noexcept;
  /// Forgets the watch without removing it: the watched znode is being deleted, which ends the
  /// watch.
  void forget() noexcept;

 protected:
  /// Requests the watch, by ask().
  virtual void begin() = 0;
  /// Sends a request with a watch, on the session of the lock node. `answered` is called within a
  /// Section.
  void ask(client::Operation watch, std::function<void(const client::Reply&)> answered);
  /// Returns an event handler that calls `happened` within a Section.
  client::request::OnWatchEvent on_event(std::function<void(client::request::WatchEvent)> happened);
  /// Records that no watch is set: the next tick requests it.
  void again() noexcept { id_ = {}; }

  LockNode& node_;

 private:
  client::RequestId id_{};
  std::uint64_t round_ = 0;
};

}  // namespace zklock::detail
