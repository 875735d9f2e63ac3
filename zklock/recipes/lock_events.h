// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "zklock/core/seldom.h"
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

/// Whom a contender tells its events: the listener of the object that made it, if that has one.
///
/// Thread-safety: a value.
struct LockAudience {
  LockAudience() noexcept = default;
  explicit LockAudience(std::shared_ptr<LockLine> listener, std::size_t of_place = 0) noexcept
      : line(std::move(listener)), place(of_place) {}

  std::shared_ptr<LockLine> line;
  std::size_t place = 0;  ///< LockEvent::place

  explicit operator bool() const noexcept { return line != nullptr; }
  friend bool operator==(const LockAudience&, const LockAudience&) = default;
};

/// Tells one contender's events.
///
/// Thread-safety: within a Section of the engine, so that all events stand in line in the order in
/// which they happened.
class LockEvents {
 public:
  /// `path` and `owner` must outlive it.
  LockEvents(LockAudience audience, const std::string& path, const Owner& owner)
      : audience_(std::move(audience)), path_(path), owner_(owner) {}

  bool heard() const noexcept { return static_cast<bool>(*audience_); }
  void tell(LockEvent::Kind kind, FencingToken token, std::size_t position = 0) const noexcept {
    if (!heard()) return;
    try {
      audience_->line->tell({.kind = kind,
                             .path = path_,
                             .owner = owner_,
                             .token = token,
                             .position = position,
                             .place = audience_->place});
    } catch (...) {  // no thread, no memory: it is told with the next one
    }
  }

 private:
  const core::Seldom<LockAudience> audience_;
  const std::string& path_;
  const Owner& owner_;
};

}  // namespace zklock::recipes
