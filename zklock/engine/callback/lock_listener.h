// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "zklock/engine/callback/borrowed_executor.h"
#include "zklock/engine/callback/serial_listener.h"
#include "zklock/lock_event.h"

namespace zklock::detail {

/// The listener of one object, with a queue of its events.
///
/// Thread-safety: all members, from any thread.
class LockListener : public SerialListener<LockEvent> {
 public:
  /// `executor`: the executor that `dispatcher` uses to run the listener; empty if there is none.
  LockListener(Call call, std::shared_ptr<client::Dispatcher> dispatcher,
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
struct LockEventSink {
  LockEventSink() noexcept = default;
  explicit LockEventSink(std::shared_ptr<LockListener> to, std::size_t part = 0) noexcept
      : listener(std::move(to)), part_index(part) {}

  std::shared_ptr<LockListener> listener;
  std::size_t part_index = 0;  ///< LockEvent::part_index

  explicit operator bool() const noexcept { return listener != nullptr; }
  friend bool operator==(const LockEventSink&, const LockEventSink&) = default;
};

}  // namespace zklock::detail
