// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "zklock/lock_event.h"
#include "zklock/recipes/borrowed_executor.h"
#include "zklock/recipes/serial_listener.h"

namespace zklock::recipes {

/// The listener of one object, with a queue of its events.
///
/// Thread-safety: all members, from any thread.
class LockLine : public SerialListener<LockEvent> {
 public:
  /// `executor`: the one on which `dispatcher` runs the listener.
  LockLine(Call call, std::shared_ptr<client::Dispatcher> dispatcher,
           BorrowedExecutor executor = BorrowedExecutor({}))
      : SerialListener(std::move(call), std::move(dispatcher)), executor_(std::move(executor)) {}

  /// Called when the object is destroyed. Calls SerialListener::remove(); after it returns, the
  /// executor is not called either.
  void remove() {
    SerialListener::remove();
    executor_.give_back();
  }

 private:
  const BorrowedExecutor executor_;
};

/// Receiver of a contender's events: the listener of the object that created the contender. Empty
/// if the object has none.
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

}  // namespace zklock::recipes
