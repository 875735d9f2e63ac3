// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "zklock/awaitable.h"
#include "zklock/callback.h"
#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/hold.h"

namespace zklock {

class Leadership;

namespace detail {
struct GuardedWrites;
}

/// Receives the outcome of an asynchronous commit: null if everything was written, or an Error.
using CommitHandler = Callback<std::exception_ptr>;

/// Writes to ZooKeeper that are executed together, and only while the lock znode of a hold exists.
/// The server checks the znode in the same multi. If another contender has got the lock while the
/// holder was paused or disconnected, the transaction of that holder changes nothing. For resources
/// outside of ZooKeeper, use Hold::token().
/// @code
///   Hold hold = mutex.acquire();
///   GuardedTransaction tx(hold);
///   tx.set("/accounts/a", "90", a_version).set("/accounts/b", "110", b_version);
///   tx.commit();
/// @endcode
///
/// Paths are absolute, below the chroot of the hold's client. The created znodes are persistent and
/// have the ACL that ClientOptions::acl gives to the parents of locks. The writes are executed in
/// the order in which they were added. Each write sees the results of the earlier ones.
///
/// The transaction does not hold the lock: keep the Hold until the commit has reported its outcome.
/// It is bound to this hold and its session, and cannot be committed under a later hold. If a
/// writer of a SharedMutex downgrades, the transaction stays valid. A commit during the downgrade
/// can take one round trip more.
/// Source: Redisson's transactional locks; etcd's concurrency.Mutex.IsOwner() as the guard of a
/// Txn.
///
/// Every commit reports one of these Errors if it fails. The path of the Error is that of the lock,
/// or of the znode of the failed write:
///
/// | code                                     | path     | written                                |
/// |------------------------------------------|----------|----------------------------------------|
/// | lock_lost                                | lock     | nothing; the hold was lost or released |
/// |                                          |          | before, or the server found no lock    |
/// |                                          |          | znode                                  |
/// | no_node, node_exists, not_empty,         | znode    | nothing; that write was refused        |
/// | version_mismatch, no_auth, invalid_acl,  |          |                                        |
/// | quota_exceeded, server_error             |          |                                        |
/// | invalid_path                             | znode    | nothing; nothing was sent              |
/// | too_large                                | lock     | nothing; nothing was sent              |
/// | not_connected, read_only, closed, forked | lock     | nothing; not_connected: it could not   |
/// |                                          |          | be sent before the deadline            |
/// | outcome_unknown                          | lock     | everything or nothing: the reply was   |
/// |                                          |          | lost or late, and the writes may still |
/// |                                          |          | be executed. Read the data before      |
/// |                                          |          | committing again                       |
///
/// Thread-safety: distinct objects may be used from any thread, one object not by two threads at
/// once. A commit that has begun is independent of the object.
class ZKLOCK_EXPORT GuardedTransaction {
 public:
  /// Creates an empty transaction under `hold`. Sends nothing and does not block. Accepts a lost
  /// hold: the commit then fails.
  /// Throws: Error(not_owner) for an empty Hold.
  explicit GuardedTransaction(const Hold& hold);
  /// Creates an empty transaction under the hold of a leadership. May be called by any thread, also
  /// while the leadership ends.
  /// Throws: Error(lock_lost) if the leadership has ended, or is a default-constructed one.
  explicit GuardedTransaction(const Leadership& leadership);
  GuardedTransaction(GuardedTransaction&& other) noexcept;
  GuardedTransaction& operator=(GuardedTransaction&& other) noexcept;
  GuardedTransaction(const GuardedTransaction&) = delete;
  GuardedTransaction& operator=(const GuardedTransaction&) = delete;
  ~GuardedTransaction();

  /// Adds a hold or leadership that must be valid, too.
  /// Throws: what the constructor throws; Error(invalid_option) for a hold of another Client,
  /// because its znode may be on another ensemble.
  GuardedTransaction& also_guarded_by(const Hold& hold);
  GuardedTransaction& also_guarded_by(const Leadership& leadership);

  /// The next four functions add an operation to the transaction and send nothing. If no version is
  /// given, or -1, the operation accepts every version.
  /// Throws: Error(invalid_path) for a path that no znode can have, and for `create` and `remove`
  /// of "/"; Error(invalid_option) for a version below -1. Nothing is added then.
  ///
  /// Creates a znode with these data. Its parent must exist at the commit.
  GuardedTransaction& create(std::string path, std::string data = {});
  /// Sets the data of an existing znode.
  GuardedTransaction& set(std::string path, std::string data,
                          std::optional<std::int32_t> expected_version = std::nullopt);
  /// Deletes an existing znode without children.
  GuardedTransaction& remove(std::string path,
                             std::optional<std::int32_t> expected_version = std::nullopt);
  /// Changes nothing. The other operations are executed only if the znode has this version.
  GuardedTransaction& check(std::string path, std::int32_t version);

  /// Executes all operations in one multi, which also checks that the lock znodes of all its holds
  /// exist. If it throws, the table above says what was written. Without any operation, only checks
  /// the lock znodes. Blocks for one round trip. While the client is disconnected, waits until it
  /// is connected, the deadline passes or a hold is lost. May be called again: then the operations
  /// are executed once more. An interruption point of Boost.Thread. After an interruption the
  /// outcome is unknown.
  /// Throws: the Errors of the table above; invalid_path even when it writes to one of the lock
  /// znodes that it checks.
  void commit(Deadline deadline = Deadline::never()) const;

  /// Begins a commit and does not block. The client's executor calls `handler` exactly once, with
  /// the outcome. Exceptions from the handler are logged and dropped.
  /// Throws: Error(closed | forked), because there is no executor any more. All other errors go to
  /// the handler.
  void async_commit(Deadline deadline, CommitHandler handler) const;
  void async_commit(CommitHandler handler) const {
    async_commit(Deadline::never(), std::move(handler));
  }

  /// Begins a commit and does not block. The future becomes ready exactly once, with the outcome.
  [[nodiscard]] std::future<void> async_commit(Deadline deadline = Deadline::never()) const;

  /// The result of co_commit().
  using Awaitable = BasicAwaitable<void>;
  /// For coroutines: `co_await tx.co_commit();`. Resumes on the client's executor. Throws from
  /// co_await what commit() throws.
  /// REQUIRES: the transaction lives until co_await has begun the commit.
  Awaitable co_commit(Deadline deadline = Deadline::never()) const;

 private:
  ZKLOCK_HIDDEN GuardedTransaction& guard(std::shared_ptr<detail::Contender> holder);

  std::unique_ptr<detail::GuardedWrites> writes_;
};

}  // namespace zklock
