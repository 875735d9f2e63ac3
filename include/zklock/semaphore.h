// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/hold.h"
#include "zklock/mutex_options.h"
#include "zklock/participant.h"

namespace zklock {

namespace recipes {
class Lockable;
}

/// Some permits of a Semaphore, given back when it is destroyed, from any thread: a Hold, with all
/// that one has (token, lease, loss).
using Permit = Hold;

/// A fair, fenced counting semaphore over all processes.
///
/// Whoever wants several permits gets all of them at once or none: two who each want 3 of 4 never
/// block each other. Contenders are granted first come, first served: who wants many is not
/// overtaken by those who want few. It belongs to no thread, and calls do not nest.
///
/// How many permits there are is agreed upon by those who use the path: each says it, and who says
/// another number than the first contender gets the error settings_mismatch.
/// Sources: org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2; Redisson's
/// RSemaphore and RPermitExpirableSemaphore.
///
/// The acquiring functions throw what those of ReentrantMutex throw (but never lock_lost), and:
/// invalid_option when less than one permit is asked for, or more than there are: nothing was sent;
/// settings_mismatch. Waiting is a Boost.Thread interruption point. A contender watches the nearest
/// ones before it, as many as there are permits at most; who leaves wakes no more than as many.
/// Tokens rise in the order of arrival; permits held together have different ones.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class Semaphore {
 public:
  /// Effects: none on the servers, does not block.
  /// Throws: Error(invalid_option) for less than one permit; Error(invalid_path | closed | forked).
  Semaphore(Client& client, std::string path, int permits, MutexOptions options = {});
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore();

  /// Blocks; returns an empty Permit when the deadline passed or a stop was requested. The owner in
  /// `options` is what the node tells people.
  Permit acquire(int permits = 1, AcquireOptions options = {});
  /// One attempt, without queueing behind others; an empty Permit when there are not enough.
  Permit try_acquire(int permits = 1);

  /// As those of ReentrantMutex.
  void async_acquire(int permits, AcquireOptions options, AcquireHandler handler);
  std::future<Permit> async_acquire(int permits = 1, AcquireOptions options = {});
  Awaitable co_acquire(int permits = 1, AcquireOptions options = {});

  /// Everybody in the queue, in order; Participant::holds tells those who have their permits. As
  /// ReentrantMutex::participants.
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  /// How many permits nobody holds or waits for; none while a mutex of this path is held or waited
  /// for. Blocks for two round trips; out of date when it
  /// returns. Throws: as participants().
  int available_permits(Deadline deadline = Deadline::never()) const;

  /// How many there are.
  int permits() const noexcept { return permits_; }
  const std::string& path() const noexcept;

 private:
  std::shared_ptr<recipes::Lockable> lockable_;
  int permits_;
};

}  // namespace zklock
