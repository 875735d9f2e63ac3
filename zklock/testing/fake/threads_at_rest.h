// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace zklock::testing::detail {

/// Finds out whether all other threads of the process sleep. It reads /proc/self/task.
///
/// A look reads for each thread first `syscall`, then `status`. The kernel shows a system call only
/// for a thread that is off the processor and asleep; otherwise it shows "running". `status` has
/// the number of times that the thread has left the processor.
///
/// Rest is: two looks show the same threads, all asleep, and equal numbers. Then no thread has run
/// between its `status` of the first look and its `syscall` of the second look. All these intervals
/// contain the moment between the looks. At that moment all threads slept together. After it only
/// the caller, a timer of the system or another process can wake one of them.
///
/// The state alone would not be enough: a thread that is about to sleep shows it before it sleeps.
///
/// Thread-safety: none.
class ThreadsAtRest {
 public:
  /// Takes two looks. Returns whether all threads but the caller slept between them. Throws
  /// std::runtime_error if /proc does not show that.
  bool check();
  /// Returns the name and the id of a thread that was awake at the last check, for error texts.
  std::string awake() const;

 private:
  struct Thread {
    pid_t id = 0;
    unsigned long switches = 0;
    friend bool operator==(const Thread&, const Thread&) = default;
  };
  bool look(std::vector<Thread>& threads);

  std::vector<Thread> first_;
  std::vector<Thread> second_;
  pid_t awake_ = 0;
};

}  // namespace zklock::testing::detail
