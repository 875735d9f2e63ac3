// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "zklock/core/lock_path.h"
#include "zklock/core/log_line.h"
#include "zklock/core/ownership.h"
#include "zklock/core/slow_wait.h"
#include "zklock/engine/create_limiter.h"
#include "zklock/engine/late_creates.h"
#include "zklock/engine/path_knowledge.h"
#include "zklock/engine/reentry_counter.h"
#include "zklock/engine/sequence_hint.h"
#include "zklock/engine/session/deadlock_detector.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/engine/session/thread_exit.h"
#include "zklock/engine/session_handoff.h"
#include "zklock/error.h"
#include "zklock/owner.h"

namespace zklock::detail {

class Contender;
class LockNode;
class PendingAcquire;
struct AcquireRequest;

/// The state of one client at one lock path: its contenders, by owner, and what they share. The
/// client's EngineMutex guards all of it.
///
/// Thread-safety: any thread may call any member. REQUIRES, unless a comment says otherwise: the
/// engine mutex is not held.
class PathLock final : public EngineLock::State,
                       public ThreadExitListener,
                       public WaitedPath,
                       public std::enable_shared_from_this<PathLock> {
 public:
  /// `counter_ended`: the path's sequence counter was at its end when it was last read.
  PathLock(std::shared_ptr<EngineContext> context, core::LockPath path, bool counter_ended);
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;

  // The engine mutex may be held.

  EngineContext& context() const noexcept { return *context_; }
  const core::LockPath& path() const noexcept { return path_; }
  std::string child(std::string_view name) const { return path_.child(name); }
  /// Returns the argument for an EngineLock.
  EngineLock::Entry entry() const noexcept { return {*context_, this}; }
  /// Logs a warning about this lock path. The calling thread may hold any mutex.
  void warn(const std::string& text) const {
    context_->warn(core::log_line("lock", path_.str(), text, {}));
  }
  /// Returns the number of confirmed creates of this client's lock znodes on this path.
  std::uint64_t nodes_made() const noexcept { return nodes_made_; }
  void node_made() noexcept { ++nodes_made_; }

  // The calls of the user.

  /// Begins `call`: it nests, joins the waiting contender of its owner, or enqueues a new
  /// contender. `request.done` may be called before acquire() returns, but only with no lock held.
  /// Returns an error if the client is closed or the public object is destroyed. Then the call has
  /// not begun, and `request.done` is never called.
  std::optional<Error> acquire(const std::shared_ptr<PendingAcquire>& call, AcquireRequest request);
  /// Ends all waiting calls made for `object` with Error(closed).
  void cancel_all(const void* object);

  /// Nests and returns true if the calling thread holds the lock by lock() and the hold is valid.
  /// Otherwise changes nothing and returns false.
  bool lock_nested() noexcept { return reentry_counter_.enter(); }
  /// Releases one count that lock_nested() added for the calling thread. Returns false if there is
  /// none.
  bool unlock_nested() noexcept { return reentry_counter_.leave(); }
  /// Releases one count of `owner`, but none that lock_nested() added. Returns false if there is
  /// none. See includes() for `access`.
  bool unlock(const Owner& owner, core::CountKind kind, Access access = Access::exclusive);
  /// Throws Error(not_owner), after unlock() has returned false. The text says what `owner` holds
  /// instead, or which owner of this client holds. Sends nothing.
  [[noreturn]] void refuse_unlock(const Owner& owner, core::CountKind kind, const char* operation);
  /// Returns the counts of `owner` if its hold is valid, else counts of 0. See includes() for
  /// `access`. Reads the clock: a hold that has lapsed becomes lost.
  core::Ownership ownership(const Owner& owner, Access access = Access::exclusive);
  /// Registers a public object on this path.
  void attach();
  /// Unregisters a public object. Warns if it was the last one, the client is open, and a count of
  /// lock() or lock_shared() was not released.
  void detach();
  /// The position of an owner's contender, waiting or holding. If the owner is no contender's key,
  /// the contender that first_on_behalf_of() returns is used.
  struct Standing {
    std::string node;       ///< name of its znode; empty without a contender
    std::size_t ahead = 0;  ///< contenders ahead of it that share the znode
  };
  Standing standing_of(const Owner& owner);
  std::string node_of(const Owner& owner) { return standing_of(owner).node; }
  /// Returns the names of this client's znodes in this queue.
  std::vector<std::string> nodes() const;

  /// Logs what the contender that has waited the longest waits for. Does nothing if none waits.
  void log_wait(const std::string& what);

  /// Ends all waiting calls with this error.
  void fail_waiting(Errc code, const std::string& cause);

  /// Reads the clock: a hold that has lapsed becomes lost.
  void check_clocks();
  /// Ends waiting calls with Error(closed) and makes holds lost: the client is closing.
  void close();

  void thread_exits(Owner owner) noexcept override;

  // REQUIRES for all others: the engine mutex is held.

  void assert_held() const noexcept { context_->mutex().assert_held(); }
  void assert_invariants() const noexcept override;
  /// Runs `task` after the EngineLock has ended, without the engine mutex.
  void after_unlock(Outbox::Task task) { context_->mutex().after_unlock(std::move(task)); }
  /// Returns whether a public object exists on this path.
  bool is_used() const noexcept { return objects_ > 0; }

  // The contenders.

  void enlist(const std::shared_ptr<Contender>& contender);
  /// Unregisters a contender. Does nothing if it is not registered.
  void dismiss(const Contender& contender) noexcept;
  /// Makes the contender of `owner` forget the calls that have ended. Withdraws it if no call is
  /// left.
  void drop_ended_calls(const Owner& owner) noexcept;
  /// Returns whether a contender of this client waits here.
  bool anyone_waits() const;
  /// Does what nodes() does.
  std::vector<std::string> own_node_names() const;
  /// Records that the lock() of `thread` is granted. See ReentryCounter::begin().
  void on_locked(std::uint64_t thread, std::shared_ptr<const HoldRecord> record) noexcept {
    reentry_counter_.begin(thread, std::move(record));
  }
  /// Adds the contenders to the states of their labels. Returns how many there are. Reads the
  /// clock: a hold that has lapsed can become lost.
  std::size_t add_to(LabelStates& states) const;
  const std::string& waited_path() const noexcept override { return path().str(); }
  BlockedContender blockers_of(const Owner& key) override;

  // The lock nodes.

  /// Returns the lock nodes that have a local queue. No two have equal policies.
  const std::vector<std::shared_ptr<LockNode>>& shared_nodes() const noexcept {
    return shared_nodes_;
  }
  void add_shared_node(std::shared_ptr<LockNode> node) { shared_nodes_.push_back(std::move(node)); }
  void remove_shared_node(const LockNode& node) noexcept {
    std::erase_if(shared_nodes_, [&](const auto& each) { return each.get() == &node; });
  }
  /// Called at each tick of the LeaseKeeper by each lock node that has not ended. `tick`: its
  /// number.
  void on_tick(std::uint64_t tick);
  /// Notifies the lock nodes of this client that may have been deleted with the old path.
  void on_path_recreated();
  /// Returns whether a new contender does not request the number of children after its create. That
  /// is so if the path is crowded, or if the sequence number of the new znode will probably show
  /// that it is first.
  bool omits_count() const noexcept {
    return knowledge_.is_crowded() || sequence_hint_.expects_first();
  }
  PathKnowledge& knowledge() noexcept { return knowledge_; }
  SequenceHint& sequence_hint() noexcept { return sequence_hint_; }
  SessionHandoff& session_handoff() noexcept { return session_handoff_; }
  LateCreates& late_creates() noexcept { return late_creates_; }
  CreateLimiter& create_limiter() noexcept { return create_limiter_; }

 private:
  /// Returns why a call may not begin; std::nullopt if it may.
  std::optional<Error> refusal(const AcquireRequest& request) const;
  /// Returns whether a call with this access may use the counts of `contender`. Access::permits
  /// covers every contender, because a request for permits joins an exclusive hold of its owner.
  /// Any other access covers the contenders without permits.
  static bool includes(Access access, const Contender& contender);
  struct Waiter {
    Owner owner;
    const PendingAcquire* call;  ///< valid while the engine mutex is held
  };
  /// Returns the call that has waited the longest, and its owner; std::nullopt if none waits.
  std::optional<Waiter> oldest_waiter() const;
  /// Does the work of close(). Can be called twice.
  void end_all();
  std::string not_owner_text(const Owner& owner, core::CountKind kind);
  /// Returns the contender of `owner`, or null.
  std::shared_ptr<Contender> find(const Owner& owner) const;
  /// Returns the oldest contender that was created on behalf of `owner`, or null. Its key() can be
  /// a different owner: see AcquireRequest::on_behalf_of.
  std::shared_ptr<Contender> first_on_behalf_of(const Owner& owner) const;
  /// Returns a copy of contenders_, for a loop that dismisses some of them. The order is that in
  /// which the owners were made, so that a simulated run can be repeated.
  std::map<Owner, std::shared_ptr<Contender>> by_owner() const;

  const std::shared_ptr<EngineContext> context_;
  const core::LockPath path_;
  std::atomic<std::uint64_t> nodes_made_ = 0;
  std::size_t objects_ = 0;  ///< public objects
  PathKnowledge knowledge_;
  SequenceHint sequence_hint_{*this};
  SessionHandoff session_handoff_;
  LateCreates late_creates_{*this};
  CreateLimiter create_limiter_{context_->settings().max_in_flight};
  ReentryCounter reentry_counter_;
  std::vector<std::shared_ptr<LockNode>> shared_nodes_;
  std::unordered_map<Owner, std::shared_ptr<Contender>> contenders_;
  core::SlowWait slow_wait_;
  std::uint64_t last_tick_ = 0;  ///< the last tick with a lock node here
};

}  // namespace zklock::detail
