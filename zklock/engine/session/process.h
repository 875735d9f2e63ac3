// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
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

inline constinit std::atomic<std::uint32_t> fork_count{0};  ///< incremented in each child

/// Returns how many fork()s are between this process and the process that loaded the library. Costs
/// an atomic load. Children of vfork() or a bare clone() are not counted; they may only exec or
/// exit anyway.
///
/// Thread-safety: any thread may call it.
inline std::uint32_t fork_generation() noexcept {
  return fork_count.load(std::memory_order_relaxed);
}

/// A member of objects that only the process that made them can use. It detects a fork()ed child.
/// In a fork()ed child, the threads of the parent do not exist, and its mutexes can stay locked for
/// ever.
///
/// Thread-safety: any thread may call any member.
class ForkGuard {
 public:
  ForkGuard() noexcept;

  /// Returns whether this process is a fork()ed child of the process that made the object.
  bool forked() const noexcept { return fork_generation() != birth_; }

 private:
  std::uint32_t birth_;
};

/// Keeps `object` until the process ends. In a fork()ed child, objects of the parent must not be
/// destroyed: their threads cannot be joined there.
///
/// Thread-safety: any thread may call it.
void keep_for_ever(std::shared_ptr<const void> object) noexcept;

}  // namespace zklock::detail
