// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <stop_token>
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

/// How many permits a Semaphore has where that number is kept on the servers, and may be changed
/// while it is used.
///
/// Thread-safety: a value.
struct SharedCount {
  /// The number for who comes first: whoever finds none puts this there. The others take what they
  /// find. From 0, which lets everybody wait.
  int initial = 1;
};

/// A fair, fenced counting semaphore over all processes.
///
/// Whoever wants several permits gets all of them at once or none: two who each want 3 of 4 never
/// block each other. Contenders are granted first come, first served: who wants many is not
/// overtaken by those who want few. It belongs to no thread, and calls do not nest.
///
/// How many permits there are is one of two things, and those who meet at one path agree on which:
/// who does not gets the error settings_mismatch.
///
/// - A fixed number. Each contender says it, and who says another than the first contender gets
///   settings_mismatch too.
/// - A shared one (SharedCount), in the node `count` below the path: a decimal number, which stays
///   when nobody uses the semaphore, and which people may read and write with tools of their own.
///   Every contender reads it after it has queued. Raising it lets those in who wait, as many as
///   there is room for. Lowering it takes nothing from anybody: permits that come back are not given
///   out again until fewer are held than there are. Who is being granted at that very moment, or had
///   room by the number before, may still get in. Each change makes every waiter read the queue
///   once. When the node is deleted, those who wait and the next who come put their initial number
///   there again; permits that are held stay. Data that are no number: bad_data, for those who wait
///   and who come, until set_permits() or somebody else has put it right. A node that the client may
///   not read, or not create: no_auth.
///
/// A permit may expire: with MutexOptions::max_hold, or that of AcquireOptions, it is lost after
/// that time, its listener having heard of it before and after, and is given to the next. Releasing
/// what has expired does nothing, and harms nobody who got it since; Hold::state() tells.
/// Sources: org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2 and
/// ...recipes.shared.SharedCount; Redisson's RSemaphore and RPermitExpirableSemaphore.
///
/// The acquiring functions throw what those of ReentrantMutex throw (but never lock_lost), and:
/// invalid_option when less than one permit is asked for, or more than the fixed number: nothing
/// was sent; settings_mismatch; bad_data. Asking for more than a shared number is no error, since it
/// may be raised: the call waits for that, and those behind it wait too. Waiting is a Boost.Thread
/// interruption point. A contender watches the nearest ones before it, as many as there are permits
/// at most, and the node of a shared number; who leaves wakes no more than as many. Where nobody
/// waits, a fixed number costs two requests, a shared one three, in one round trip either way.
/// Tokens rise in the order of arrival; permits held together have different ones.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class Semaphore {
 public:
  /// Effects: none on the servers, does not block.
  /// Throws: Error(invalid_option) for less than one permit, a lock delay, a local batch, or being
  /// kept when idle;
  /// Error(invalid_path | closed | forked).
  Semaphore(Client& client, std::string path, int permits, MutexOptions options = {});
  /// The same, with a shared number. Throws: Error(invalid_option) for an initial one below 0.
  Semaphore(Client& client, std::string path, SharedCount permits, MutexOptions options = {});
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
  Awaitable co_acquire(int permits = 1, Deadline deadline = Deadline::never(),
                       std::stop_token stop = {});
  Awaitable co_acquire(int permits, const AcquireOptions& options);
  Awaitable co_acquire(int permits, AcquireOptions&& options) = delete;

  /// Everybody in the queue, in order; Participant::holds tells those who have their permits (after
  /// a shared number was lowered, those who would have them by the new one). As
  /// ReentrantMutex::participants. With a shared number also Error(bad_data).
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  /// How many permits nobody holds or waits for, never less than 0; none while a mutex of this path
  /// is held or waited for. Blocks for two round trips, or three; out of date when it returns.
  /// Throws: as participants().
  int available_permits(Deadline deadline = Deadline::never()) const;

  /// How many there are. A fixed number: does not block, throws nothing. A shared one: reads it; the
  /// initial one where nobody has put one there yet (this changes nothing). Blocks for a round trip,
  /// at most until `deadline` or for ClientOptions::connection_timeout, whichever comes first; one
  /// that has passed means a single attempt. An interruption point.
  /// Throws: Error(bad_data | no_auth | not_connected | closed | forked | server_error).
  int permits(Deadline deadline = Deadline::never()) const;

  /// Makes the shared number `permits`, whatever it was; puts it there where there is none. Of two
  /// changes at the same time the later one counts. Blocks as permits().
  /// Throws: Error(invalid_option) for a number below 0, or a semaphore with a fixed one: nothing
  /// was sent; Error(no_auth | no_chroot | quota_exceeded | read_only | server_error): nothing was
  /// changed; Error(not_connected): no server was reached; Error(outcome_unknown | closed): it may
  /// have been changed.
  /// Source: org.redisson.api.RSemaphore, SharedCount.setCount.
  void set_permits(int permits, Deadline deadline = Deadline::never());

  /// Adds `change`, which may be negative, to the shared number, and returns the new one. Of changes
  /// at the same time none gets lost. Blocks as permits().
  /// Throws: as set_permits(); Error(invalid_option) when the sum is below 0 or above 2147483647;
  /// Error(bad_data). After outcome_unknown: read permits() before trying again.
  /// Source: org.redisson.api.RSemaphore.addPermits, SharedCount.trySetCount.
  int add_permits(int change, Deadline deadline = Deadline::never());

  const std::string& path() const noexcept;

 private:
  void check_shared(const char* operation) const;

  std::shared_ptr<recipes::Lockable> lockable_;
  const bool shared_;
  const int permits_;  ///< the initial number, if it is shared
};

}  // namespace zklock
