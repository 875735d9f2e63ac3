// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/export.h"
#include "zklock/leadership.h"
#include "zklock/participant.h"

namespace zklock {

namespace detail {
class ElectionCandidate;
}

/// The options of a LeaderElection. The constructor checks them.
///
/// Thread-safety: a value.
struct ElectionOptions {
  /// See LockOptions::label.
  std::string label = {};
  /// The purpose of the candidacy, for people; see AcquireOptions::note.
  std::string note = {};

  /// true: contends again by itself after a leadership. false: contends only after requeue().
  bool auto_requeue = true;

  /// Smallest and largest pause after a failed attempt to contend (no server, a quota), and after a
  /// leader function that threw. The pause grows from failure to failure. A function that returned
  /// normally resets it. The smallest must be positive, and not above the largest.
  std::chrono::milliseconds retry_delay_min{100};
  std::chrono::milliseconds retry_delay_max{5'000};

  /// After a leader was lost, no candidate leads for this time; see ExclusiveOptions::lock_delay.
  std::chrono::milliseconds lock_delay{0};
};

/// One candidate for the leadership of a path, which runs a function while it leads. In the
/// comments of this class, "the election" means this candidate. At most one candidate on the path,
/// over all processes, leads at a time. When its function returns, the next candidate in the queue
/// leads.
/// @code
///   LeaderElection election(client, "/services/billing/leader", [](Leadership& leadership) {
///     const std::stop_token ended = leadership.end_token();
///     while (!ended.stop_requested()) work(leadership.token());
///   });
///   election.start();
/// @endcode
///
/// The function runs on a thread of the election, one call at a time, and may block. When the
/// leadership is lost or interrupted, or the election is closed, Leadership::end_token() is
/// stopped. From then on Leadership::state() returns `lost`, and proclaim() throws
/// Error(lock_lost). The function should return soon.
///
/// If the hold is not lost, the lock znode is deleted only when the function has returned. In that
/// case no two processes run their functions at a time. After a loss, another process can lead
/// before the function returns. If the session or the lock znode was lost, it can lead at once.
/// After an expired lease or a forced request_release(), it can lead when the function and the
/// callbacks of end_token() have returned. If that takes longer, it can lead after
/// ClientOptions::loss_callback_limit. So send Leadership::token() with every write to a resource
/// outside of ZooKeeper.
///
/// While the election leads, the function can proclaim a value, for example an address, with
/// Leadership::proclaim(). Clients that do not contend read it with an ElectionObserver.
///
/// If the function throws, the exception is logged and stored for last_failure(), and the
/// leadership ends. The path can be shared with LeaderLatch and with Curator's LeaderSelector.
/// Source: org.apache.curator.framework.recipes.leader.LeaderSelector; etcd's concurrency.Election;
/// kazoo.recipe.election.Election.
///
/// Thread-safety: all members may be called by any thread, also from the function and from stop
/// callbacks. No call may overlap construction or destruction. Exception: the function may destroy
/// the election.
class ZKLOCK_EXPORT LeaderElection {
 public:
  /// Runs while the election leads.
  using Function = std::function<void(Leadership&)>;

  /// Creates an election that does not contend yet; see start(). Sends nothing and does not block.
  /// Errc::invalid_path says which paths are valid.
  /// Throws: Error(invalid_path | invalid_option | closed | forked). An empty function is an
  /// invalid_option.
  LeaderElection(Client& client, std::string path, const ElectionOptions& options,
                 Function take_leadership);
  LeaderElection(Client& client, std::string path, Function take_leadership)
      : LeaderElection(client, std::move(path), {}, std::move(take_leadership)) {}
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;
  /// Calls close().
  ~LeaderElection();

  /// Starts the thread and begins to contend, unless the election contends already. If the election
  /// leads, it contends once more after this leadership, even without auto_requeue. Does not block
  /// and needs no server: a temporary error leads to another attempt after a pause.
  /// Throws: Error(closed | forked); std::system_error if no thread can be started.
  void start() { static_cast<void>(requeue()); }

  /// Does what start() does. Returns false if that changes nothing: the election contends already,
  /// or would contend again after this leadership anyway.
  [[nodiscard]] bool requeue();

  /// Ends the current leadership, if any. Runs the callbacks of Leadership::end_token() on the
  /// calling thread. Does not wait for the function. When the function returns, the election
  /// continues as after any other return. If the function has not been called yet, it is not called
  /// for this leadership. Such a leadership does not count: the election contends again, even
  /// without auto_requeue, unless withdraw() or close() was called.
  void interrupt() noexcept;

  /// Ends the current leadership as interrupt() does, but does not contend again until requeue().
  /// The contender leaves the queue now, or when the function has returned.
  void withdraw() noexcept;

  /// Returns whether this election leads now. Returns false as soon as the leadership is lost,
  /// interrupted, withdrawn or closed, even while the function still runs. Reads LeaseClock; does
  /// not block and sends nothing.
  [[nodiscard]] bool has_leadership() const noexcept;

  /// Returns the leader, as a server reports it: the first candidate in the queue. Returns nullopt
  /// if the queue is empty or a lock delay lasts. Blocks for two round trips, at most until the
  /// deadline; without one, for ClientOptions::connection_timeout. An ElectionObserver reports
  /// changes.
  /// Throws: Error(no_auth | auth_failed | not_connected | closed | forked | server_error).
  [[nodiscard]] std::optional<Participant> leader(Deadline deadline = Deadline::never()) const;

  /// Returns all candidates, in the order in which they would lead. Candidates that enqueue or
  /// leave meanwhile may be missing. Blocks and throws as leader() does.
  [[nodiscard]] std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  /// Returns the last exception that left the function, or null. Does not block.
  [[nodiscard]] std::exception_ptr last_failure() const;

  /// Returns the error that ended contention, or nullopt; see LeaderLatch::error().
  [[nodiscard]] std::optional<Error> error() const;

  /// Leaves the queue and ends the leadership as interrupt() does. Blocks until the function has
  /// returned; a call from within the function does not wait. When the function has returned, the
  /// lock znode is deleted in the background. Client::flush() waits for the deletion. Further
  /// calls, even by other threads, wait in the same way.
  void close() noexcept;

  /// Returns the path of the election, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept;

 private:
  std::shared_ptr<detail::ElectionCandidate> candidate_;
};

}  // namespace zklock
