// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/executor.h"
#include "zklock/export.h"
#include "zklock/lock_state.h"
#include "zklock/subscription.h"

namespace zklock {

namespace detail {
class QueueObserver;
}  // namespace detail

/// Watches a lock without contending for it: whether it is free, its holders, and how many
/// contenders wait. The lock may be of any class. If the path does not exist, the lock is free.
///
/// A reported state may be out of date when it is read. So it does not prove that a client holds
/// the lock. States never go back: each call of a listener reports a state that is no older than
/// the one before. This holds even after a disconnect and on a new session. While the client is
/// disconnected, no state is reported. Changes of that time are reported when it is connected
/// again.
///
/// The client needs READ on the path and on its lock znodes. Newer servers send no events of
/// unreadable ones, so their changes may not be reported.
///
/// Cost: while there is a listener, every change of the queue costs one getChildren and one getData
/// for each holder's znode. A semaphore with a SharedCount adds one getData. This happens at most
/// fifty times a second, however often the queue changes. States in between are not reported.
/// Source: WLock's watchLock; Consul's blocking queries on a lock's key.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: a listener may destroy the observer.
class ZKLOCK_EXPORT LockObserver {
 public:
  /// Receives the state.
  using Listener = std::function<void(const LockState&)>;

  /// Creates an observer of the lock at `path`. Sends nothing and does not block. `executor` runs
  /// the listeners. By default they run where the client's callbacks run.
  /// Throws: Error(invalid_path | closed | forked).
  LockObserver(Client& client, std::string path, Executor executor = {});
  LockObserver(const LockObserver&) = delete;
  LockObserver& operator=(const LockObserver&) = delete;
  /// Removes all listeners and watches. Waits for listener calls in progress, but not for servers.
  /// If a listener of this observer runs the destructor, it waits for no call. Afterwards neither
  /// listeners nor the executor are called.
  ~LockObserver();

  /// Reads the state from a server. Blocks for two round trips, at most until the deadline; without
  /// one, for ClientOptions::connection_timeout. A free lock takes one round trip; a semaphore with
  /// a SharedCount takes three. If a holder's znode is deleted meanwhile, lists the queue again, up
  /// to five times in total. After that, a holder may be described only by the name of its znode.
  /// Throws: Error(no_auth | auth_failed | not_connected | closed | forked | server_error).
  [[nodiscard]] LockState state(Deadline deadline = Deadline::never()) const;

  /// Calls `listener` on the executor when the state is known, and after every change. If a hold
  /// lasts long, one more call shows its Participant::held_since. The calls come in order, one at a
  /// time. While the listener runs, newer states replace older ones: it then receives only the
  /// newest. An exception from the listener is logged and dropped. After Client::close() the
  /// listener is not called. Does not block.
  /// Throws: Error(closed | forked).
  Subscription add_listener(Listener listener);

  /// Returns the path of the lock, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept;

 private:
  std::shared_ptr<detail::QueueObserver> observer_;
};

}  // namespace zklock
