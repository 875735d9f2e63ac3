// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "zklock/awaitable.h"
#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/fencing_token.h"
#include "zklock/guarded_transaction.h"
#include "zklock/hold.h"
#include "zklock/lease_clock.h"

namespace zklock {

namespace detail {
class Contender;
class LeadershipState;
}  // namespace detail

/// One leadership of this process, from its grant to its end. LeaderLatch and LeaderElection
/// provide it. Copies refer to the same leadership. A copy does not prolong the leadership.
///
/// When end_token() is stopped, state() returns `lost`, valid_until() returns time_point::min(),
/// and proclaim() throws Error(lock_lost). After LeaderElection::interrupt(), the hold lives until
/// the function returns. Until then, a GuardedTransaction that was made before can still be
/// committed. Check end_token() first if that matters.
///
/// Thread-safety: a value; all members may be called by any thread.
class ZKLOCK_EXPORT Leadership {
 public:
  /// Creates an ended leadership. Its token is lower than every real one.
  Leadership() noexcept = default;

  /// Returns the fencing token, which orders the leaderships of one path; see FencingToken. Does
  /// not block.
  [[nodiscard]] FencingToken token() const noexcept;

  /// Returns `lost` once the lease has expired, even at the first call after a pause of the
  /// process. Also returns `lost` once the leadership was interrupted, withdrawn or closed, even if
  /// the election's function still runs. Otherwise returns what Hold::state() returns. The
  /// leadership may be lost between the return and the caller's next action. A leadership that
  /// follows a mutex of this client can be `suspended` from the start; see Hold::release(). Reads
  /// LeaseClock; does not block and sends nothing.
  [[nodiscard]] HoldState state() const noexcept;

  /// Returns whether state() is `held` or `suspended`. Does not block; sends nothing.
  [[nodiscard]] bool is_valid() const noexcept { return state() != HoldState::lost; }

  /// Returns a stop token that is stopped once, when the leadership is lost, interrupted,
  /// withdrawn, closed or released. After a loss it is stopped before another client can lead;
  /// Hold::loss_token() states the exceptions. After a loss, its callbacks run where those of
  /// Hold::loss_token() run. Otherwise they run on the thread that ends the leadership. If the
  /// leadership has ended, the returned token is already stopped.
  [[nodiscard]] std::stop_token end_token() const noexcept;

  /// Returns why the leadership was lost; see Hold::loss_reason(). The reason stays after the end
  /// of the leadership. Returns std::nullopt while the leadership is valid, and if it ended without
  /// a loss. Reads LeaseClock; does not block and sends nothing.
  [[nodiscard]] std::optional<LossReason> loss_reason() const noexcept;

  /// Returns a stop token that is stopped when request_release() requests the end of the
  /// leadership. The program may then end the leadership or continue; see
  /// Hold::release_request_token(). For a default-constructed Leadership, the returned token can
  /// never be stopped.
  [[nodiscard]] std::stop_token release_request_token() const noexcept;

  /// Returns the lease expiry: the leadership is valid until then if no further reply arrives.
  /// Returns LeaseClock::time_point::min() if the leadership has ended.
  [[nodiscard]] LeaseClock::time_point valid_until() const noexcept;

  /// Returns the full path of the lock znode, below the chroot; empty for a default-constructed
  /// Leadership. The path does not change when the leadership ends. No other candidate leads before
  /// the znode is deleted, so a `check` operation in your own ZooKeeper transaction may name it.
  [[nodiscard]] std::string node() const;

  /// Writes `value` (any bytes) for the ElectionObservers of the path. They receive it until this
  /// leadership ends or proclaims another value. An observer never takes a former leader's value
  /// for a value of this leader. Values are written in the order of the calls. If another client
  /// deletes the znode of the value meanwhile, a call that is not the last one may write nothing,
  /// and throw no_node.
  ///
  /// The value is written only while the lock znode exists, which the server checks in the same
  /// multi. If another candidate has begun to lead while the leader was paused or disconnected,
  /// nothing changes. Blocks for one round trip. While the client is disconnected, waits until it
  /// is connected, the deadline passes or the leadership is lost. An interruption point of
  /// Boost.Thread. After an interruption the outcome is unknown.
  ///
  /// The value is stored in a znode beside the lock znode. That znode is deleted with the lock
  /// znode, or with the session. It has the ACL that ClientOptions::acl gives to the parents of
  /// locks. A client with WRITE permission by that ACL can also write the value.
  ///
  /// Throws: the Errors in the table of GuardedTransaction, which says what was written. The code
  /// lock_lost also means that the leadership had ended, or was default-constructed. The code
  /// too_large means that the value exceeds about 1 MB. The code too_many_nodes means that
  /// the znode would exceed ClientOptions::max_node_bytes.
  /// Source: etcd's concurrency.Election.Proclaim().
  void proclaim(std::string value, Deadline deadline = Deadline::never()) const;

  /// Do what proclaim() does, without blocking. The client's executor calls `handler` exactly once
  /// with the outcome, and a coroutine resumes there. A future becomes ready exactly once. All
  /// Errors of proclaim() are outcomes, including lock_lost if the leadership has ended.
  /// Throws, only in the form with a handler: Error(closed | forked), because there is no executor
  /// any more. A default-constructed Leadership has no executor either, and throws
  /// Error(lock_lost).
  void async_proclaim(std::string value, Deadline deadline, CommitHandler handler) const;
  void async_proclaim(std::string value, CommitHandler handler) const {
    async_proclaim(std::move(value), Deadline::never(), std::move(handler));
  }
  [[nodiscard]] std::future<void> async_proclaim(std::string value,
                                                 Deadline deadline = Deadline::never()) const;
  BasicAwaitable<void> co_proclaim(std::string value, Deadline deadline = Deadline::never()) const;

 private:
  friend class detail::LeadershipState;
  friend class GuardedTransaction;
  explicit Leadership(std::shared_ptr<const detail::LeadershipState> leadership_state) noexcept
      : leadership_state_(std::move(leadership_state)) {}
  ZKLOCK_HIDDEN std::shared_ptr<detail::Contender> leader(const char* operation) const;

  std::shared_ptr<const detail::LeadershipState> leadership_state_;
};

}  // namespace zklock
