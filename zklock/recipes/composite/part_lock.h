// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "zklock/core/hold_limit.h"
#include "zklock/core/ownership.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/time_limit.h"
#include "zklock/owner.h"

namespace zklock::detail {

/// One lock of several that a composite acquires together. The interface between the composites and
/// the single locks. Outcomes are passed to a callback.
///
/// The callback runs within acquire(), or on the thread that handles the reply. It does not run on
/// the user's executor: a blocking acquire on the executor's only thread would never return.
///
/// Thread-safety: all members, from any thread.
class PartLock {
 public:
  struct Request {
    Owner owner;
    TimeLimit time_limit;
    core::CountKind kind = core::CountKind::hold;
    bool queue_again = true;  ///< enqueue again after losing the znode
    core::HoldLimit limit = {};
    /// Called once, possibly before acquire() returns, with no lock held. REQUIRES: it does not
    /// block.
    std::function<void(AcquireOutcome)> done = {};
  };

  virtual ~PartLock() = default;

  /// Requests one hold or lock() for the owner, also a nested one. The caller can cancel the call
  /// that it returns; `done` is called in that case too. Throws Error(closed), std::bad_alloc, or
  /// std::system_error if the system has no thread or file descriptor left. Then `done` is not
  /// called.
  virtual std::shared_ptr<PendingAcquire> acquire(Request request) = 0;
  /// Releases one lock() of `owner`. Returns false if `owner` has none.
  virtual bool unlock(const Owner& owner) = 0;
  /// Returns the exclusive counts of `owner` if it has a valid hold, otherwise 0.
  virtual int count(const Owner& owner) = 0;
  /// Returns whether `owner` has a znode in the queue, and the leader of the client's server has
  /// answered recently.
  virtual bool has_contact(const Owner& owner) = 0;
  /// Arranges that the locks of the calling thread are released when the thread ends.
  virtual void unlock_at_thread_exit() = 0;

  virtual EngineContext& core() noexcept = 0;
  virtual const std::string& path() const noexcept = 0;
};

}  // namespace zklock::detail
