// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace zklock::detail {

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
