// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/lock_observer.h"
#include "zklock/participant.h"

namespace zklock {

namespace detail {
class SurveyReader;
}  // namespace detail

/// Options of a Survey. Every member has a default.
///
/// Thread-safety: a value.
struct SurveyOptions {
  std::size_t max_holders = 100;            ///< listed holders of each lock
  std::size_t max_waiting = 10;             ///< listed waiting contenders of each lock
  std::size_t max_depth = 16;               ///< levels below the root
  std::size_t requests_per_second = 2'000;  ///< limit of the survey; 0: none
};

/// One lock, as a Survey reads it.
///
/// Thread-safety: a value.
struct SurveyedLock {
  /// The path, byte for byte. It may have any character but NUL, so make it printable before you
  /// print it. A znode of another program can make it longer than a lock path may be.
  std::string path;
  /// The holders, at most SurveyOptions::max_holders. `state.waiting` counts all waiting
  /// contenders, including those that `waiters` omits.
  LockState state;
  /// The waiting contenders in the order of service, at most SurveyOptions::max_waiting.
  std::vector<Participant> waiters;
  /// true if the lock has a delay marker of a lost hold. Then no contender holds.
  bool is_delayed = false;
  /// Total of the permits of a semaphore. Unset for other locks, and if the znode of a SharedCount
  /// is missing, unreadable or contains no number.
  std::optional<int> permits;
  /// Sequence number of the next contender. Near 2^31, zklock soon recreates the path; see the
  /// guide "zklock in production".
  std::int32_t next_sequence = 0;
  /// Children that are neither contenders nor other znodes of zklock, at most 10. The names are
  /// printable, and are cut to 128 bytes.
  std::vector<std::string> other_children;
  std::size_t other_children_count = 0;  ///< number of all such children
};

/// A znode that is not ephemeral, and has neither children nor data, such as an abandoned lock
/// path.
///
/// Thread-safety: a value.
struct EmptyZnode {
  /// The path, below the chroot.
  std::string path;
  /// Creation time, by the wall clock of the ensemble's leader.
  std::chrono::system_clock::time_point created;
};

/// A part of a survey. The paths are byte for byte, as SurveyedLock::path.
///
/// Thread-safety: a value.
struct SurveyPage {
  /// Locks, and empty znodes that may be abandoned locks.
  std::vector<SurveyedLock> locks;
  std::vector<EmptyZnode> empty_znodes;
  /// Znodes whose children could not be listed, usually because the client has no READ permission.
  std::vector<std::string> unreadable;
  /// Znodes at max_depth whose children were not entered.
  std::vector<std::string> too_deep;
  std::size_t visited = 0;  ///< znodes that were listed
};

/// Reads all locks at and below a path, page by page, without contending. A lock is a znode that
/// has a contender of any library (see the guide "From other lock libraries"), or a lock delay. A
/// free lock is not shown.
/// @code
///   zklock::Survey survey(client, "/locks");
///   while (!survey.is_complete()) {
///     for (const auto& lock : survey.next().locks) std::cout << lock.path << '\n';
///   }
/// @endcode
///
/// The pages are not one snapshot: each lock is read at its own time. Locks of one directory come
/// in the order of their names. A lock that is created meanwhile may be missing. So may a contender
/// whose znode is replaced meanwhile: by a downgrade, or at the gate of a PriorityMutex.
///
/// The texts of the contenders were written by their processes, and nothing proves them. While
/// another client creates znodes faster than the survey lists them, the survey does not end.
///
/// Cost: one getChildren for each znode that is no contender's, and one getData for each described
/// contender. A semaphore with a SharedCount adds one getData. At most 100 requests are in flight,
/// and requests_per_second limits their rate. No watch is set, and nothing is written. The object
/// stores the names of the children that it has not entered yet: about 50 bytes for each. It stores
/// at most 8 KB of each contender's data. The reply for a directory of 100,000 znodes has some
/// megabytes and delays the client's heartbeats. So a survey of a large tree needs a Client that
/// has no holds.
/// Source: modelled on `etcdctl get --prefix` with a limit and a continuation.
///
/// Thread-safety: any thread may use an object, but not several threads at the same time.
class ZKLOCK_EXPORT Survey {
 public:
  /// Creates a survey. Sends nothing and does not block. The root "/" is allowed. Below "/", the
  /// znode /zookeeper is not entered.
  /// Throws: Error(invalid_path | closed | forked).
  Survey(Client& client, std::string root, const SurveyOptions& options = {});
  Survey(const Survey&) = delete;
  Survey& operator=(const Survey&) = delete;
  ~Survey();

  /// Reads on until one list of the page has `entries` elements, or the survey is complete. No list
  /// has more. If the deadline passes first, returns the page as it is; the next call continues.
  /// Sends nothing after the deadline. Blocks; an interruption point of Boost.Thread. An
  /// interruption loses nothing that was read.
  ///
  /// Throws: Error(invalid_option | not_connected | auth_failed | closed | forked). The code
  /// not_connected means that no server answered for ClientOptions::connection_timeout, and that
  /// the deadline had not passed by then. The next call then continues the survey. The code
  /// invalid_option means that `entries` is 0.
  [[nodiscard]] SurveyPage next(std::size_t entries = 1'000, Deadline deadline = Deadline::never());

  /// Returns whether the last page was returned.
  [[nodiscard]] bool is_complete() const noexcept;

  /// Returns the path at which the survey began.
  [[nodiscard]] const std::string& root() const noexcept;

 private:
  std::unique_ptr<detail::SurveyReader> reader_;
};

/// One step of a LockCycle: `waiter` waits at `path` for `blocker`.
///
/// Thread-safety: a value.
struct WaitStep {
  /// The path of the lock, and the contender that waits there.
  std::string path;
  Participant waiter;
  /// Holds the lock. If the waiter is a reader, the blocker can instead be a writer that waits
  /// ahead of it.
  Participant blocker;
};

/// A cycle of owners that wait for each other. The blocker of a step and the waiter of the next
/// step have the same owner.
///
/// Thread-safety: a value.
struct LockCycle {
  /// The steps, in the order of the cycle.
  std::vector<WaitStep> steps;
  /// true: each waiter and blocker is Participant::thread_bound. The thread of each owner is
  /// blocked in lock(), and no other thread can unlock for it. So only a loss ends the cycle.
  /// false: the cycle may also end by a deadline, or by a thread that releases a Hold.
  bool is_certain = false;
};

/// Returns cycles among these locks, the certain ones first. Not every cycle is returned, but
/// each owner that is in a cycle is in at least one of them. Sends nothing and does not block.
///
/// The locks were read one after the other, so a cycle may never have existed. To make sure, read
/// its paths again, each with SurveyOptions::max_depth 0. If both surveys show the same znodes and
/// tokens, and the holders still hold, the cycle exists.
///
/// Owners are known by the texts of their znodes. Contenders of other libraries have none, and are
/// left out. So are contenders that a Survey does not describe: set SurveyOptions::max_waiting to
/// 1,000 or more. A hostile client can forge a cycle.
[[nodiscard]] ZKLOCK_EXPORT std::vector<LockCycle> find_cycles(std::span<const SurveyedLock> locks);

}  // namespace zklock
