// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "zklock/engine/hold_record.h"

namespace zklock::detail {

/// The thread that holds a path's lock by lock(), and the number of its nested lock() calls. Only
/// that thread reads and writes the count. So a nested call needs no mutex and no search in the map
/// of contenders.
///
/// | state  | event                                           | next                              |
/// |--------|-------------------------------------------------|-----------------------------------|
/// | empty  | begin(): a thread gets a count by lock()        | in use by that thread, count 0    |
/// | in use | lock() of that thread, while its hold is valid  | count + 1                         |
/// |        | unlock() of that thread, count above 0          | count - 1                         |
/// |        | that thread releases its last lock()            | empty                             |
/// |        | begin(), lock() or unlock() of another thread   | unchanged: it uses the map        |
///
/// The contender has the thread's first count, and keeps it while there are nested counts here. So
/// only PathLock::ownership() adds them. After a loss of the hold they stay, until they are
/// released.
///
/// Thread-safety: any thread may call any member; lock-free. REQUIRES for begin(), end() and
/// clear(): the engine mutex is held. During clear(), a lock() that began before the last public
/// object was destroyed may still run, or its thread may be ending.
class ReentryCounter {
 public:
  ReentryCounter() = default;
  ReentryCounter(const ReentryCounter&) = delete;
  ReentryCounter& operator=(const ReentryCounter&) = delete;

  /// Returns the number of the calling thread, which is not 0. Numbers are never reused.
  static std::uint64_t this_thread() noexcept;
  /// Records that `thread` gets a count of the hold of `record` by lock(). Does nothing while another
  /// thread uses this object. REQUIRES: that thread is in lock().
  void begin(std::uint64_t thread, std::shared_ptr<const HoldRecord> record) noexcept;
  /// Adds a nested count and returns true, if the calling thread uses this object and its hold is
  /// valid. Otherwise returns false.
  bool enter() noexcept;
  /// Removes a nested count of the calling thread. Returns false if there is none.
  bool leave() noexcept;
  /// Returns the nested counts of the calling thread.
  int count() const noexcept { return is_here() ? count_ : 0; }
  /// Records that the calling thread releases its last lock(), or ends.
  void end() noexcept;
  /// Makes the state empty. REQUIRES: no public object exists, so no call of lock() begins any
  /// more.
  void clear() noexcept;

 private:
  bool is_here() const noexcept;

  std::atomic<std::uint64_t> thread_{0};  ///< number of the thread; 0: none
  // used by that thread only
  std::shared_ptr<const HoldRecord> record_;
  int count_ = 0;
};

}  // namespace zklock::detail
