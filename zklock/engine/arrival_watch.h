// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "zklock/client/port/coordinator.h"
#include "zklock/engine/path_context.h"
#include "zklock/engine/watch_slot.h"

namespace zklock::detail {

/// The watch on the children of the path, which shows new contenders while a lock node is idle. It
/// is not removed when the next contender is granted in that lock node.
///
/// | state      | event                          | next       | calls     |
/// |------------|--------------------------------|------------|-----------|
/// | off        | look()                         | requesting |           |
/// | requesting | the children were listed       | armed      | listed()  |
/// |            | the request failed             | off        | listed()  |
/// | armed      | a child was created or deleted | off        | arrived() |
/// | any        | end()                          | off        |           |
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. Part of its line.
class ArrivalWatch {
 public:
  /// Called with the engine mutex held.
  struct Handlers {
    std::function<void(const client::Reply&)> listed;
    std::function<void()> arrived;
  };

  explicit ArrivalWatch(PathContext& path) : path_(path) {}

  /// Lists the children and sets the watch, on `session`. Does nothing unless the watch is off.
  void look(std::weak_ptr<void> owner, core::SessionId session, Handlers handlers);
  /// Returns whether the watch is armed: the children were listed, and no event has arrived since.
  bool armed() const noexcept { return armed_; }
  /// Returns whether the watch is being requested.
  bool is_requesting() const noexcept { return !armed_ && !slot_.is_free(); }
  void end() noexcept;

 private:
  PathContext& path_;
  WatchSlot slot_;
  bool armed_ = false;  ///< false: off or requesting
};

}  // namespace zklock::detail
