// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace zklock {

/// On whose behalf a lock is held. Equal owners nest: a second lock by the same owner is granted
/// at once and counted. Different owners exclude each other, also within one thread.
///
/// Owners are unique over all processes: two threads with equal ids in two processes (or in a
/// parent and its fork()ed child) are different owners. Source: the id of client and thread in
/// org.redisson.RedissonLock, here unique, and the caller's to choose.
///
/// Thread-safety: a value.
class Owner {
 public:
  /// The calling thread: what lock() uses. The same value for the thread's whole life, and never
  /// again afterwards, even if the system reuses the thread's id.
  static Owner this_thread() noexcept;

  /// A value unlike every other: for a request, a transaction, a coroutine. Copies are equal, so
  /// one thread can lock and another unlock.
  static Owner unique() noexcept;

  /// Process and serial number, as it stands in the lock node for people to read.
  std::string to_string() const;

  friend auto operator<=>(const Owner&, const Owner&) = default;

 private:
  friend struct std::hash<Owner>;
  constexpr Owner(std::uint64_t process, std::uint64_t serial) noexcept
      : process_(process), serial_(serial) {}

  std::uint64_t process_;
  std::uint64_t serial_;
};

}  // namespace zklock

template <>
struct std::hash<zklock::Owner> {
  std::size_t operator()(const zklock::Owner& owner) const noexcept {
    // The process part is random and the serial small: mixing them is enough.
    return static_cast<std::size_t>(owner.process_ ^ (owner.serial_ * 0x9e3779b97f4a7c15ULL));
  }
};
