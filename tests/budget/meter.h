// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace zklock::testing {

/// Counts what the threads of this process do between start() and stop(). It replaces the functions
/// that it counts:
///
/// | counted     | replaced functions           | calls that count                               |
/// |-------------|------------------------------|------------------------------------------------|
/// | mutexes     | pthread_mutex_lock, trylock, | those that locked the mutex, from the code in  |
/// |             | timedlock, clocklock         | the executable: zklock and inlined headers     |
/// | allocations | operator new, all forms      | all; the C client and libc use malloc instead  |
/// | requests    | zoo_acreate2 and the others  | all; the C client's own pings are none of them |
///
/// A thread that wakes in a wait on a condition variable locks its mutex within libc, which does
/// not count.
class Meter {
 public:
  static constexpr std::size_t kMostFrames = 128;
  /// Return addresses, from the innermost frame outwards.
  struct Stack {
    std::array<void*, kMostFrames> frames{};
    std::size_t size = 0;
  };
  struct Request {
    const char* function = nullptr;  ///< of the C client
    Stack stack;
  };
  struct Counts {
    int mutexes = 0;
    int allocations = 0;
    std::vector<Request> requests;
    /// The stack of each counted mutex and allocation. Set if start() was called to record them.
    std::vector<Stack> mutex_stacks;
    std::vector<Stack> allocation_stacks;

    /// Returns the names of the requests, in the order of sending.
    std::string request_names() const;
    /// Returns the first request by one of these functions, or null.
    const Request* find(const char* function, const char* other = "") const;
  };

  static void start(bool records_stacks = false);
  /// Blocks until no counter has changed for a while. Returns the counts since start().
  static Counts stop();
};

}  // namespace zklock::testing
