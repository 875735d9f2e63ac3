// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "zklock/lock_event.h"
#include "zklock/recipes/borrowed_executor.h"
#include "zklock/recipes/serial_listener.h"

namespace zklock::recipes {

/// The listener of one object, on what that has for it.
///
/// Thread-safety: all members, from any thread.
class LockLine : public SerialListener<LockEvent> {
 public:
  /// `executor`: on which the dispatcher runs it.
  LockLine(Call call, std::shared_ptr<client::Dispatcher> dispatcher,
           BorrowedExecutor executor = BorrowedExecutor({}))
      : SerialListener(std::move(call), std::move(dispatcher)), executor_(std::move(executor)) {}

  /// The object goes: as SerialListener::remove(), and the executor is called no more.
  void remove() {
    SerialListener::remove();
    executor_.give_back();
  }

 private:
  const BorrowedExecutor executor_;
};

/// Tells one contender's events to the listener of the object that made it, if there is one.
///
/// Thread-safety: within a Section of the engine, so that all events stand in line in the order in
/// which they happened; heard() from any thread.
class LockEvents {
 public:
  /// `line` may be null.
  LockEvents(std::shared_ptr<LockLine> line, std::string path, Owner owner)
      : line_(std::move(line)), path_(std::move(path)), owner_(owner) {}

  bool heard() const noexcept { return line_ != nullptr; }
  void tell(LockEvent::Kind kind, FencingToken token, std::size_t position = 0) const noexcept {
    if (!line_) return;
    try {
      line_->tell(
          {.kind = kind, .path = path_, .owner = owner_, .token = token, .position = position});
    } catch (...) {  // no thread, no memory: it is told with the next one
    }
  }

 private:
  const std::shared_ptr<LockLine> line_;
  const std::string path_;
  const Owner owner_;
};

}  // namespace zklock::recipes
