// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "zklock/core/hold_limit.h"
#include "zklock/core/ownership.h"
#include "zklock/deadline.h"
#include "zklock/owner.h"
#include "zklock/recipes/client_core.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// One lock among several that are taken as one: what can be asked for a count, and brings it to a
/// callback. The seam between the composites and the single locks.
///
/// It calls back on the threads that bring the answers, not on the user's executor: a user who
/// waits for a composite on the executor's only thread would wait for ever.
///
/// Thread-safety: all members, from any thread.
class CompositePart {
 public:
  struct Request {
    Owner owner;
    Deadline deadline;
    core::CountKind kind = core::CountKind::hold;
    bool queue_again = true;
    core::HoldLimit limit = {};
    /// Called once, perhaps before ask() returns, with no lock held; it must not keep the thread.
    std::function<void(Outcome)> done = {};
  };

  virtual ~CompositePart() = default;

  /// Returns what calls the request off; it is answered all the same. Throws when there is no
  /// request: Error(closed), or that the system gives no more.
  virtual std::function<void()> ask(Request request) = 0;
  /// Gives back one lock() of `owner`; false if there is none.
  virtual bool unlock(const Owner& owner) = 0;
  /// Exclusive counts of a valid hold; 0 otherwise.
  virtual int count(const Owner& owner) = 0;
  /// Whether `owner` stands in the queue, of servers that have a quorum.
  virtual bool in_touch(const Owner& owner) = 0;
  /// What the calling thread locks is given back when it ends.
  virtual void unlock_at_thread_exit() = 0;

  virtual ClientCore& core() noexcept = 0;
  virtual const std::string& path() const noexcept = 0;
};

}  // namespace zklock::recipes
