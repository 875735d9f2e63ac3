// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "zklock/fencing_token.h"
#include "zklock/lease_clock.h"
#include "zklock/owner.h"

namespace zklock {

namespace core {
enum class CountKind;
}
namespace recipes {
class Contender;
}

/// What a hold is worth at this moment.
///
/// | state     | meaning                                                | turns into      |
/// |-----------|--------------------------------------------------------|-----------------|
/// | held      | connected, and the lease is valid: nobody else holds   | suspended, lost |
/// | suspended | disconnected, but the lease is valid: nobody else holds| held, lost      |
/// | lost      | the lease ran out, the session ended, the node was     | (final)         |
/// |           | deleted, the maximum hold time was over, the release   |                 |
/// |           | was forced, or the hold was released                   |                 |
enum class HoldState { held, suspended, lost };

/// One count of a lock, or some permits of a semaphore, released when it is destroyed.
///
/// A Hold is given out by acquire() and its relatives. Several Holds of one owner share one node,
/// one token and one fate; the lock passes on when the last of them (and the last lock() of that
/// owner) is released. It may outlive its mutex and its client: then it is `lost`.
/// Sources: Burrows, "The Chubby lock service", 2.8, for a lease that outlasts its connection;
/// Gray and Cheriton, "Leases", for its end by the holder's own clock.
///
/// Thread-safety: a distinct Hold may be used from any thread, also one that did not acquire it;
/// one Hold object is not to be used by two threads at once, except for the const members.
class [[nodiscard]] Hold {
 public:
  /// Empty: operator bool is false. All members may be called; what they answer is safe (state()
  /// is lost, token() is lower than every real one, release() does nothing).
  Hold() noexcept = default;
  Hold(Hold&& other) noexcept;
  Hold& operator=(Hold&& other) noexcept;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  /// Same as release().
  ~Hold();

  /// Effects: none; does not block. True while this object has its count, whether the hold is
  /// still valid or lost; false for an empty, moved-from or released one. For the validity ask
  /// state().
  explicit operator bool() const noexcept { return contender_ != nullptr; }

  /// The token of this grant; a reentrant grant repeats it. Does not block.
  FencingToken token() const noexcept;

  /// Effects: reads LeaseClock and answers; does not block and sends nothing. Once lost, always
  /// lost. After a pause of the process (SIGSTOP, a sleeping machine) the first question already
  /// takes the pause into account. What it leaves unsaid: the process may be paused between the
  /// answer and what you do then; for that there is token().
  HoldState state() const noexcept;

  /// A token that is stopped once, when the hold is lost, and before another client can be
  /// granted. It is not stopped by release(). Callbacks registered on it run on a thread of the
  /// client that has nothing else to do; one that blocks delays no heartbeat, and the tokens of
  /// other holds only when more than 30 block at once. Where the session goes on, the node of the
  /// lost hold goes when they have returned, after a second at the latest; until then whoever tries
  /// next stands behind it, this client too. A token got from a hold that is lost already, or from
  /// an empty one, is stopped.
  std::stop_token lost() const noexcept;

  /// Returns the lease expiry: the hold is valid until then if no further reply arrives. Heartbeats
  /// (ten per session timeout) extend it, up to the maximum hold time. A reconnect with a shorter
  /// session timeout can shorten it. time_point::min() when lost.
  LeaseClock::time_point valid_until() const noexcept;

  /// Effects: the maximum hold time begins anew at this moment, as long as agreed last, or from now
  /// on `length`; all Holds of the grant share it. Sends nothing; may take a lock for microseconds.
  /// False, and nothing is changed, when the hold is lost, released or empty. Without a maximum hold
  /// time renew() changes nothing, and says whether it holds; renew(length) sets one.
  /// Throws: Error(invalid_option) when `length` is not positive.
  bool renew();
  bool renew(std::chrono::milliseconds length);

  /// A token that is stopped when somebody asks for the release, by request_release(); then the
  /// program may release, or go on. Callbacks run where those of lost() do. It stays stopped. A
  /// token got from an empty Hold can never be stopped.
  std::stop_token release_requested() const noexcept;

  /// The full path of the lock node (below the chroot), for a `check` operation of your own in a
  /// ZooKeeper transaction: once it was asked for, nobody whom this hold excludes is granted before
  /// that node is gone (else who waits in the same client need not wait for that). But with
  /// MutexOptions::local_batch and keep_idle holds of one client may have the same, one after the
  /// other. It changes once at most: when a SharedMutex is downgraded, by the time Client::flush()
  /// returns. Empty for an empty Hold.
  std::string node() const;

  /// How many permits of a Semaphore it stands for; 1 for a hold of a lock, 0 for an empty one.
  int permits() const noexcept;

  /// On whose behalf it is held. The calling thread for an empty Hold.
  Owner owner() const noexcept;

  /// Effects: gives the count back. With the last count of the owner, the lock is announced as
  /// released and its node deleted in the background, again and again until the servers confirm
  /// or the session ends. Does not block; any thread. Releasing a lost hold is quiet. To wait for
  /// the servers' answer: Client::flush().
  ///
  /// Where the next in the queue is of the same client too, and both are of a ReentrantMutex or a
  /// Mutex, it does not wait for that answer, as a rule: it is granted at once, while disconnected
  /// too, if the lease is valid (then it is `suspended` from the beginning). It waits where the node
  /// has to be gone first: see node(), GuardedTransaction and MutexOptions::lock_delay.
  void release() noexcept;

 private:
  friend class recipes::Contender;
  friend class GuardedTransaction;
  Hold(std::shared_ptr<recipes::Contender> contender, core::CountKind kind) noexcept;

  std::shared_ptr<recipes::Contender> contender_;
  core::CountKind kind_{};
};

}  // namespace zklock
