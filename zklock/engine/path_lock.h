// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/announcement_trust.h"
#include "zklock/core/cohort_policy.h"
#include "zklock/core/hold_limit.h"
#include "zklock/core/lazy.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/ownership.h"
#include "zklock/deadline.h"
#include "zklock/engine/callback/lock_listener.h"
#include "zklock/engine/create_limiter.h"
#include "zklock/engine/late_creates.h"
#include "zklock/engine/local_handoff.h"
#include "zklock/engine/reentry_counter.h"
#include "zklock/engine/sequence_hint.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/thread_exit.h"
#include "zklock/error.h"
#include "zklock/owner.h"

namespace zklock::detail {

class PendingAcquire;
class Contender;
class Cohort;

/// The result of an acquire: a count of `contender`, or an error. Neither is set if the deadline
/// has passed or the acquire was cancelled.
struct AcquireOutcome {
  std::shared_ptr<Contender> contender = {};
  std::optional<Error> error = {};
};

/// One acquire call. `gate`, `event_sink`, `lock_delay` and `local` are used only if this call
/// creates the contender of its owner.
struct AcquireRequest {
  Owner owner;  ///< calls of equal owners nest
  /// The owner that the znode and the Hold name. Unset: `owner`.
  std::optional<Owner> on_behalf_of = {};
  core::QueueRule rule = core::QueueRule::mutex();
  /// The contender first waits in a gate queue with this rule. When it is first there, it moves to
  /// the queue with `rule`.
  core::Lazy<core::QueueRule> gate = {};
  Deadline deadline;
  core::CountKind kind = core::CountKind::hold;
  bool queue_again = true;  ///< enqueue again after losing the znode
  /// Identifies the public object, for cancel_all(). It is true once that object is being
  /// destroyed.
  std::shared_ptr<const std::atomic<bool>> on_behalf = {};
  core::HoldLimit limit = {};     ///< of the hold, unless this call nests
  LockEventSink event_sink = {};  ///< receives the contender's events
  std::chrono::milliseconds lock_delay = {};
  core::CohortPolicy local = {};  ///< only with the rule of a mutex
  bool blocks = false;            ///< a blocked thread enforces the deadline
  /// Describes the calling thread. Set if a library thread begins the call.
  std::optional<Requester> requester = {};
  /// Called once, with no lock held. REQUIRES: it does not block and runs no user code.
  std::function<void(AcquireOutcome)> done = {};
};

/// The state of one client at one lock path: its contenders, by owner, and what they share. One
/// mutex guards all of it. Calls that must run without that mutex go through the outbox.
///
/// Thread-safety: any thread may call any member. Some members require a Section.
class PathLock : public ThreadExitListener, public std::enable_shared_from_this<PathLock> {
 public:
  /// `counter_ended`: the path's sequence counter was at its end when it was last read.
  PathLock(std::shared_ptr<EngineContext> core, core::LockPath path, bool counter_ended);
  ~PathLock();

  EngineContext& core() noexcept { return *core_; }
  const core::LockPath& path() const noexcept { return path_; }

  /// Begins `call`: it nests, joins the waiting contender of its owner, or enqueues a new
  /// contender. `request.done` may be called before acquire() returns, but only with no lock held.
  /// Blocks for at most some milliseconds, and not beyond the deadline, if the mutex is not free.
  /// Then a library thread begins the call soon. Throws Error(closed), and what the ports throw if
  /// the system has no resources left. If acquire() throws, the call has not begun.
  void acquire(const std::shared_ptr<PendingAcquire>& call, AcquireRequest request);
  /// Withdraws the contender of `owner` soon, if all its calls have been abandoned by then. Does
  /// not block. Without memory for this, the contender stays until flush() or until its grant,
  /// which it releases at once.
  void sweep_soon(const Owner& owner) noexcept;
  /// Returns how many creates of lock znodes of this client here the servers have confirmed.
  std::uint64_t nodes_made() const noexcept { return nodes_made_; }
  void node_made() noexcept { ++nodes_made_; }
  /// Ends all waiting calls made for `object` with Error(closed).
  void cancel_all(const void* object);

  /// Records that the calling thread's lock() was granted.
  void locked(std::shared_ptr<const Contender> contender) noexcept;
  /// Nests and returns true if the calling thread holds the lock by lock() and the hold is valid.
  /// Otherwise changes nothing and returns false.
  bool lock_again() noexcept { return reentry_counter_.enter(); }
  /// Releases one count that lock_again() added for the calling thread. Returns false if there is
  /// none.
  bool unlock_again() noexcept { return reentry_counter_.leave(); }
  /// Releases one count of `owner`. Returns false if there is none of this kind.
  bool unlock(const Owner& owner, core::CountKind kind);
  /// Returns the counts of `owner` if its hold is valid, else counts of 0.
  core::Ownership ownership(const Owner& owner);
  /// Registers a public object on this path.
  void attach();
  /// Unregisters a public object. Returns true if it was the last one and the lock is still held by
  /// lock() or lock_shared().
  bool detach();
  /// The znode of an owner's contender, which waits or holds; empty if there is no contender. The
  /// contenders of this client can share a znode: `before` of them are ahead of this one there.
  struct Standing {
    std::string node;
    std::size_t before = 0;
  };
  Standing standing_of(const Owner& owner);
  std::string node_of(const Owner& owner) { return standing_of(owner).node; }
  /// Records a new znode of this client: its sequence number, its czxid and its session. Returns
  /// true if the sequence numbers began again, because the path was recreated. Then the older
  /// znodes of this client were deleted with the old path, and their contenders have been notified.
  /// A request that was sent earlier may have met the new znode, because it can have the name of an
  /// older znode.
  ///
  /// Before a new session, the ensemble may have been emptied or restored. Then the czxids can
  /// begin again too. So all knowledge that depends on earlier czxids is forgotten.
  ///
  /// REQUIRES: within a Section.
  bool record_own_node(core::Sequence number, FencingToken token, SessionId session);
  /// Returns whether the znode with this czxid is known to have been deleted with its path.
  /// REQUIRES: within a Section.
  bool is_stale(FencingToken token) const noexcept {
    return gone_ != FencingToken{} && token <= gone_;
  }
  /// Records a sequence number that a server gave to a child, or will give to the next child.
  /// REQUIRES: within a Section.
  void counter_is_at(core::Sequence number);
  /// Returns whether the sequence counter was at its end when it was last read. Then a new znode
  /// would have to be deleted at once, and until then no client could recreate the path.
  /// REQUIRES: within a Section.
  bool counter_has_ended() const noexcept { return counter_has_ended_; }
  /// Returns the names of this client's znodes in this queue.
  std::vector<std::string> nodes();
  /// REQUIRES: within a Section.
  std::vector<std::string> nodes_in_section() const;

  /// Ends all waiting calls with this error.
  void fail_waiting(Errc code, const std::string& cause);

  /// Sends the delete of every znode that was released or whose calls were all abandoned. Also ends
  /// the holds that have lapsed by the clock.
  void settle();
  /// Ends waiting calls with Error(closed) and makes holds lost: the client is closing.
  void close();

  void thread_exits(Owner owner) noexcept override;

  /// A lock guard of the mutex. The constructor first sends the releases that leaves() put off. The
  /// destructor releases the declined grants, unlocks the mutex and runs the tasks of the outbox.
  class Section {
   public:
    explicit Section(PathLock& path_lock);
    /// `lock` holds the mutex.
    Section(PathLock& path_lock, std::unique_lock<std::timed_mutex> lock);
    ~Section();
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    PathLock& path_lock_;
    std::unique_lock<std::timed_mutex> lock_;
  };

  // Called by contenders and their parts. REQUIRES: within a Section.

  /// Puts off the release of a contender's znode, so that the calling thread need not send it. A
  /// library thread sends it soon, or the next Section does.
  void leaves(std::shared_ptr<Contender> contender) {
    leaving_.push_back(std::move(contender));
    put_off_ = true;
  }
  /// Runs `task` at the end of this Section, with the mutex released.
  void later(std::function<void()> task) { outbox_.push_back(std::move(task)); }
  /// Releases the one count of `contender` at the end of this Section. The contender was granted
  /// after all its calls had been abandoned.
  void declines(std::shared_ptr<Contender> contender, core::CountKind kind) {
    declining_.emplace_back(std::move(contender), kind);
  }
  void forget(const Contender& contender) noexcept;
  /// Returns whether at least the last four grants had to wait. Then a new contender very probably
  /// does not find the lock free.
  bool is_crowded() const noexcept { return waited_in_a_row_ >= 4; }
  /// Records the grant of a znode. `waited`: it had to wait for another znode.
  void granted(bool waited) noexcept { waited_in_a_row_ = waited ? waited_in_a_row_ + 1 : 0; }
  SequenceHint& sequence_hint() noexcept { return sequence_hint_; }
  LocalHandoff& local_handoff() noexcept { return local_handoff_; }
  LateCreates& late_creates() noexcept { return late_creates_; }
  CreateLimiter& create_limiter() noexcept { return create_limiter_; }
  /// Returns whether a new contender need not request the count of children. Either other
  /// contenders are very probably ahead of it, or its sequence number will show that it is first.
  bool goes_by_number() const noexcept { return is_crowded() || sequence_hint_.may_come(); }
  /// Records the stat of the lock path in a successful reply. Ignores other replies.
  void path_seen(const client::Reply& stat);
  /// Sends at most one request, on `session`: a contender waits for an announced release.
  void announcement_awaited(SessionId session) noexcept;
  /// Returns whether an announced release of the predecessor with this czxid is believed.
  bool believes_announcement(FencingToken predecessor) const noexcept {
    return trust_.believes(predecessor);
  }
  /// Creates a contender and registers it under `key`.
  std::shared_ptr<Contender> begin(const Owner& key, Requester requester,
                                   core::AcquireFsm::Policy policy, LockEventSink event_sink,
                                   std::shared_ptr<Cohort> local);

  // Called by cohorts too. REQUIRES: within a Section.

  /// Returns whether a public object exists on this path.
  bool is_used() const noexcept { return objects_ > 0; }
  bool anyone_waits() const;

 private:
  /// Does the work of acquire(). REQUIRES: within a Section.
  void enter(const std::shared_ptr<PendingAcquire>& call, AcquireRequest request);
  /// Makes a library thread call enter() soon.
  void enter_soon(const std::shared_ptr<PendingAcquire>& call, AcquireRequest request);
  /// Makes a library thread call `step(*this)` soon, within a Section. Returns false without memory
  /// for this.
  template <class Step>
  bool soon(Step step) noexcept;
  void acl_answered(const client::Reply& reply);
  /// Returns the contender of `owner`, or null. REQUIRES: within a Section.
  std::shared_ptr<Contender> find(const Owner& owner) const;
  /// Returns the oldest contender that was created on behalf of `owner`, or null. Its own owner can
  /// be another one: see AcquireRequest::on_behalf_of. REQUIRES: within a Section.
  std::shared_ptr<Contender> first_on_behalf_of(const Owner& owner) const;
  /// Returns a copy of contenders_, because a contender that is notified may be forgotten. The
  /// order is that in which the owners were made, so that a simulated run can be repeated.
  /// REQUIRES: within a Section.
  std::map<Owner, std::shared_ptr<Contender>> by_owner() const;
  /// Returns the cohort of the contenders with these two policies; creates it if necessary.
  /// Returns null if contenders with these `terms` share no znode.
  std::shared_ptr<Cohort> cohort(const core::AcquireFsm::Policy& policy,
                                 const core::CohortPolicy& terms);

  const std::shared_ptr<EngineContext> core_;
  const core::LockPath path_;
  ReentryCounter reentry_counter_;

  std::atomic<std::uint64_t> nodes_made_ = 0;
  std::atomic<int> deferred_{0};  ///< calls of enter_soon() and sweep_soon() pending
  std::timed_mutex mutex_;
  // guarded by mutex_
  std::unordered_map<Owner, std::shared_ptr<Contender>> contenders_;
  std::vector<std::shared_ptr<Cohort>> cohorts_;  ///< one for each pair of policies
  std::vector<std::function<void()>> outbox_;
  std::vector<std::shared_ptr<Contender>> leaving_;
  bool put_off_ = false;  ///< leaves() was called in this Section
  std::vector<std::pair<std::shared_ptr<Contender>, core::CountKind>> declining_;
  std::size_t objects_ = 0;
  int waited_in_a_row_ = 0;  ///< latest grants that all had to wait
  SequenceHint sequence_hint_{*this};
  LocalHandoff local_handoff_;
  core::AnnouncementTrust trust_;
  LateCreates late_creates_{*this};
  CreateLimiter create_limiter_{core_->settings().creates_at_once};
  bool counter_has_ended_;
  core::Sequence newest_number_{};
  FencingToken newest_{};  ///< czxid of this client's newest znode
  SessionId newest_session_{};
  FencingToken gone_{};  ///< newest czxid deleted with its path
};

/// Returns a callback that calls `step(*self, arguments...)` within a Section. It does nothing if
/// `self` does not exist any more.
template <class Self, class Step>
auto entering(std::weak_ptr<Self> self, Step step) {
  return [self = std::move(self), step = std::move(step)](const auto&... news) {
    const auto alive = self.lock();
    if (!alive) return;
    const PathLock::Section section(alive->path_lock());
    step(*alive, news...);
  };
}

}  // namespace zklock::detail
