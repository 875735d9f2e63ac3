// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "zklock/client.h"
#include "zklock/composite_hold.h"
#include "zklock/composite_mutex.h"
#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/lock_options.h"
#include "zklock/participant.h"
#include "zklock/reentrant_mutex.h"
#include "zklock/semaphore.h"

namespace zklock {

/// The hold that MultiMutex::acquire() returns. It is lost as soon as any of its locks is lost.
using MultiHold = CompositeHold;

/// One lock of a MultiMutex: its path, and the access that a call requests there.
///
/// Thread-safety: a value.
class ZKLOCK_EXPORT LockPart {
 public:
  /// Returns a part that excludes all other contenders of the path, as a ReentrantMutex does.
  [[nodiscard]] static LockPart mutex(std::string path);
  /// Returns a part that acquires the write lock of a SharedMutex.
  [[nodiscard]] static LockPart writer(std::string path);
  /// Returns a part that acquires the read lock of a SharedMutex.
  [[nodiscard]] static LockPart reader(std::string path);
  /// Return a part that acquires `permits` permits of a Semaphore. The last argument is that of the
  /// constructor of Semaphore: the fixed count, or a shared count.
  [[nodiscard]] static LockPart permits(std::string path, int permits, int count);
  [[nodiscard]] static LockPart permits(std::string path, int permits, SharedCount count);

  /// Returns the path of the part, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  friend class MultiMutex;
  LockPart(std::string path, Access access) noexcept : path_(std::move(path)), access_(access) {}

  std::string path_;
  Access access_;
  bool is_writer_ = false;  ///< exclusive as a SharedMutex
  bool is_shared_ = false;  ///< whether the permit count is shared
  int permits_ = 0;         ///< requested permits
  int count_ = 0;           ///< fixed count, or initial shared count
};

/// Several locks of one ensemble as one reentrant lock: all or none. They can be of several kinds:
/// @code
///   MultiMutex transfer(client, {"/accounts/7", "/accounts/9"});
///   MultiMutex report(client, {LockPart::reader("/catalog"), LockPart::permits("/licences", 2, 10)});
/// @endcode
///
/// A call acquires the paths in their sorted order, whatever the order in the constructor. So the
/// calls of any MultiMutexes, with any paths, never wait for each other in a cycle. That holds
/// only for threads that hold no other lock when they call. A thread that holds a path, and then
/// acquires a path that sorts before it, with any class, can deadlock. A std::scoped_lock over
/// several MultiMutexes does not deadlock: if an attempt at one of them fails, it releases the
/// others.
///
/// While a call waits for one path, it holds the paths that sort before it. If that is too long,
/// use deadlines.
///
/// Cost: one round trip for each path if all paths are free.
///
/// A nested call of an owner shares the grants of all parts. So a nested call takes no further
/// permits. An owner that holds permits by a MultiMutex gets would_deadlock if it requests a lock
/// or another number of permits on that path.
///
/// The data of each znode contain a thread name, for people to read. For the first path it is the
/// calling thread; for every other path, the client's thread that continued the call.
///
/// The listener in `options` gets the events of each path, in order (see LockEvent::path and
/// LockEvent::part_index). The maximum hold time counts from the grant of the whole. If the owner
/// held a path before, the maximum hold time of that path does not change.
///
/// A lock delay applies to mutexes and writers. Readers and permits leave none.
///
/// A reader or writer part can use a path together with a SharedMutex. A permits part can use it
/// with a Semaphore, and a mutex part with a ReentrantMutex.
/// Source: org.apache.curator.framework.recipes.locks.InterProcessMultiLock, which takes locks of
/// several kinds, and acquires them in the order given.
/// Source: org.redisson.RedissonMultiLock.
///
/// An acquiring call throws the Errors of AcquiringLock, for the path that failed.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: an acquiring call that waits; see CompositeMutex.
class ZKLOCK_EXPORT MultiMutex : public CompositeMutex {
 public:
  /// Makes a mutex of a LockPart::mutex() on each of `paths`. Sends nothing; does not block.
  /// Throws: Error(invalid_option) if there is no path, one path occurs twice, or an option is
  /// outside its range. Error(invalid_path | closed | forked).
  MultiMutex(Client& client, std::vector<std::string> paths, const ExclusiveOptions& options = {});
  /// Makes a mutex of these parts. Sends nothing; does not block.
  /// Throws: as for paths. Also Error(invalid_option) for permits or a count outside the range of
  /// Semaphore.
  MultiMutex(Client& client, std::span<const LockPart> parts, const ExclusiveOptions& options = {});
  MultiMutex(Client& client, std::initializer_list<LockPart> parts,
             const ExclusiveOptions& options = {})
      : MultiMutex(client, std::span(parts.begin(), parts.size()), options) {}

  /// Returns the paths, in the order in the constructor.
  [[nodiscard]] const std::vector<std::string>& paths() const noexcept { return paths_; }

  /// Returns the contenders of each path, in the order in the constructor. Blocks for two round
  /// trips for each path, and for a third one if the path has a shared permit count. One deadline
  /// applies to all paths; see QueuedLock. Throws what participants() of QueuedLock throws;
  /// Error(bad_data) for a shared permit count.
  [[nodiscard]] std::vector<std::vector<Participant>> participants(
      Deadline deadline = Deadline::never()) const;

 private:
  ZKLOCK_HIDDEN static std::shared_ptr<detail::Composite> all_of(Client& client,
                                                                 std::span<const LockPart> parts,
                                                                 const ExclusiveOptions& options);

  std::vector<std::string> paths_;
};

}  // namespace zklock
