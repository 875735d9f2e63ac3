// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/executor.h"
#include "zklock/export.h"
#include "zklock/leadership.h"
#include "zklock/participant.h"
#include "zklock/subscription.h"

namespace zklock {

namespace detail {
class LatchCandidate;
}

/// Whether closing a latch that leads calls the `lost` listeners.
enum class CloseMode { silent, notify };

/// The options of a LeaderLatch. The constructor checks them.
///
/// Thread-safety: a value.
struct LatchOptions {
  /// See LockOptions::label.
  std::string label = {};
  /// The purpose of the candidacy, for people; see AcquireOptions::note.
  std::string note = {};

  /// Runs the listeners. Default: ClientOptions::executor; if that is unset too, the client's
  /// threads for callbacks. Not called after the latch's destructor has returned.
  Executor executor = {};

  /// Smallest and largest pause after a failed attempt to contend (no server, a quota). The pause
  /// grows from attempt to attempt. A leadership resets it. The smallest must be positive, and not
  /// above the largest.
  std::chrono::milliseconds retry_delay_min{100};
  std::chrono::milliseconds retry_delay_max{5'000};

  /// After a leader was lost, no candidate leads for this time; see ExclusiveOptions::lock_delay.
  std::chrono::milliseconds lock_delay{0};
};

/// One candidate for the leadership of a path. At most one of all latches on the path leads at a
/// time, over all processes. It leads until it is closed, or until its lease, session or lock znode
/// is lost. A forced request_release() also ends its leadership. Then the next candidate in the
/// queue leads. A latch that lost its leadership contends again by itself. While a latch leads, it
/// can proclaim a value, for example its address, with leadership().proclaim(). ElectionObservers
/// receive the value.
///
/// The candidates queue with the znodes of a ReentrantMutex. So the path can also be shared with
/// LeaderElection and Curator's LeaderSelector. It cannot be shared with Curator's LeaderLatch,
/// which uses other znode names. Two latches of one client are two candidates.
/// Source: org.apache.curator.framework.recipes.leader.LeaderLatch.
///
/// Thread-safety: all members may be called by any thread, even from listeners and stop callbacks.
/// No call may overlap construction or destruction. Exception: a listener may destroy the latch.
class ZKLOCK_EXPORT LeaderLatch {
 public:
  /// Creates a latch that does not contend yet; see start(). Sends nothing and does not block.
  /// Errc::invalid_path says which paths are valid.
  /// Throws: Error(invalid_path | invalid_option | closed | forked).
  LeaderLatch(Client& client, std::string path, LatchOptions options = {});
  LeaderLatch(const LeaderLatch&) = delete;
  LeaderLatch& operator=(const LeaderLatch&) = delete;
  /// Closes the latch as close(CloseMode::silent) does. After close(CloseMode::notify), `lost`
  /// calls may be pending on the executor. The destructor then makes them on the calling thread. If
  /// a listener of this latch runs the destructor, such calls are dropped instead. After the
  /// destructor has returned, no listener is called.
  ~LeaderLatch();

  /// Begins to contend, unless the latch already contends or leads. Also contends again after a
  /// failed contention; see error(). Does not block and needs no server: a temporary error leads to
  /// another attempt after a pause, until close().
  /// Throws: Error(closed | forked).
  void start();

  /// Blocks until this latch leads. Returns true when it leads, although the leadership may already
  /// be lost again when the caller reads the result. Returns false if the deadline passed first or
  /// a stop was requested. A deadline that has passed makes the call return at once. If the latch
  /// was not started, also waits for a start() by another thread. An interruption point of
  /// Boost.Thread.
  /// Throws: Error(closed) if the latch or the client is closed, even during the wait; the Error of
  /// a failed contention (see error()); Error(forked).
  [[nodiscard]] bool wait_until_leader(Deadline deadline = Deadline::never(),
                                       std::stop_token stop = {});

  /// Returns whether this latch leads now. Reads LeaseClock; does not block and sends nothing.
  /// After a pause of the process, even the first call takes the pause into account. The
  /// leadership may be lost between the return and the caller's next action; see Hold::state().
  [[nodiscard]] bool has_leadership() const noexcept;

  /// Returns the current leadership, with its fencing token, state() and end_token(). Returns an
  /// ended Leadership if this latch does not lead. Does not block.
  [[nodiscard]] Leadership leadership() const;

  /// Returns leadership().token().
  [[nodiscard]] FencingToken token() const { return leadership().token(); }

  /// Returns the leader, as a server reports it: the first candidate in the queue. Returns nullopt
  /// if the queue is empty or a lock delay lasts. Blocks for two round trips, at most until the
  /// deadline; without one, for ClientOptions::connection_timeout. An ElectionObserver reports
  /// changes.
  /// Throws: Error(no_auth | auth_failed | not_connected | closed | forked | server_error).
  [[nodiscard]] std::optional<Participant> leader(Deadline deadline = Deadline::never()) const;

  /// Returns all candidates, in the order in which they would lead. Candidates that enqueue or
  /// leave meanwhile may be missing. Blocks and throws as leader() does.
  [[nodiscard]] std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  /// Returns the error that ended contention, or nullopt. Temporary errors (not_connected,
  /// read_only, quota_exceeded, server_error ...) do not end contention: the client logs them, and
  /// the latch tries again.
  ///
  /// | error                                   | what ended contention          | start()         |
  /// |-----------------------------------------|--------------------------------|-----------------|
  /// | no_auth, auth_failed, no_chroot, others | a failure that does not pass   | contends again, |
  /// |                                         | by itself                      | clears error()  |
  /// | closed                                  | the latch or its client closed | throws closed   |
  /// | forked                                  | this is a fork()ed child       | throws forked   |
  [[nodiscard]] std::optional<Error> error() const;

  /// Receives the leadership that has begun or ended.
  using Listener = std::function<void(const Leadership&)>;

  /// Adds a pair of listeners; either may be empty. `gained` is called when a leadership begins,
  /// and `lost` when it has ended. The calls of one pair run in order, one at a time, on the
  /// executor. If the latch leads now, the first call is `gained`. A call may come late:
  /// has_leadership() returns the current state. An exception from a listener is logged and
  /// dropped. A listener that blocks delays only its own later calls, and occupies a thread of the
  /// executor.
  /// Throws: Error(closed | forked).
  Subscription add_listener(Listener gained, Listener lost);

  /// Leaves the queue and ends the leadership: its end_token() is stopped, then its lock znode is
  /// deleted in the background. Client::flush() waits for the deletion.
  ///
  /// After close() has returned, no listener is called, with one exception. With `notify`, each
  /// pair of listeners whose `gained` was called still gets its call of `lost`. The executor makes
  /// that call, or the destructor if it comes first (see there).
  ///
  /// If close() ends the leadership, the callbacks of end_token() run on the calling thread. Blocks
  /// while listeners of this latch run. If a listener of this latch calls close(), it does not
  /// wait. A second call only waits for the first.
  void close(CloseMode mode = CloseMode::silent) noexcept;

  /// Returns the path of the election, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept;

 private:
  std::shared_ptr<detail::LatchCandidate> candidate_;
};

}  // namespace zklock
