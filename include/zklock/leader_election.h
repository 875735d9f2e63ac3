// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/leadership.h"
#include "zklock/participant.h"

namespace zklock {

namespace recipes {
class ElectionCandidacy;
}

struct ElectionOptions {
  /// Contends again by itself when a leadership is over; else at requeue() only.
  bool auto_requeue = true;

  /// The pause after a failed attempt to contend (no server, a quota), and after a leader function
  /// that threw, grows from the first to the second; a leadership that ended well resets it.
  std::chrono::milliseconds retry_delay_min{100};
  std::chrono::milliseconds retry_delay_max{5'000};

  /// As MutexOptions::lock_delay: after a leader was lost nobody leads for that long.
  std::chrono::milliseconds lock_delay{0};
};

/// Runs a function while this process leads. Of all elections on the path, over all processes, one
/// is elected, and its function is called; when the function returns, leadership passes on to the
/// next in line.
/// @code
///   LeaderElection election(client, "/services/billing/leader", [](Leadership& leadership) {
///     const std::stop_token ended = leadership.ended();
///     while (!ended.stop_requested()) work(leadership.token());
///   });
///   election.start();
/// @endcode
///
/// The function runs on a thread of the election's own, one call at a time, and may take as long as
/// it likes. When the leadership is lost or interrupted, or the election is closed, its stop token is
/// stopped, and the function should return soon. From then on the Leadership is `lost`, and
/// proclaim() throws Error(lock_lost).
///
/// If the leadership ends without a loss, the lock znode is deleted when the function has returned.
/// Then no two functions run at a time. After a loss, another process may lead before the function
/// returns. If the session or the lock znode was lost, it may lead at once. After an expired lease or
/// a forced request_release(), it may lead one second later. So send Leadership::token() with every
/// write outside.
///
/// While it leads, the function may proclaim a value, as an address: Leadership::proclaim(). Those
/// who want to know it, and need not contend, use an ElectionObserver.
///
/// What the function throws is logged and kept (last_failure()), and leadership passes on.
/// The path can be shared with LeaderLatch and with Curator's LeaderSelector.
/// Source: org.apache.curator.framework.recipes.leader.LeaderSelector; etcd's concurrency.Election;
/// kazoo.recipe.election.Election.
///
/// Thread-safety: all members may be called by any thread, also from the function and from stop
/// callbacks, except construction and destruction; the function may destroy the election.
class LeaderElection {
 public:
  using Function = std::function<void(Leadership&)>;

  /// Effects: none on the servers, does not block. For paths see ReentrantMutex.
  /// Throws: Error(invalid_path | invalid_option | closed | forked); invalid_option also for an
  /// empty function.
  LeaderElection(Client& client, std::string path, Function take_leadership,
                 ElectionOptions options = {});
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;
  /// Same as close().
  ~LeaderElection();

  /// Effects: starts the thread and begins to contend, unless it does already or leads. Does not
  /// block, and no server needs to be up: what fails for want of one is tried again after a pause.
  /// Throws: Error(closed | forked); std::system_error when the system gives no thread.
  void start() { requeue(); }

  /// As start(). While it leads, it will contend once more afterwards, whatever the options say.
  /// False when it was in the queue, or would have contended again, anyway.
  bool requeue();

  /// Ends the current leadership, if any. The calling thread stops its token. Does not wait for the
  /// function. When the function returns, the election continues as after any other return. If the
  /// function has not been called yet, it is not called for this leadership. The election then
  /// contends again, even without auto_requeue, unless it was withdrawn or closed.
  void interrupt() noexcept;

  /// Ends the current leadership as interrupt() does, but does not contend again until requeue().
  /// The contender leaves the queue now, or when the function has returned.
  void withdraw() noexcept;

  /// Effects: reads LeaseClock and answers; does not block and sends nothing. False as soon as the
  /// leadership is lost, interrupted or closed, also while the function still runs.
  bool has_leadership() const noexcept;

  /// Who leads, as the servers say: the first in the queue. Nothing when nobody contends. Blocks
  /// for two round trips. To be told of changes: ElectionObserver.
  /// Throws: as ReentrantMutex::participants().
  std::optional<Participant> leader(Deadline deadline = Deadline::never()) const;

  /// All candidates, in the order in which they would lead. As ReentrantMutex::participants().
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  /// What the function threw the last time that it threw; null if it never did. Does not block.
  std::exception_ptr last_failure() const;

  /// The error that ended contention for good: see LeaderLatch::error().
  std::optional<Error> error() const;

  /// Effects: leaves the queue; the leadership ends: its token is stopped, by the calling thread.
  /// Blocks until the function has returned, then the node is deleted in the background
  /// (Client::flush() waits for that). Called from within the function it does not wait. A second
  /// call, or one by another thread, waits too.
  void close() noexcept;

  const std::string& path() const noexcept;

 private:
  std::shared_ptr<recipes::ElectionCandidacy> candidacy_;
};

}  // namespace zklock
