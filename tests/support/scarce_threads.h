// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace zklock::testing {

/// During its lifetime, the thread that created it can start `available` threads. Each further
/// attempt fails as if the system had no more. Other threads are not affected. REQUIRES:
/// scarce_threads.cpp, which replaces pthread_create() and pthread_join(), is compiled into the
/// program.
///
/// Thread-safety: for the thread that created it; one object at a time in the process.
class ScarceThreads {
 public:
  explicit ScarceThreads(std::size_t available);
  ~ScarceThreads();
  ScarceThreads(const ScarceThreads&) = delete;
  ScarceThreads& operator=(const ScarceThreads&) = delete;

  /// Returns whether a thread could not be started.
  bool ran_out() const noexcept;
  /// Returns how many of the started threads no thread has joined.
  std::size_t unjoined() const;
};

}  // namespace zklock::testing
