// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace zklock::detail {

inline constinit std::atomic<std::uint32_t> fork_count{0};  ///< incremented in each child

/// Returns 64 random bits that identify this process on all hosts; its fork()ed children have other
/// ids. Never 0. Costs an atomic load.
///
/// Thread-safety: any thread may call it.
std::uint64_t process_id() noexcept;

/// Returns how many fork()s are between this process and the process that loaded the library. An
/// object that was made in another generation belongs to a parent process. The threads of the
/// parent do not exist here, and its mutexes can stay locked for ever. Costs an atomic load.
///
/// Children of vfork() or a bare clone() are not counted; they may only exec or exit anyway.
///
/// Thread-safety: any thread may call it.
inline std::uint32_t fork_generation() noexcept {
  return fork_count.load(std::memory_order_relaxed);
}

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

}  // namespace zklock::detail
