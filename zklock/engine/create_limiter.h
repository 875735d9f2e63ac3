// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {

/// Limits how many lock nodes of one lock path have their create in flight at a time. The other
/// lock nodes wait in a line, the oldest first.
///
/// Thousands of lock nodes can arrive in one burst. Without the limit, each would queue its create
/// in the coordinator, which takes much more memory than an entry of the line. And a release, or a
/// request for another path, would wait until all of these were sent. The coordinator cannot limit
/// them: it sends requests in order, and does not know which of them may be postponed.
///
/// A lock node that was let through has a slot: it may send its create, and may repeat it. It
/// returns the slot when it has its znode, has failed, or has an unknown outcome. If it has to
/// create a znode again later, it waits in the line again, ahead of all newer lock nodes.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. The path lock owns this object.
class CreateLimiter {
 public:
  /// A lock node, as the limiter sees it.
  class Waiter {
   public:
    /// Returns a number that is higher for each newer lock node.
    virtual std::uint64_t number() const noexcept = 0;
    /// Sends the create.
    virtual void let_through() = 0;

   protected:
    ~Waiter() = default;
  };

  /// `at_once`: the limit, at least 1. EngineContext::kMostCreatesAtOnce is the default.
  explicit CreateLimiter(std::size_t at_once) : at_once_(at_once) {}
  CreateLimiter(const CreateLimiter&) = delete;
  CreateLimiter& operator=(const CreateLimiter&) = delete;

  /// Returns true if the lock node may send its create now. Otherwise let_through() is called when
  /// the limit permits it.
  [[nodiscard]] bool enter(const std::shared_ptr<Waiter>& waiter);
  /// A lock node returns its slot, even if it could not send. Lets waiting lock nodes through.
  void return_slot();
  /// Removes `waiter` from the line. Returns false if it is not in the line.
  bool withdraw(const Waiter& waiter);
  /// Empties the line: no waiting lock node is let through any more.
  void close() noexcept { line_.clear(); }

 private:
  using Waiters = std::deque<std::shared_ptr<Waiter>>;
  Waiters::iterator where(const Waiter& waiter);

  const std::size_t at_once_;
  std::size_t in_flight_ = 0;
  /// Waiting lock nodes, by their numbers. Empty while fewer than at_once_ are in flight.
  Waiters line_;
};

}  // namespace zklock::detail
