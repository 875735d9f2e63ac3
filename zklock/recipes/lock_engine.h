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
#include "zklock/core/hold_limit.h"
#include "zklock/core/local_batch.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/ownership.h"
#include "zklock/core/seldom.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/owner.h"
#include "zklock/recipes/client_core.h"
#include "zklock/recipes/late_creates.h"
#include "zklock/recipes/lock_events.h"
#include "zklock/recipes/own_successors.h"
#include "zklock/recipes/own_turn.h"
#include "zklock/recipes/recursion.h"
#include "zklock/recipes/thread_exit.h"
#include "zklock/recipes/turnstile.h"

namespace zklock::recipes {

class AcquireCall;
class Contender;
class LocalQueue;

/// How an acquire ended: with a count of `contender`, or with an error, or with neither (the
/// deadline passed, or it was cancelled).
struct Outcome {
  std::shared_ptr<Contender> contender = {};
  std::optional<Error> error = {};
};

/// One call that wants the lock.
struct Wanted {
  Owner owner;                             ///< calls of equal owners nest
  std::optional<Owner> on_behalf_of = {};  ///< whom node and Hold name; `owner` when unset
  core::QueueRule rule = core::QueueRule::mutex();
  /// By which it waits for its turn to queue by `rule`, if this call makes the contender.
  core::Seldom<core::QueueRule> gate = {};
  Deadline deadline;
  core::CountKind kind = core::CountKind::hold;
  bool queue_again = true;  ///< after losing the node
  /// Of the public object, for cancel_all(): true once that is being destroyed.
  std::shared_ptr<const std::atomic<bool>> on_behalf = {};
  core::HoldLimit limit = {};                 ///< of the hold, if this call does not nest
  LockAudience audience = {};                 ///< of the contender, if this call makes it
  std::chrono::milliseconds lock_delay = {};  ///< the same
  core::LocalTerms local = {};                ///< the same; with the rule of a mutex only
  bool blocks = false;  ///< the thread that waits for the end keeps the deadline
  std::optional<Requester> requester = {};  ///< when another thread begins the call
  /// Called once, with no lock held, on a thread that must not be kept; runs no user code.
  std::function<void(Outcome)> done = {};
};

/// All that one client has to do with one lock path: its contenders, by owner. The one mutex of
/// this class guards them all; what has to be called outside of it goes through the outbox.
///
/// Thread-safety: all members, from any thread.
class LockEngine : public ThreadExitListener, public std::enable_shared_from_this<LockEngine> {
 public:
  /// `counter_ended`: the path's sequence counter was at its end when it was last seen.
  LockEngine(std::shared_ptr<ClientCore> core, core::LockPath path, bool counter_ended);
  ~LockEngine();

  ClientCore& core() noexcept { return *core_; }
  const core::LockPath& path() const noexcept { return path_; }

  /// Nests, joins this owner's waiting contender, or queues. `wanted.done` may be called before
  /// acquire() returns, but after all locks are released. If the mutex is not free within some
  /// milliseconds, or until the deadline, a thread of the library does this soon. Throws
  /// Error(closed), and whatever the ports throw when the system gives no more; then there is no call.
  void acquire(const std::shared_ptr<AcquireCall>& call, Wanted wanted);
  /// Withdraws the contender of `owner` soon, if all its calls have been abandoned by then. Without
  /// memory for that it stays until its grant, which is released, or until flush().
  void sweep_soon(const Owner& owner) noexcept;
  /// Returns how many lock znodes of this client the servers have confirmed on this path.
  std::uint64_t nodes_made() const noexcept { return nodes_made_; }
  void node_made() noexcept { ++nodes_made_; }
  /// Ends all waiting calls made for `object` with Error(closed).
  void cancel_all(const void* object);

  /// The calling thread's lock() has been granted.
  void locked(std::shared_ptr<const Contender> contender) noexcept;
  /// Nests, if the calling thread has the lock by lock(), and it is valid. Else there is no change.
  bool lock_again() noexcept { return recursion_.enter(); }
  /// Gives back one count of the calling thread that lock_again() has taken. False if there is none.
  bool unlock_again() noexcept { return recursion_.leave(); }
  /// Gives back one count of `owner` that acquire() has given. False if there is none.
  bool unlock(const Owner& owner, core::CountKind kind);
  /// The counts of a valid hold; all 0 otherwise.
  core::Ownership ownership(const Owner& owner);
  /// Public objects on this path come and go.
  void attach();
  /// True if that was the last one, and something is still locked by lock().
  bool detach();
  /// The node of `owner`'s contender, waiting or holding; empty without one. It may be shared: how
  /// many of this client stand before that contender there.
  struct Standing {
    std::string node;
    std::size_t before = 0;
  };
  Standing standing_of(const Owner& owner);
  std::string node_of(const Owner& owner) { return standing_of(owner).node; }
  /// Within a Section: a contender of this client has got a node, of that number, made by `token`.
  /// True: the numbers have begun again, and so the nodes that were known before have gone with the
  /// path that they were in; their contenders have been told. What was submitted before may have met
  /// the new node, which can have the name of an older one.
  ///
  /// `session`: in which the node was created. Before it began, the servers may have been emptied or
  /// restored: then the tokens begin again too, and what is known by earlier tokens is forgotten.
  bool numbers_begin_again(core::Sequence number, FencingToken token, SessionId session);
  /// Within a Section. Whether what `token` made is known to have gone like that.
  bool went_with_path(FencingToken token) const noexcept {
    return gone_ != FencingToken{} && token <= gone_;
  }
  /// Within a Section. A server has answered that a child was numbered so, or will be.
  void counter_is_at(core::Sequence number);
  /// Within a Section. True if the sequence counter was at its end when it was last seen. Then a new
  /// node would be deleted at once, and would keep the others from making the path anew.
  bool counter_has_ended() const noexcept { return counter_has_ended_; }
  /// The names of all this client's nodes in this queue.
  std::vector<std::string> nodes();
  /// REQUIRES: within a Section.
  std::vector<std::string> nodes_in_section() const;

  /// Ends all waiting calls with this error.
  void fail_waiting(Errc code, const std::string& cause);

  /// Sends the removal of every node whose holder has released it or whose calls were abandoned.
  void settle();
  /// The client is closing: waiting calls end with Error(closed), holds are lost.
  void close();

  void thread_exits(Owner owner) noexcept override;

  /// Holds the mutex; begins with what was put off by leaves(), and on its end runs what was put
  /// into the outbox, with the mutex released.
  class Section {
   public:
    explicit Section(LockEngine& engine);
    /// `lock`: of the mutex, held.
    Section(LockEngine& engine, std::unique_lock<std::timed_mutex> lock);
    ~Section();
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    LockEngine& engine_;
    std::unique_lock<std::timed_mutex> lock_;
  };

  /// For contenders, within a Section: one that has let go, and need not have its node removed by
  /// the thread that is here. Another does it soon; not later than whoever comes here next.
  void leaves(std::shared_ptr<Contender> contender) {
    leaving_.push_back(std::move(contender));
    put_off_ = true;
  }
  /// For contenders, within a Section.
  void later(std::function<void()> task) { outbox_.push_back(std::move(task)); }
  /// For contenders, within a Section: a contender was granted after all its calls had been abandoned.
  /// It releases its one count of `kind` at the end of this Section.
  void declines(std::shared_ptr<Contender> contender, core::CountKind kind) {
    declining_.emplace_back(std::move(contender), kind);
  }
  void forget(const Contender& contender) noexcept;
  /// It is so seldom free that asking whether it is would be in vain.
  bool is_crowded() const noexcept { return waited_in_a_row_ >= 4; }
  /// A node of this queue was granted, at once or after having waited for another.
  void granted(bool waited) noexcept { waited_in_a_row_ = waited ? waited_in_a_row_ + 1 : 0; }
  OwnTurn& own_turn() noexcept { return own_turn_; }
  OwnSuccessors& own_successors() noexcept { return own_successors_; }
  LateCreates& late_creates() noexcept { return late_creates_; }
  Turnstile& turnstile() noexcept { return turnstile_; }
  /// What a new contender need not ask: whether it is alone. It hardly is, or will see that it is
  /// the first.
  bool goes_by_number() const noexcept { return is_crowded() || own_turn_.may_come(); }
  /// Within a Section. `stat`: a reply with the stat of the lock path; any other tells nothing.
  void path_seen(const client::Reply& stat);
  /// Within a Section. A contender waits for an announcement: sends at most one request, on `session`.
  void announcement_awaited(SessionId session) noexcept;
  /// Within a Section. Returns whether an announced release is believed of the predecessor that was
  /// made by `predecessor`.
  bool believes_announcement(FencingToken predecessor) const noexcept {
    return trust_.believes(predecessor);
  }
  std::shared_ptr<Contender> begin(const Owner& key, Requester requester,
                                   core::AcquireFsm::Policy policy, LockAudience audience,
                                   std::shared_ptr<LocalQueue> local);

  /// For local queues, the same. There is a public object on this path.
  bool is_used() const noexcept { return objects_ > 0; }
  bool anyone_waits() const;

 private:
  /// acquire(), within a Section.
  void enter(const std::shared_ptr<AcquireCall>& call, Wanted wanted);
  void enter_soon(const std::shared_ptr<AcquireCall>& call, Wanted wanted);
  /// Calls `step(*this)` within a Section, soon, on a thread of the library. Returns false if there
  /// was no memory for that.
  template <class Step>
  bool soon(Step step) noexcept;
  void acl_answered(const client::Reply& reply);
  /// Within a Section. Null without one.
  std::shared_ptr<Contender> find(const Owner& owner) const;
  /// Within a Section. A copy: a contender that is notified may be forgotten. In the order in which
  /// the owners were made, so that a simulated run can be repeated.
  std::map<Owner, std::shared_ptr<Contender>> by_owner() const;
  /// Null when nothing is shared on these terms.
  std::shared_ptr<LocalQueue> local_queue(const core::AcquireFsm::Policy& policy,
                                          const core::LocalTerms& terms);

  const std::shared_ptr<ClientCore> core_;
  const core::LockPath path_;
  Recursion recursion_;

  std::atomic<std::uint64_t> nodes_made_ = 0;
  std::atomic<int> deferred_{0};  ///< calls to be begun or swept soon
  std::timed_mutex mutex_;
  // guarded by mutex_
  std::unordered_map<Owner, std::shared_ptr<Contender>> contenders_;
  std::vector<std::shared_ptr<LocalQueue>> local_queues_;  ///< one for all who agree
  std::vector<std::function<void()>> outbox_;
  std::vector<std::shared_ptr<Contender>> leaving_;
  bool put_off_ = false;  ///< one of these, in this Section
  std::vector<std::pair<std::shared_ptr<Contender>, core::CountKind>> declining_;
  std::size_t objects_ = 0;
  int waited_in_a_row_ = 0;  ///< grants, the last ones
  OwnTurn own_turn_{*this};
  OwnSuccessors own_successors_;
  core::AnnouncementTrust trust_;
  LateCreates late_creates_{*this};
  Turnstile turnstile_{core_->settings().creates_at_once};
  bool counter_has_ended_;
  core::Sequence newest_number_{};
  FencingToken newest_{};  ///< of this client's nodes
  SessionId newest_session_{};
  FencingToken gone_{};  ///< the newest of those that went with their path
};

/// What hears news for `self`: `step` is called with it, within a Section, and whatever else comes;
/// not when it is gone.
template <class Self, class Step>
auto entering(std::weak_ptr<Self> self, Step step) {
  return [self = std::move(self), step = std::move(step)](const auto&... news) {
    const auto alive = self.lock();
    if (!alive) return;
    const LockEngine::Section section(alive->engine());
    step(*alive, news...);
  };
}

}  // namespace zklock::recipes
