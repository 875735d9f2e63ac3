// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "zklock/awaitable.h"
#include "zklock/deadline.h"
#include "zklock/hold.h"

namespace zklock {

class Leadership;

namespace recipes {
struct GuardedWrites;
}

/// Receives the outcome of an asynchronous commit: null when everything was written, else an Error.
using CommitHandler = std::function<void(std::exception_ptr)>;

/// Writes to ZooKeeper that are carried out together, and only while a hold is valid: the servers
/// check the lock node in the same transaction. A holder that was paused, or cut off, and comes
/// back when somebody else has the lock, changes nothing. (For resources outside of ZooKeeper there
/// is Hold::token().)
/// @code
///   Hold hold = mutex.acquire();
///   GuardedTransaction tx(hold);
///   tx.set("/accounts/a", "90", a_version).set("/accounts/b", "110", b_version);
///   tx.commit();
/// @endcode
///
/// Paths are absolute, below the chroot of the hold's client. The nodes that it creates are not
/// ephemeral and have the ACL that ClientOptions::acl gives to the parents of locks. The writes are
/// carried out in the order in which they were added, each on what those before it left.
///
/// The transaction keeps no count of the lock: keep the hold until commit() has returned. It is
/// bound to the hold's session, and refers to it alone: it cannot be committed under a later hold.
/// The downgrade of a SharedMutex is no other hold; a commit that meets it takes a round trip more.
/// Source: Redisson's transactional locks; etcd's concurrency.Mutex.IsOwner() as the guard of a Txn.
///
/// Every commit throws, or hands over, Error:
///
/// | code                                     | path     | what has been written                   |
/// |------------------------------------------|----------|-----------------------------------------|
/// | lock_lost                                | lock     | nothing; it was lost before, or the     |
/// |                                          |          | servers found the lock node gone        |
/// | no_node, node_exists, not_empty,         | node     | nothing; that write was refused         |
/// | version_mismatch, no_auth, invalid_acl,  |          |                                         |
/// | quota_exceeded, server_error             |          |                                         |
/// | invalid_path, too_large                  | node,    | nothing was sent                        |
/// |                                          | lock     |                                         |
/// | not_connected, read_only, closed, forked | lock     | nothing (not_connected: it could not be |
/// |                                          |          | sent before the deadline)               |
/// | outcome_unknown                          | lock     | everything or nothing: the answer was   |
/// |                                          |          | lost, or did not come by the deadline,  |
/// |                                          |          | and it may yet be written. Read to find |
/// |                                          |          | out; do not just commit again           |
///
/// Thread-safety: distinct objects may be used from any thread, a single one not by two threads at
/// once; what has begun to be committed is independent of the object.
class GuardedTransaction {
 public:
  /// Effects: none on the servers, does not block. A lost hold is told by the commit.
  /// Throws: Error(not_owner) for an empty Hold.
  explicit GuardedTransaction(const Hold& hold);
  /// The same for the hold behind a leadership; any thread, whatever becomes of the leadership.
  /// Throws: Error(lock_lost) when it has been given up, and for none.
  explicit GuardedTransaction(const Leadership& leadership);
  GuardedTransaction(GuardedTransaction&& other) noexcept;
  GuardedTransaction& operator=(GuardedTransaction&& other) noexcept;
  GuardedTransaction(const GuardedTransaction&) = delete;
  GuardedTransaction& operator=(const GuardedTransaction&) = delete;
  ~GuardedTransaction();

  /// Another hold that has to be valid. Throws: Error(not_owner) for an empty Hold;
  /// Error(invalid_option) for one of another Client, whose node other servers may have.
  GuardedTransaction& also_guarded_by(const Hold& hold);
  GuardedTransaction& also_guarded_by(const Leadership& leadership);

  /// These add to the transaction; nothing is sent. Without a version, or with -1, any will do.
  /// Throw: Error(invalid_path) for a path that no node can have, and for what is refused at the
  /// commit: `create` and `remove` of "/"; Error(invalid_option) for a version below -1. Nothing
  /// is added then.
  ///
  /// A new node with these data. Its parent has to exist.
  GuardedTransaction& create(std::string path, std::string data = {});
  /// New data of a node that exists.
  GuardedTransaction& set(std::string path, std::string data,
                          std::optional<std::int32_t> expected_version = std::nullopt);
  /// A node that exists, and has no children.
  GuardedTransaction& remove(std::string path,
                             std::optional<std::int32_t> expected_version = std::nullopt);
  /// Changes nothing: the others are carried out only if the node has this version.
  GuardedTransaction& check(std::string path, std::int32_t version);

  /// Effects: everything is written, at one moment at which every hold was valid; or the Error
  /// says otherwise. Without any write it asks the servers whether the holds are valid.
  /// Blocks for one round trip. While the connection is lost it waits for it to come back, until
  /// the deadline or the loss of the hold, whichever comes first. It may be called again: then the
  /// same is written once more.
  /// An interruption point of Boost.Thread; after an interruption the outcome is unknown.
  /// Throws: Error, see above; also invalid_path for a write to the node of one of its locks.
  void commit(Deadline deadline = Deadline::never()) const;

  /// Does not block. `handler` is called exactly once, on the client's executor; what it throws is
  /// logged and dropped. Errors go to the handler; only Error(closed | forked), when there is no
  /// executor any more, is thrown.
  void async_commit(CommitHandler handler, Deadline deadline = Deadline::never()) const;

  /// The same as a future, which becomes ready exactly once.
  std::future<void> async_commit(Deadline deadline = Deadline::never()) const;

  using Awaitable = BasicAwaitable<void>;
  /// For coroutines: `co_await tx.co_commit();`. Resumes on the client's executor. Throws from
  /// co_await what commit() throws. The transaction has to live until then.
  Awaitable co_commit(Deadline deadline = Deadline::never()) const;

 private:
  GuardedTransaction& guard(std::shared_ptr<recipes::Contender> holder);

  std::unique_ptr<recipes::GuardedWrites> writes_;
};

}  // namespace zklock
