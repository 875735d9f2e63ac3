// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "zklock/awaitable.h"
#include "zklock/deadline.h"
#include "zklock/fencing_token.h"
#include "zklock/guarded_transaction.h"
#include "zklock/hold.h"
#include "zklock/lease_clock.h"

namespace zklock {

namespace recipes {
class Rostrum;
class Tenure;
}  // namespace recipes

/// One leadership of this process, from its grant to its end, as LeaderLatch and LeaderElection
/// give it out. Copies stand for the same leadership; keeping one does not keep the leadership.
///
/// When ended() is stopped, state() returns `lost`, valid_until() returns time_point::min(), and
/// proclaim() throws Error(lock_lost). If the leadership ended without a loss, a GuardedTransaction
/// made before can still be committed while the lock znode exists. Check ended() first if that
/// matters.
///
/// Thread-safety: a value; all members may be called by any thread.
class Leadership {
 public:
  /// None: it has ended, and its token is lower than every real one.
  Leadership() noexcept = default;

  /// Orders the leaderships of one path; see FencingToken. Does not block.
  FencingToken token() const noexcept;

  /// Reads LeaseClock; does not block and sends nothing. Returns `lost` once the lease has expired,
  /// also at the first call after a pause of the process. Also returns `lost` once the leadership was
  /// interrupted, withdrawn or closed, even if the election's function still runs. Its limits are
  /// those of Hold::state().
  HoldState state() const noexcept;

  /// A token that is stopped once, when the leadership ends: lost (then before another client can
  /// lead), interrupted, closed, or given back. Its callbacks run on a thread of the client that
  /// has nothing else to do when the leadership was lost, else on the thread that ends it. Of a
  /// leadership that has ended: a stopped token.
  std::stop_token ended() const noexcept;

  /// A token that is stopped when somebody asks the leader to let go, by request_release(); then the
  /// program may end the leadership, or go on. As Hold::release_requested(). Of none: one that can
  /// never be stopped.
  std::stop_token release_requested() const noexcept;

  /// Until when the leadership is sure to last if no server is heard of any more.
  /// LeaseClock::time_point::min() when it has ended.
  LeaseClock::time_point valid_until() const noexcept;

  /// The full path of the lock node (below the chroot), for a `check` operation of your own in a
  /// ZooKeeper transaction. Stays the same when the leadership has ended. Empty for none.
  std::string node() const;

  /// Effects: who observes the election (ElectionObserver) sees `value`, any bytes, until this
  /// leadership ends or proclaims another; what former leaders have proclaimed is never taken for
  /// this one's. It is written only if this leadership is still valid, which the servers check in
  /// the same transaction: a leader that was paused, or cut off, and comes back when somebody else
  /// leads, changes nothing. Values are written in the order of the calls. Blocks for one round
  /// trip; while the connection is lost it waits for it to come back, until the deadline or the
  /// loss. An interruption point of Boost.Thread; after an interruption the outcome is unknown.
  ///
  /// The value stands in a node beside the lock node, which goes with the leadership, or with its
  /// session; it has the ACL that ClientOptions::acl gives to the parents of locks, and who may
  /// write there may also write the value.
  /// Throws: Error, as GuardedTransaction::commit(), which has a table of what has been written:
  /// lock_lost also when the leadership was given up, and for none; too_large beyond about 1 MB;
  /// too_many_nodes for the caps of ClientOptions.
  /// Source: etcd's concurrency.Election.Proclaim().
  void proclaim(std::string value, Deadline deadline = Deadline::never()) const;

  /// As those of GuardedTransaction. Here, too, lock_lost is thrown when the leadership was given
  /// up before; the others bring it.
  void async_proclaim(std::string value, CommitHandler handler,
                      Deadline deadline = Deadline::never()) const;
  std::future<void> async_proclaim(std::string value, Deadline deadline = Deadline::never()) const;
  BasicAwaitable<void> co_proclaim(std::string value, Deadline deadline = Deadline::never()) const;

 private:
  friend class recipes::Tenure;
  friend class GuardedTransaction;
  explicit Leadership(std::shared_ptr<const recipes::Tenure> tenure) noexcept
      : tenure_(std::move(tenure)) {}
  std::shared_ptr<recipes::Rostrum> rostrum(const char* operation) const;

  std::shared_ptr<const recipes::Tenure> tenure_;
};

}  // namespace zklock
