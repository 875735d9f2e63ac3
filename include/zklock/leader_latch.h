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
#include "zklock/client_options.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/leadership.h"
#include "zklock/participant.h"

namespace zklock {

namespace recipes {
class LatchCandidacy;
}

/// Whether a latch that is closed while it leads tells its listeners of the end.
enum class CloseMode { silent, notify };

struct LatchOptions {
  /// Runs the listeners; unset: as the client's callbacks. It is called no more when the latch's
  /// destructor has returned.
  Executor executor = {};

  /// The pause after a failed attempt to contend (no server, a quota) grows from the first to the
  /// second; a leadership resets it.
  std::chrono::milliseconds retry_delay_min{100};
  std::chrono::milliseconds retry_delay_max{5'000};

  /// As MutexOptions::lock_delay: after a leader was lost nobody leads for that long.
  std::chrono::milliseconds lock_delay{0};
};

/// One candidate for the leadership of a path. Of all latches on the path, over all processes, one
/// leads, until it is closed, or its session or its node goes; then the next in line does. A latch
/// that lost its leadership contends again by itself. While it leads it may proclaim a value, as an
/// address: leadership().proclaim(); ElectionObservers are told.
///
/// The candidates queue as for a lock (see ReentrantMutex), so the path can also be shared with
/// LeaderElection and Curator's LeaderSelector, but not with Curator's LeaderLatch, whose nodes
/// have other names. Two latches of one client are two candidates.
/// Source: org.apache.curator.framework.recipes.leader.LeaderLatch.
///
/// Thread-safety: all members may be called by any thread, also from listeners and stop callbacks,
/// except construction and destruction.
class LeaderLatch {
 public:
  /// Effects: none on the servers, does not block. For paths see ReentrantMutex.
  /// Throws: Error(invalid_path | invalid_option | closed | forked).
  LeaderLatch(Client& client, std::string path, LatchOptions options = {});
  LeaderLatch(const LeaderLatch&) = delete;
  LeaderLatch& operator=(const LeaderLatch&) = delete;
  /// As close(CloseMode::silent). No call of a listener begins afterwards: a `lost` for which the
  /// executor has found no time since close(CloseMode::notify) is told here, on this thread; from
  /// within that listener, it is not told any more.
  ~LeaderLatch();

  /// Effects: begins to contend, unless it does already or leads; after an error that had ended
  /// contention, it contends anew. Does not block, and no server needs to be up: what fails for
  /// want of one is tried again after a pause, until it is closed.
  /// Throws: Error(closed | forked).
  void start();

  /// Blocks until this latch leads: true. False when the deadline came first, or a stop was
  /// requested. A deadline that has passed asks only. Also waits for somebody else to start() it.
  /// An interruption point of Boost.Thread. What true leaves unsaid: the leadership may have been
  /// lost since.
  /// Throws: Error(closed) when the latch or the client is closed, also meanwhile; the Error that
  /// ended contention (see error()); Error(forked).
  bool await(Deadline deadline = Deadline::never(), std::stop_token stop = {});

  /// Effects: reads LeaseClock and answers; does not block and sends nothing. After a pause of the
  /// process the first question already takes the pause into account. What it leaves unsaid: see
  /// Hold::state().
  bool has_leadership() const noexcept;

  /// The present leadership, to be asked for its token, its state and its end; one that has ended
  /// when this latch does not lead. Does not block.
  Leadership leadership() const;

  /// Same as leadership().token().
  FencingToken token() const { return leadership().token(); }

  /// Who leads, as the servers say: the first in the queue. Nothing when nobody contends, or
  /// while a lock delay lasts. Blocks for two round trips. To be told of changes: ElectionObserver.
  /// Throws: as ReentrantMutex::participants().
  std::optional<Participant> leader(Deadline deadline = Deadline::never()) const;

  /// All candidates, in the order in which they would lead. As ReentrantMutex::participants().
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  /// The error that ended contention for good: no_auth, auth_failed, no_chroot and other
  /// errors that nobody else can mend; closed, when the latch or its client is closed; forked.
  /// Nothing while it contends, or may be started. Errors that pass (not_connected, read_only,
  /// quota_exceeded, server_error ...) are written to the client's log, and tried again.
  std::optional<Error> error() const;

  using Listener = std::function<void(const Leadership&)>;

  /// Calls `gained` when a leadership begins and `lost` when it has ended, in turn and in order,
  /// one call of a listener at a time, on the executor. A listener that is added while the latch
  /// leads hears `gained` first. Either may be empty. What a listener throws is logged and dropped;
  /// one that blocks keeps waiting only what it is to hear next, and the thread of the executor.
  /// When a call comes, the news may be old: has_leadership() knows.
  /// Throws: Error(closed | forked).
  Subscription add_listener(Listener gained, Listener lost);

  /// Effects: leaves the queue, and ends the leadership: its token is stopped, then its node is
  /// deleted, in the background (Client::flush() waits for that). Waiting calls throw `closed`.
  /// After close() no call of a listener begins, except that with `notify` each listener that
  /// heard `gained` last hears `lost`, as soon as the executor runs it. The stop callbacks run on
  /// this thread; those of a leadership that was lost before, on one of the client's. Waits for
  /// listeners that are under way; from within a listener of this latch: for none. A second call
  /// does nothing but wait.
  void close(CloseMode mode = CloseMode::silent) noexcept;

  const std::string& path() const noexcept;

 private:
  std::shared_ptr<recipes::LatchCandidacy> candidacy_;
};

}  // namespace zklock
