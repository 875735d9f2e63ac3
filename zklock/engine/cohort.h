// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/acquire_fsm.h"
#include "zklock/core/cohort_policy.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/lock_node.h"
#include "zklock/error.h"

namespace zklock::detail {

class Contender;

/// The contenders of one client at one path that share a lock node, and so a lock znode. They have
/// an equal core::CohortPolicy, and acquire policies that agrees() compares. After a release, the
/// cohort can retain the granted lock node without a holder: then the lock node is idle.
///
/// One contender is in the lock node: it holds, or is granted first. The other contenders are
/// behind it. They wait in this client only, first come first served.
///
/// The count is the number of children of the lock path (request CountChildren). It shows whether
/// another client waits. For an idle lock node, a list of the children with a watch (ArrivalWatch)
/// shows this too. CohortBudget limits the grants before the next count.
///
/// | state  | shared lock node    | contender in it | contenders behind it                      |
/// |--------|---------------------|-----------------|-------------------------------------------|
/// | none   | none                | none            | none                                      |
/// | queued | waits for its grant | waits           | any number                                |
/// | held   | granted             | holds           | any number                                |
/// | idle   | granted             | none            | none; or those that wait for the count or |
/// |        |                     |                 | the list                                  |
///
/// | state  | event                                         | next                                    |
/// |--------|-----------------------------------------------|-----------------------------------------|
/// | none   | a contender begins to wait                    | queued; none, if it gets a lock node of |
/// |        |                                               | its own                                 |
/// |        | a contender is granted in its own lock node   | held                                    |
/// | queued | the lock node is granted                      | held                                    |
/// |        | the contender in it leaves                    | queued, with the first one behind; or   |
/// |        |                                               | none                                    |
/// |        | the acquire fails                             | none; all contenders behind fail        |
/// | held   | released; a contender is behind; the          | held, by the first one behind           |
/// |        | allowance permits a grant                     |                                         |
/// |        | released; no contender is behind; the node is | idle                                    |
/// |        | to be retained                                |                                         |
/// |        | released; the allowance is used up; the       | idle; or none, if the lock node had     |
/// |        | count is under way                            | waited: the znode is released           |
/// |        | the count arrives; most of the allowance      | held; the count is requested again      |
/// |        | was used after its request                    |                                         |
/// | idle   | a contender arrives, no count is needed       | held                                    |
/// |        | the count or list shows no other client, a    | held                                    |
/// |        | contender is behind                           |                                         |
/// |        | the allowance was used up after the request   | idle; the children are listed           |
/// |        | of the count; or no contender is behind       |                                         |
/// |        | another client waits; keep_idle_for is over;  | none; the znode is released             |
/// |        | a release is requested; the last public       |                                         |
/// |        | object is destroyed; the count or a tick      |                                         |
/// |        | finds no contender behind; keep_idle_for is 0 |                                         |
/// |        | the lease lapses; the znode is deleted        | none                                    |
/// | all    | the lock node ends in any other way           | none; queued, if contenders were        |
/// |        |                                               | behind                                  |
///
/// Two kinds of contenders get a lock node of their own:
/// - a single attempt, if there is no shared lock node. It must not wait for a predecessor.
/// - every contender that waits, if max_local_handoffs is 1.
///
/// Such a lock node becomes the shared lock node when it is granted. While the lock node is idle
/// and the count or the list is needed, all new contenders wait behind it. After the reply, if
/// max_local_handoffs is 1, each of them gets a lock node of its own in the order of arrival.
///
/// A contender is granted only under a valid lease. A lock node without a valid lease is deleted.
///
/// Thread-safety: none. REQUIRES: within a Section of the path lock, which owns this object.
class Cohort : public std::enable_shared_from_this<Cohort> {
 public:
  /// `policy`: the policy of all contenders, except `wait`, `lists` and `counts`, which may differ.
  Cohort(PathLock& path_lock, core::AcquireFsm::Policy policy, core::CohortPolicy terms);
  Cohort(const Cohort&) = delete;
  Cohort& operator=(const Cohort&) = delete;
  ~Cohort();

  /// Returns whether contenders with these two policies share this cohort.
  bool agrees(const core::AcquireFsm::Policy& policy,
              const core::CohortPolicy& terms) const noexcept;
  const core::AcquireFsm::Policy& policy() const noexcept { return policy_; }
  /// Returns the shared lock node if it is idle, else null.
  std::shared_ptr<const LockNode> idle_node() const noexcept;

  // Called by contenders.
  /// Adds a contender that begins to wait. It gets a lock node now or later; or, if it is a single
  /// attempt that cannot be granted at once, Contender::attempt_ended() is called.
  void begin(const std::shared_ptr<Contender>& who, const Requester& requester);
  /// Removes a contender that stops waiting. Returns false if it was in a lock node without a
  /// contender behind it: then the caller must give that lock node up.
  bool leave(const Contender& who);
  /// Returns 0 if the contender is in a lock node, 1 if it is the first one behind the shared lock
  /// node, and so on.
  std::size_t before(const Contender& who) const;
  /// The lock node was granted to the contender in it. Returns how many contenders were granted on
  /// this znode before.
  std::uint64_t granted(const std::shared_ptr<LockNode>& lock_node);
  /// The contender in the lock node has released. Returns true if this cohort handed the lock node
  /// off to the next contender or retains it. Returns false if the caller must delete the znode.
  bool keeps(const LockNode& lock_node);
  /// The lock node cannot be granted any more, or has been lost or released. The contenders behind
  /// it get a new lock node.
  void gone(const LockNode& lock_node);
  /// The acquire of the lock node has failed: so do the contenders behind it.
  void failed(const LockNode& lock_node, Errc error, const std::string& cause);
  /// Calls Contender::connection_timed_out() for the contenders behind the lock node.
  void connection_timed_out(const LockNode& lock_node, const std::string& cause);

  // Called by the lock node.
  void stands_at(const LockNode& lock_node, std::size_t position);
  void on_release_requested(const LockNode& lock_node);
  void lapsed(const LockNode& lock_node);
  void node_gone(const LockNode& lock_node);
  void on_path_recreated();
  void tick(const LockNode& lock_node);
  void somebody_came(const LockNode& lock_node);
  void listed(const LockNode& lock_node, const client::Reply& reply);

  /// Releases the lock node if it is idle.
  void end_idling();
  /// Forgets the lock node and all contenders: the client is closing. The path lock notifies the
  /// contenders.
  void close();

 private:
  enum class State { none, queued, held, idle };
  struct Waiting {
    std::shared_ptr<Contender> who;
    Requester requester;  ///< the caller named in its znode's data
  };

  bool is_shared(const LockNode& lock_node) const noexcept { return node_.get() == &lock_node; }
  bool is_idle(const LockNode& lock_node) const noexcept {
    return state_ == State::idle && is_shared(lock_node);
  }
  void wait_behind(const std::shared_ptr<Contender>& who, const Requester& requester);
  Waiting take_next();
  void queue(const std::shared_ptr<Contender>& who, Requester requester);
  void stand(std::shared_ptr<LockNode> lock_node, State state);
  std::shared_ptr<LockNode> forget_node() noexcept;
  void remove_place(LockNode::Manner manner);
  void queue_the_rest();
  bool hand_to(const std::shared_ptr<Contender>& who);
  void hand_to_next();
  void serve_idle();
  bool may_serve_idle() const;
  void become_idle();
  bool goes_idle();
  bool awaits_answer();
  void ask_if_due();
  void counted(const LockNode& lock_node, const client::Reply& reply);
  std::int32_t own_children() const;
  void notify_position(std::size_t index);
  void tell_positions(std::size_t from);

  PathLock& path_lock_;
  const core::AcquireFsm::Policy policy_;
  const core::CohortPolicy terms_;

  State state_ = State::none;
  std::shared_ptr<LockNode> node_;
  std::deque<Waiting> waiting_;  ///< behind the lock node
  // describe the shared lock node
  core::CohortBudget allowance_;
  std::uint64_t turns_ = 0;              ///< grants on its znode
  bool asked_for_ = false;               ///< a release was requested: no further hand-off
  std::optional<std::size_t> position_;  ///< in the path's queue; nothing if unknown
  core::Instant idle_since_{};
};

}  // namespace zklock::detail
