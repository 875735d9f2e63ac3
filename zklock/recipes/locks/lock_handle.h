// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/client.h"
#include "zklock/engine/callback/blocking_call.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/session/label_metrics.h"
#include "zklock/engine/session/process.h"
#include "zklock/error.h"
#include "zklock/lock_options.h"
#include "zklock/participant.h"

namespace zklock::detail {

/// The implementation of one public lock object on one path, for all such classes: it acquires and
/// releases at one path, and makes queries. If the public object is destroyed while another thread
/// waits in an acquire, that call keeps this object alive.
///
/// Thread-safety: any thread may call any member.
class LockHandle : public std::enable_shared_from_this<LockHandle> {
 public:
  /// The kind of an acquire: the parameters by which acquires of the lock classes differ.
  struct Kind {
    core::QueueRule rule = core::QueueRule::mutex();
    core::Lazy<core::QueueRule> gate = {};  ///< see AcquireRequest::gate
    /// Calls of equal owners nest. If false, each call has an owner of its own.
    bool nests = true;
    /// If set, the acquire fails with this error: its arguments were invalid.
    std::optional<Error> refusal = {};
  };

  /// Throws Error(invalid_path | invalid_option | closed | forked).
  static std::shared_ptr<LockHandle> make(Client& client, std::string path,
                                          const CohortOptions& options);
  LockHandle(std::shared_ptr<PathLock> path_lock, const CohortOptions& options);
  LockHandle(const LockHandle&) = delete;
  LockHandle& operator=(const LockHandle&) = delete;
  ~LockHandle();
  /// Returns the empty hold of a call that was not granted at this path, for Hold::blocked_by().
  static Hold refused(std::shared_ptr<PathLock> path_lock) noexcept {
    return Hold(std::move(path_lock));
  }
  /// Ends the waiting calls with Error(closed): the public object is being destroyed.
  static void object_destroyed(std::shared_ptr<LockHandle> lock_handle) noexcept;
  bool is_destroyed() const noexcept { return *destroyed_; }

  PathLock& path_lock() const noexcept { return *path_lock_; }
  const std::string& path() const noexcept { return path_lock_->path().str(); }

  /// Acquires for the calling thread: lock() and the try_lock functions. Returns false if the lock
  /// was not granted before the deadline or a stop request; then its contender is withdrawn.
  bool lock(const Kind& kind, Deadline deadline, const std::stop_token& stop);
  /// Releases one count of the calling thread. Throws Error(not_owner | forked).
  void unlock(core::CountKind count_kind, const char* operation);

  /// Blocks until the end of the acquire. Without an owner in `options`, the calling thread is the
  /// owner.
  Hold acquire(const Kind& kind, const AcquireOptions& options);
  /// Begins an acquire. Without an owner in `options`, the owner is a new one. Throws only
  /// Error(closed | forked). Every other Error goes to the handler, even invalid_option.
  void async_acquire(const Kind& kind, const AcquireOptions& options, AcquireHandler handler);
  std::future<Hold> async_acquire(const Kind& kind, const AcquireOptions& options);
  Awaitable co_acquire(Kind kind, AcquireOptions options);

  /// Returns the counts of the calling thread.
  core::Ownership ownership() const;
  /// Returns the time limit of a public call that begins now. Reads the clock.
  TimeLimit time_limit(Deadline deadline) const {
    return {deadline, path_lock_->context().scheduler().now()};
  }
  /// See read_participants() and read_position(). Without an owner, the calling thread is meant.
  std::vector<Participant> participants(Deadline deadline) const {
    return participants(time_limit(deadline), 0);
  }
  std::vector<Participant> participants(const TimeLimit& limit, std::int32_t total_permits) const;
  std::optional<std::size_t> queue_position(std::optional<Owner> owner, Deadline deadline) const;

 private:
  /// Throws Error(invalid_option).
  void check(const Kind& kind, const AcquireOptions& options) const;
  AcquireRequest request(const Kind& kind, Owner owner, const AcquireOptions& options,
                         core::CountKind count_kind) const;
  /// Does the work of a lock() for which PathLock::lock_nested() returned false.
  bool lock_by_acquire(const Kind& kind, Deadline deadline, const std::stop_token& stop);
  /// Returns the request of a blocking call. The outcome of the request is passed to `end`. Throws
  /// Error(closed | forked | invalid_option).
  AcquireRequest blocking_request(const Kind& kind, Owner owner, const AcquireOptions& options,
                                  core::CountKind count_kind,
                                  BlockingCall<AcquireOutcome>& end) const;
  /// Begins an acquire. Its end goes to `end`, as an exception and a hold; see refused().
  template <class End>
  void start(const Kind& kind, const AcquireOptions& options, End end);

  std::shared_ptr<PathLock> path_lock_;  ///< constant until the destructor
  const bool queue_again_;               ///< after the loss of a waiting znode
  const core::HoldLimit limit_;
  const std::chrono::milliseconds lock_delay_;
  const core::CohortPolicy cohort_policy_;
  const std::shared_ptr<LockEventQueue> listener_;  ///< null without a listener
  const std::shared_ptr<const CallTexts> texts_;    ///< null without a label
  LabelMetrics& metrics_;                           ///< of the object's label
  const std::shared_ptr<std::atomic<bool>> destroyed_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace zklock::detail
