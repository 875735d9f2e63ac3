// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <pthread.h>

namespace zklock::detail {

/// Returns 64 random bits that identify this process on all hosts; its fork()ed children have other
/// ids. Never 0. Costs an atomic load.
///
/// Thread-safety: any thread may call it.
std::uint64_t process_id() noexcept;

/// Identifies this process for people.
struct ProcessIdentity {
  std::uint64_t id = 0;  ///< process_id()
  std::string host;      ///< by gethostname(); empty if that fails
  std::int64_t pid = 0;
};

/// Returns the identity of this process. Makes system calls, so a frequent caller keeps the result.
///
/// Thread-safety: any thread may call it.
ProcessIdentity process_identity();

/// The name of a thread. Linux limits names to 16 bytes, with the NUL.
using ThreadNameText = std::array<char, 16>;

/// Returns the name of the calling thread; empty if it cannot be read.
inline ThreadNameText name_of_this_thread() noexcept {
  ThreadNameText name{};
  if (::pthread_getname_np(::pthread_self(), name.data(), name.size()) != 0) return {};
  return name;
}

}  // namespace zklock::detail
