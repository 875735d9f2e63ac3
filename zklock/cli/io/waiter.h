// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

/// Blocks until a descriptor is readable or a time has come. The time is by LeaseClock, so it also
/// comes while the machine sleeps.
///
/// Thread-safety: none.
class Waiter {
 public:
  /// Throws: Failure.
  Waiter();
  /// Returns when one of the descriptors is readable or at its end, or at `until`. Ignores
  /// descriptors below 0. May return earlier.
  void wait(std::initializer_list<int> fds, Instant until);

 private:
  UniqueFd timer_;
};

}  // namespace zklock::cli
