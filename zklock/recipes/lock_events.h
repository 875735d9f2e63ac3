// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "zklock/lock_event.h"
#include "zklock/recipes/serial_listener.h"

namespace zklock::recipes {

using LockLine = SerialListener<LockEvent>;

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
