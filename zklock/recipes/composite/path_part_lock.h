// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/hold_limit.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/ownership.h"
#include "zklock/core/queue_rule.h"
#include "zklock/engine/callback/serial_listener.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/label_metrics.h"
#include "zklock/engine/session/thread_exit.h"
#include "zklock/engine/time_limit.h"
#include "zklock/owner.h"
#include "zklock/participant.h"

namespace zklock::detail {

class ClientCore;

/// A reentrant lock as a part of a composite: a mutex, a writer, a reader or some permits. It
/// shares counts and queue with the other locks on its path. Outcomes are passed to a callback.
///
/// The callback runs within acquire(), or on the thread that handles the reply. It does not run on
/// the user's executor: a blocking acquire on the executor's only thread would never return.
///
/// Thread-safety: all members, from any thread.
class PathPartLock {
 public:
  struct Request {
    Owner owner;
    TimeLimit time_limit;
    core::CountKind kind = core::CountKind::hold;  ///< `lock` or `hold`; see count_kind()
    bool queue_again = true;                       ///< enqueue again after losing the znode
    core::HoldLimit limit = {};
    bool bound = false;  ///< see Participant::thread_bound
    std::shared_ptr<const CallTexts> texts = {};
    /// Called once, possibly before acquire() returns, with no lock held. REQUIRES: it does not
    /// block.
    std::function<void(AcquireOutcome)> done = {};
  };

  /// `lock_delay`: only exclusive access has one. `label`: of the composite, for the metrics.
  PathPartLock(ClientCore& core, const core::LockPath& path, core::QueueRule rule,
               std::chrono::milliseconds lock_delay, LockEventSink event_sink,
               std::string_view label = {});
  virtual ~PathPartLock();
  PathPartLock(const PathPartLock&) = delete;
  PathPartLock& operator=(const PathPartLock&) = delete;

  /// Requests one hold or lock() for the owner, also a nested one. The caller can cancel the call
  /// that it returns; `done` is called in that case too. Throws Error(closed). Then `done` is not
  /// called. Virtual for tests.
  virtual std::shared_ptr<PendingAcquire> acquire(Request request);
  /// Releases one lock() of `owner`. Returns false if `owner` has none.
  bool unlock(const Owner& owner);
  /// Returns the kind of the count that this part gives to a lock() or a hold of the whole.
  core::CountKind count_kind(core::CountKind kind) const noexcept;
  /// Returns the counts of `owner` if it has a valid hold, otherwise 0. A reader has the shared
  /// counts, and any other part the exclusive ones.
  int count(const Owner& owner) const;
  /// Returns whether `owner` has a valid hold with one count of any kind.
  bool holds_once(const Owner& owner) const { return ownership(owner).count() == 1; }
  /// Returns whether `owner` has a znode in the queue, and the ensemble's leader has answered the
  /// client recently.
  bool has_contact(const Owner& owner);
  /// Returns the contenders of the path; see read_participants().
  std::vector<Participant> participants(const TimeLimit& limit) const;
  /// Arranges that the locks of the calling thread are released when the thread ends.
  void unlock_at_thread_exit() { call_at_thread_exit(path_lock_); }

  EngineContext& core() noexcept { return path_lock_->core(); }
  const std::shared_ptr<PathLock>& path_lock() const noexcept { return path_lock_; }
  const std::string& path() const noexcept { return path_lock_->path().str(); }

 private:
  bool is_reader() const noexcept { return rule_.access == Access::shared; }
  core::Ownership ownership(const Owner& owner) const {
    return path_lock_->ownership(owner, rule_.access);
  }

  const std::shared_ptr<PathLock> path_lock_;
  const core::QueueRule rule_;
  const std::chrono::milliseconds lock_delay_;
  const LockEventSink event_sink_;
  LabelMetrics& metrics_;
};

}  // namespace zklock::detail
