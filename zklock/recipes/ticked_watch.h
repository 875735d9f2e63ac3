// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "zklock/client/coordinator.h"

namespace zklock::recipes {

class Place;

/// A watch that a place has once a tick has found it: most places go before that, and need none.
///
/// | state | event                | next                                              |
/// |-------|----------------------|---------------------------------------------------|
/// | due   | tick()               | set, by begin()                                   |
/// | set   | again()              | due                                               |
/// | both  | disarm(), forget()   | due                                               |
///
/// What was asked for before the last two is not listened to.
///
/// Thread-safety: within a Section of the engine. Part of its place.
class TickedWatch {
 public:
  explicit TickedWatch(Place& place) : place_(place) {}
  TickedWatch(const TickedWatch&) = delete;
  TickedWatch& operator=(const TickedWatch&) = delete;
  virtual ~TickedWatch() = default;

  /// Sets it, unless it is: then true.
  bool tick();
  void disarm() noexcept;
  /// What it watches is being deleted: the servers' watch goes with that, and need not be removed.
  void forget() noexcept;

 protected:
  /// Asks for the watch, by ask().
  virtual void begin() = 0;
  /// On the session of the place. `answered` is called within a Section.
  void ask(client::Operation watch, std::function<void(const client::Reply&)> answered);
  /// The same for an event.
  client::request::OnWatchEvent on_event(std::function<void(client::request::WatchEvent)> happened);
  /// There is no watch: another is asked for at the next tick.
  void again() noexcept { id_ = {}; }

  Place& place_;

 private:
  client::RequestId id_{};
  std::uint64_t round_ = 0;
};

}  // namespace zklock::recipes
