// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/cohort_policy.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/watch_slot.h"
#include "zklock/owner.h"

namespace zklock::detail {

class Contender;
class LockNode;

/// The contenders of one client that share a lock node, and so a lock znode. One contender is in
/// the lock node: it holds, or is granted when the lock node is. The other contenders are behind
/// it, and wait in this client only, first come first served. After a release, the local queue can
/// retain the lock node without a contender in it: then the lock node is idle.
///
/// The count is the number of children of the lock path (request Exists). It shows whether
/// another client waits. If a marker of the lock node may exist, the contenders in a list of the
/// children are counted instead. For an idle lock node, a list of the children with a watch shows
/// this too. The budget (CohortBudget) limits the grants since the last count that showed no other
/// client.
///
/// | state  | lock node           | contender in it | contenders behind it                      |
/// |--------|---------------------|-----------------|-------------------------------------------|
/// | queued | waits for its grant | waits           | any number                                |
/// | held   | granted             | holds           | any number                                |
/// | idle   | granted             | none            | none; or those that wait for the count or |
/// |        |                     |                 | the list                                  |
/// | ended  | has no local queue  | any             | none                                      |
///
/// | state  | event                                         | next                               |
/// |--------|-----------------------------------------------|------------------------------------|
/// | queued | the lock node is granted                      | held                               |
/// |        | the contender in it leaves                    | queued, with the first behind; or  |
/// |        |                                               | ended                              |
/// |        | the acquire fails                             | ended; all contenders behind fail  |
/// | held   | released after another client requested that, | ended; the znode is deleted        |
/// |        | or without the delay marker of a lock delay   |                                    |
/// |        | released, a contender is behind, and the      | held, by the first one behind      |
/// |        | budget permits a grant                        |                                    |
/// |        | released, no contender is behind, and the     | idle                               |
/// |        | lock node is to be retained (may_idle())      |                                    |
/// |        | released, a contender is behind, the budget   | idle                               |
/// |        | is used up, the count is in flight, no reply  |                                    |
/// |        | has shown another client, and the lock node   |                                    |
/// |        | was granted without waiting for a predecessor |                                    |
/// |        | released in any other case                    | ended; the znode is deleted        |
/// |        | the count arrives, and the grants since it    | held; the count is requested again |
/// |        | was requested used most of the budget         |                                    |
/// | idle   | a contender arrives, and the budget permits a | held                               |
/// |        | grant or the watch is armed                   |                                    |
/// |        | the count shows no other client, a contender  | idle; the children are listed      |
/// |        | is behind, and the grants since the count was |                                    |
/// |        | requested used up the budget                  |                                    |
/// |        | the count or list shows no other client, and  | held                               |
/// |        | a contender is behind                         |                                    |
/// |        | the count arrives, no contender is behind,    | idle; the children are listed      |
/// |        | and keep_idle_for is not 0                    |                                    |
/// |        | the count arrives, no contender is behind,    | ended; the znode is deleted        |
/// |        | and keep_idle_for is 0                        |                                    |
/// |        | another client may wait; or keep_idle_for has | ended; the znode is deleted        |
/// |        | passed without a contender behind; or a       |                                    |
/// |        | release is requested; or the last public      |                                    |
/// |        | object is destroyed                           |                                    |
/// | all    | the lock node ends in any other way           | ended                              |
///
/// For a state and an event, the first row that applies decides. When the local queue ends, the
/// contenders behind get a new lock node, unless the acquire has failed or the client is closing.
///
/// A path has one local queue at most for contenders with equal policies. A lock node gets it at
/// its beginning, if max_local_handoffs is more than 1 and its contender waits. Otherwise it gets
/// it at its grant, if CohortPolicy::shares() and there is no local queue yet. Until then each
/// contender gets a lock node of its own.
///
/// While there is a local queue, a single attempt ends without a grant, with one exception. If the
/// lock node is idle without a contender behind it, the single attempt is granted, or waits for the
/// count or the list. If max_local_handoffs is 1, a contender that waits gets its own lock node,
/// except behind an idle one. When the first contender behind an idle lock node is granted, each
/// further one gets its own lock node too.
///
/// A contender is granted only under a valid lease. If the lease has lapsed at a hand-off, the
/// znode is deleted.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. Part of its lock node, and destroyed
/// with it.
class LocalQueue {
 public:
  struct Waiting {
    std::shared_ptr<Contender> contender;
    Caller caller;  ///< the caller named in its znode's data
  };
  using Waiters = std::deque<Waiting>;

  /// `behind`: contenders of an earlier local queue.
  LocalQueue(LockNode& node, core::CohortPolicy policy, Waiters behind);
  LocalQueue(const LocalQueue&) = delete;
  LocalQueue& operator=(const LocalQueue&) = delete;

  /// Returns whether an arriving contender joins this local queue. `waits`: false for a single
  /// attempt.
  bool accepts(bool waits) const noexcept;
  /// Adds a contender that begins to wait. If it is a single attempt that ends without a grant,
  /// calls its on_ended(). REQUIRES: accepts() returns true.
  void admit(const std::shared_ptr<Contender>& contender, const Caller& caller);
  /// Removes a contender that stops waiting. Returns false if it is not behind the lock node.
  bool leave(const Contender& contender);
  /// Puts the first contender behind the lock node into it, before the grant. Returns false if
  /// there is none.
  bool replace_front();
  /// Returns how many contenders are served before this one: 1 for the first one behind the lock
  /// node, and so on. Returns 0 if it is not behind.
  std::size_t count_ahead_of(const Contender& contender) const;
  const Waiters& behind() const noexcept { return behind_; }
  /// Returns the contenders behind the lock node, and forgets them. From now on, replies and events
  /// are ignored.
  Waiters end();
  bool has_ended() const noexcept { return ended_; }

  /// Records a grant. Returns how many came before it on this znode.
  std::uint64_t on_grant();
  /// Called when the contender in the lock node has released. Grants the next one, or retains the
  /// lock node idle. Returns false if the caller must delete the znode.
  bool on_release();
  void on_release_requested();
  void on_position(std::size_t position);
  void on_tick();
  /// Deletes the znode if the lock node is idle.
  void end_idling();
  void assert_invariants() const noexcept;

 private:
  PathLock& path() const noexcept;
  /// Looks at the last element first, because a stop source cancels its calls in reverse order.
  Waiters::const_iterator find(const Contender& contender) const;
  Waiting take_next();
  void grant_next();
  void serve_idle();
  bool may_serve_idle() const;
  bool may_idle() const;
  void become_idle();
  void look_for_arrivals();
  void on_listed(const client::Reply& reply);
  void count_if_due();
  void on_counted(const client::Reply& reply, std::size_t contenders);
  void notify_positions(std::size_t from);

  LockNode& node_;
  const core::CohortPolicy policy_;
  Waiters behind_;
  /// The watch on the children of the path. It stays when the next contender is granted.
  WatchSlot arrivals_;
  /// The children were listed, and no event has come since.
  bool arrivals_armed_ = false;
  core::CohortBudget budget_;
  std::uint64_t grants_ = 0;        ///< on the znode
  bool release_requested_ = false;  ///< no further hand-off
  bool ended_ = false;
  /// A contender behind may have a listener. If not, a change of the positions costs nothing.
  bool may_listen_;
  /// The position of the lock node in the queue; std::nullopt if unknown.
  std::optional<std::size_t> position_;
  core::Instant idle_since_{};
};

}  // namespace zklock::detail
