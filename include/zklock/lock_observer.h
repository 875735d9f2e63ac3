// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/client_options.h"
#include "zklock/deadline.h"
#include "zklock/participant.h"

namespace zklock {

namespace recipes {
class QueueObserver;
}  // namespace recipes

/// A lock, as it looks from outside.
///
/// Thread-safety: a value.
struct LockState {
  /// Those who hold, in the order of arrival: one of a mutex, or several readers, or several who
  /// have permits. The others have to wait, whoever they are; but as long as a node is there that was
  /// let go of, its holder is named, and the next may hold already. Nobody while the lock is kept from
  /// all after a loss (MutexOptions::lock_delay).
  std::vector<Participant> holders;
  std::size_t waiting = 0;  ///< how many more are in the queue

  bool is_free() const noexcept { return holders.empty() && waiting == 0; }
  friend bool operator==(const LockState&, const LockState&) = default;
};

/// Watches a lock without contending for it: is it free, who holds it, how many wait. The lock may
/// be of any class.
///
/// What it tells may be out of date when it is read; nobody may conclude from it that he holds, or
/// may write. It never goes back: what a listener is told is no older than what it was told before,
/// through disconnects, and on a new session too. While the connection is lost nothing is told,
/// and what changed meanwhile is told afterwards. A missing path is a free lock.
///
/// Cost: while there is a listener, every change in the queue costs the list of the queue and one
/// read of each holder's node (and of a shared number of permits); but fifty times a second at
/// most, however often the queue changes. What came and went in between is not told.
/// Source: WLock's watchLock; Consul's blocking queries on a lock's key.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class LockObserver {
 public:
  using Listener = std::function<void(const LockState&)>;

  /// Effects: none on the servers, does not block. `path` is that of a lock. `executor` runs the
  /// listeners; unset: as the client's callbacks.
  /// Throws: Error(invalid_path | closed | forked).
  LockObserver(Client& client, std::string path, Executor executor = {});
  LockObserver(const LockObserver&) = delete;
  LockObserver& operator=(const LockObserver&) = delete;
  /// Ends all watching; listeners and executor are not called any more. Waits for calls under way;
  /// from within one: for none. Does not wait for servers.
  ~LockObserver();

  /// Asks the servers. Blocks for two round trips (one when the lock is free), at most until the
  /// deadline or for ClientOptions::connection_timeout.
  /// Throws: Error(no_auth | auth_failed | not_connected | closed | forked | server_error).
  LockState state(Deadline deadline = Deadline::never()) const;

  /// Calls `listener` with the state as soon as that is known, and for every change from then on,
  /// in order, one call at a time, on the executor. When changes come faster than the listener
  /// returns, it is told the newest state and those between are left out. An exception that it
  /// throws is logged and dropped. After Client::close() nothing is told.
  /// Does not block. Throws: Error(closed | forked).
  Subscription add_listener(Listener listener);

  const std::string& path() const noexcept;

 private:
  std::shared_ptr<recipes::QueueObserver> observer_;
};

}  // namespace zklock
