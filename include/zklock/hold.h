// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/fencing_token.h"
#include "zklock/lease_clock.h"
#include "zklock/lock_state.h"
#include "zklock/owner.h"

namespace zklock {

namespace detail {
class Contender;
class LockHandle;
class PathLock;
enum class CountKind;
}  // namespace detail

/// The validity of a hold at this moment. A released hold is `lost`, too.
///
/// | state     | meaning                                                 | next state      |
/// |-----------|---------------------------------------------------------|-----------------|
/// | held      | connected, the lease is valid: no conflicting hold      | suspended, lost |
/// |           | exists                                                  |                 |
/// | suspended | disconnected, the lease is valid: no conflicting hold   | held, lost      |
/// |           | exists                                                  |                 |
/// | lost      | the lease expired, the session ended, the znode was     | (final)         |
/// |           | deleted, the maximum hold time ended, the release was   |                 |
/// |           | forced, the client was closed, or the hold was released |                 |
///
/// The state is computed when it is queried. So after a pause of the process, the first query
/// already returns `lost` if the lease ended meanwhile. If another program deletes the znode or
/// ends the session, the next contender can be granted before this hold turns `lost`. The guide
/// zklock/guides/guarantees.md states when exclusion (G2) and a timely `lost` (G3) are guaranteed.
enum class HoldState { held, suspended, lost };

/// Returns the name of the enumerator, for example "held"; "unknown" for any other value.
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(HoldState state) noexcept;
/// Writes to_string().
ZKLOCK_EXPORT std::ostream& operator<<(std::ostream& out, HoldState state);

/// The cause of the loss of a hold.
///
/// | reason          | cause                                                              |
/// |-----------------|--------------------------------------------------------------------|
/// | lease_expired   | the quorum did not answer in time                                  |
/// | session_expired | the session ended                                                  |
/// | node_deleted    | another program deleted the znode, or the path was recreated       |
/// | max_hold        | the maximum hold time ended                                        |
/// | forced          | request_release() forced the release                               |
/// | closed          | the client was closed                                              |
///
/// When a session ends, a server may first report that the znode was deleted. Then the reason is
/// `node_deleted`.
enum class LossReason { lease_expired, session_expired, node_deleted, max_hold, forced, closed };

/// Returns the name of the enumerator, for example "lease_expired"; "unknown" for any other value.
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(LossReason reason) noexcept;
/// Writes to_string().
ZKLOCK_EXPORT std::ostream& operator<<(std::ostream& out, LossReason reason);

/// The result of one acquire(), async_acquire() or co_acquire(). The destructor releases it.
///
/// If calls of one owner nest, its Holds and lock() calls share one grant, with its znode, its
/// fencing token and its loss. Each of these calls adds one count to the grant. The lock is
/// released when all counts are released. A Hold of a Semaphore has the permits of one call. A Hold
/// may outlive the lock object: the destructor of that object does not affect it. It may also
/// outlive its client: then it is `lost`.
/// Source: Burrows, "The Chubby lock service", 2.8, for a lease that outlasts its connection.
/// Source: Gray and Cheriton, "Leases", for the end of a lease by the holder's own clock.
///
/// Thread-safety: any thread may use a Hold, even one that did not acquire it. Several threads may
/// call only the const members of one Hold object at the same time.
class [[nodiscard]] ZKLOCK_EXPORT Hold {
 public:
  /// Creates an empty Hold: operator bool returns false. All members may be called: state() returns
  /// `lost`, token() is lower than the token of any grant, and release() does nothing.
  Hold() noexcept = default;
  Hold(Hold&& other) noexcept;
  Hold& operator=(Hold&& other) noexcept;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  /// Calls release().
  ~Hold();

  /// Returns true until the Hold is released or moved from, even if the hold is lost. Returns
  /// false for an empty Hold. Does not block. state() returns the validity.
  explicit operator bool() const noexcept { return contender_ != nullptr; }

  /// Returns the fencing token of this grant. Nested Holds have the same token. Does not block.
  [[nodiscard]] FencingToken token() const noexcept;

  /// Returns the state at this moment, by LeaseClock. Once it is `lost`, it stays `lost`. After a
  /// pause of the process (SIGSTOP, a sleeping machine) even the first call takes the pause into
  /// account. Does not block; sends nothing.
  ///
  /// The process can be paused between this call and an action that depends on it. To protect that
  /// action, send token() with it.
  [[nodiscard]] HoldState state() const noexcept;

  /// Returns whether state() is `held` or `suspended`: no conflicting hold exists at this moment.
  /// Does not block; sends nothing.
  [[nodiscard]] bool is_valid() const noexcept { return state() != HoldState::lost; }

  /// Returns a stop token that is stopped once, when the hold is lost. While the process runs, it
  /// is stopped before another client can be granted the lock. If the process was paused, the token
  /// is stopped after the pause. If another program deletes the znode or ends the session, the
  /// token can be stopped after the next grant; see HoldState. release() does not stop this token.
  /// If the hold is lost already, or this object is empty, the returned token is stopped.
  ///
  /// Callbacks registered on this token or on release_request_token() run on threads of the client
  /// that run nothing else. A callback that blocks delays no heartbeat. It delays the loss
  /// callbacks of other holds only if 32 callbacks block at once. If the session continues, the
  /// client deletes the znode of the lost hold when the callbacks have returned, at the latest
  /// after ClientOptions::loss_callback_limit. Until then every new contender is behind that znode,
  /// even those of this client.
  [[nodiscard]] std::stop_token loss_token() const noexcept;

  /// Returns why the hold was lost. If several causes follow each other, returns the one that was
  /// found first. Returns std::nullopt while the hold is valid, after a release, for an empty Hold,
  /// and in a fork()ed child. Reads LeaseClock, as state() does. Does not block; sends nothing.
  [[nodiscard]] std::optional<LossReason> loss_reason() const noexcept;

  /// Returns the time until which the hold is valid if no further reply arrives; time_point::min()
  /// if it is lost. Heartbeats (several per session timeout) extend it, up to the end of the
  /// maximum hold time. A reconnect with a shorter session timeout can shorten it.
  [[nodiscard]] LeaseClock::time_point valid_until() const noexcept;

  /// Restarts the maximum hold time now; the lease does not change. `length` becomes the new
  /// maximum hold time, also for later calls of renew(). All Holds of the grant share it. If no
  /// maximum hold time is set, renew() changes nothing, and renew(length) sets it. Returns true if
  /// the hold is valid. Returns false, and changes nothing, if the hold is lost, released or empty.
  /// Sends nothing; may block on a mutex for microseconds.
  /// Throws: Error(invalid_option) if `length` is not positive.
  [[nodiscard]] bool renew();
  [[nodiscard]] bool renew(std::chrono::milliseconds length);

  /// Returns a stop token that is stopped when request_release() requests the release. The program
  /// may then release the lock, or continue. The stop token stays stopped. Its callbacks run where
  /// those of loss_token() run. If this object is empty, the returned token can never be stopped.
  [[nodiscard]] std::stop_token release_request_token() const noexcept;

  /// Returns the full path of the lock znode, below the chroot; empty for an empty Hold. The path
  /// changes at most once: when a SharedMutex is downgraded. Client::flush() waits for that change.
  /// Sends nothing; may block on a mutex for microseconds.
  ///
  /// Do not check this path in your own ZooKeeper transaction; use expose_node().
  [[nodiscard]] std::string node() const;

  /// Returns node(), and makes it safe for a `check` operation in your own ZooKeeper transaction.
  /// Without this call, release() can grant the next contender of this client before the znode is
  /// deleted. A transaction with the check could then succeed after that grant. After this call, a
  /// conflicting contender with another znode is granted only when this znode is deleted. Then the
  /// check fails. A GuardedTransaction needs no such call.
  ///
  /// Exception: with CohortOptions::max_local_handoffs or keep_idle_for, successive holds of one
  /// client can have one path. Then the check does not distinguish them.
  ///
  /// Cost: after the release, the next contender of this client waits for the delete. Blocks as
  /// node() does.
  [[nodiscard]] std::string expose_node() const;

  /// Returns the number of permits for a hold of a Semaphore, 1 for a hold of a lock, and 0 for an
  /// empty Hold.
  [[nodiscard]] int permits() const noexcept;

  /// Returns the owner of the hold; the calling thread for an empty Hold.
  [[nodiscard]] Owner owner() const noexcept;

  /// Reads the state of the lock that an acquiring call did not acquire: its first holder, and how
  /// many contenders hold and wait. Use it only on the empty Hold that an acquiring call returned
  /// or passed to its handler. Returns an empty LockState for every other Hold, after release(),
  /// and if the state cannot be read before the deadline.
  ///
  /// The state is that of the server that the client is connected to, which may lag. It includes
  /// the call's own contender until the znode of that contender is deleted. Until then, that
  /// contender is shown as waiting, or as the holder if no other contender is ahead of it. If the
  /// lock is handed off very often, only the name of the holder's znode may be known.
  ///
  /// Sends getChildren and getData, and blocks for two round trips; for three if the lock is a
  /// semaphore with a SharedCount. If the holder releases meanwhile, reads again, at most five
  /// times in all. Throws no Error. An interruption point of Boost.Thread. In a handler, it
  /// occupies a thread of the executor meanwhile.
  /// @code
  ///   Hold hold = mutex.acquire(5s);
  ///   if (!hold) std::cerr << to_string(hold.blocked_by()) << std::endl;
  /// @endcode
  [[nodiscard]] LockState blocked_by(Deadline deadline = std::chrono::seconds(1)) const;

  /// Releases the count, and leaves this object empty: state() then returns `lost`. It does not
  /// stop the stop tokens that loss_token() returned before. When the owner's last count is
  /// released, the lock is released. The client deletes the znode in the background, and announces
  /// the release (see AclPolicy) if a contender may wait. It repeats the delete until the ensemble
  /// confirms it or the session ends. With CohortOptions::max_local_handoffs and keep_idle_for the
  /// client may retain the znode instead. After a loss release() reports no error. Does not block;
  /// any thread may call it. Client::flush() waits for the confirmation.
  ///
  /// If the next contender belongs to this client, it is usually granted at once, without the
  /// confirmation. That applies to the hold of a ReentrantMutex or Mutex, or of a mutex in a
  /// MultiMutex or QuorumMutex. The contender can also be a candidate of an election. No option is
  /// needed: unlike in a local hand-off (CohortOptions), each hold has its own znode. It happens
  /// even while disconnected, if the lease is valid. Then the new hold or leadership is `suspended`
  /// from the start.
  ///
  /// In three cases the znode is deleted before the next grant:
  /// - A commit of a GuardedTransaction is unanswered or has an unknown outcome.
  /// - expose_node() was called. A contender that shares the znode is still granted at once.
  /// - The hold has a lock delay. A contender that shares the znode is still granted at once.
  void release() noexcept;

 private:
  friend class detail::Contender;
  friend class detail::LockHandle;
  friend class GuardedTransaction;
  ZKLOCK_HIDDEN Hold(std::shared_ptr<detail::Contender> contender, detail::CountKind kind) noexcept;
  ZKLOCK_HIDDEN explicit Hold(std::shared_ptr<detail::PathLock> refused) noexcept;

  std::shared_ptr<detail::Contender> contender_;
  detail::CountKind kind_{};
  /// The lock that the call did not acquire; null if contender_ is set.
  std::shared_ptr<detail::PathLock> refused_;
};

}  // namespace zklock
