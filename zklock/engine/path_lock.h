// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/ownership.h"
#include "zklock/core/slow_wait.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/lock_node.h"
#include "zklock/engine/path_queue.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/reentry_counter.h"
#include "zklock/engine/session/deadlock_detector.h"
#include "zklock/engine/session/lease_keeper.h"
#include "zklock/engine/session/thread_exit.h"
#include "zklock/error.h"
#include "zklock/owner.h"

namespace zklock::detail {

/// The state of one client at one lock path: its contenders, by owner, and what they share. The
/// client's EngineMutex guards all of it.
///
/// Thread-safety: any thread may call any member. REQUIRES for those of PathQueue: the engine mutex
/// is held. REQUIRES for all others, unless a comment says otherwise: it is not.
class PathLock final : public PathQueue, public ThreadExitListener, public WaitedPath {
 public:
  /// `counter_ended`: the path's sequence counter was at its end when it was last read.
  PathLock(std::shared_ptr<EngineContext> context, core::LockPath path, bool counter_ended);

  /// Begins `call`: it nests, joins the waiting contender of its owner, or enqueues a new
  /// contender. `request.done` may be called before acquire() returns, but only with no lock held.
  /// Returns an error if the client is closed or the public object is destroyed. Then the call has
  /// not begun, and `request.done` is never called.
  std::optional<Error> acquire(const std::shared_ptr<PendingAcquire>& call,
                               AcquireRequest request) override;
  /// Ends all waiting calls made for `object` with Error(closed).
  void cancel_all(const void* object);

  /// Nests and returns true if the calling thread holds the lock by lock() and the hold is valid.
  /// Otherwise changes nothing and returns false.
  bool lock_nested() noexcept { return reentry_counter_.enter(); }
  /// Releases one count that lock_nested() added for the calling thread. Returns false if there is
  /// none.
  bool unlock_nested() noexcept { return reentry_counter_.leave(); }
  /// Releases one count of `owner`, but none that lock_nested() added. Returns false if there is
  /// none. Counts of permits are released only if `access` is Access::permits.
  bool unlock(const Owner& owner, core::CountKind kind, Access access = Access::exclusive);
  /// Throws Error(not_owner), after unlock() has returned false. The text says what `owner` holds
  /// instead, or which owner of this client holds. Sends nothing.
  [[noreturn]] void refuse_unlock(const Owner& owner, core::CountKind kind, const char* operation);
  /// Returns the counts of `owner` if its hold is valid, else counts of 0. Counts of permits are
  /// returned only if `access` is Access::permits. Reads the clock: a hold that has lapsed becomes
  /// lost.
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
  std::vector<std::string> nodes();
  std::vector<std::string> own_node_names() const override;

  /// Logs what the contender that has waited the longest waits for. Does nothing if none waits.
  void log_wait(const std::string& what);

  /// Ends all waiting calls with this error.
  void fail_waiting(Errc code, const std::string& cause);

  /// Adds the contenders to the states of their labels. Returns how many there are. Reads the
  /// clock: a hold that has lapsed can become lost. REQUIRES: the engine mutex is held.
  std::size_t add_to(LabelStates& states) const;

  /// Reads the clock: a hold that has lapsed becomes lost.
  void check_clocks();
  /// Ends waiting calls with Error(closed) and makes holds lost: the client is closing.
  void close();

  void thread_exits(Owner owner) noexcept override;

  // WaitedPath. REQUIRES: the engine mutex is held.
  const std::string& waited_path() const noexcept override { return path().str(); }
  BlockedContender blockers_of(const Owner& key) override;

 private:
  // PathContext and PathQueue.
  void drop_ended_calls(const Owner& owner) noexcept override;
  bool anyone_waits() const override;
  void enlist(const std::shared_ptr<Contender>& contender) override;
  void dismiss(const Contender& contender) noexcept override;
  void on_locked(std::uint64_t thread, std::shared_ptr<const Grant> grant) noexcept override {
    reentry_counter_.begin(thread, std::move(grant));
  }
  void on_path_recreated() override;
  void assert_invariants() const noexcept override;

  void on_tick(std::uint64_t tick) override;

  std::shared_ptr<PathLock> self() {
    return std::static_pointer_cast<PathLock>(shared_from_this());
  }
  /// Returns why a call may not begin; std::nullopt if it may.
  std::optional<Error> refusal(const AcquireRequest& request) const;
  /// Returns whether the counts of `contender` belong to this access. Counts of permits belong to
  /// Access::permits only. It also includes all others: permits nest in a lock.
  static bool includes(Access access, const Contender& contender);
  /// Returns the call that has waited the longest, and its owner; std::nullopt if none waits.
  struct Waiter {
    Owner owner;
    const PendingAcquire* call;  ///< valid while the engine mutex is held
  };
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

  ReentryCounter reentry_counter_;
  std::unordered_map<Owner, std::shared_ptr<Contender>> contenders_;
  core::SlowWait slow_wait_;
  std::uint64_t last_tick_ = 0;  ///< the last tick with a lock node here
};

}  // namespace zklock::detail
