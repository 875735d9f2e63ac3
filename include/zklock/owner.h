// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "zklock/export.h"

namespace zklock {

/// Identifies the owner of a hold: a thread, a request, a transaction. Equal owners nest: if an
/// owner holds a lock and acquires it again, it is granted at once, and its count rises. Different
/// owners exclude each other, also within one thread.
///
/// Owners are unique over all processes. Two threads with equal ids in two processes (or in a
/// parent and its fork()ed child) are different owners.
/// Source: the id of client and thread in org.redisson.RedissonLock. Unlike there, an owner is
/// unique and can be chosen by the caller.
///
/// Thread-safety: a value.
class ZKLOCK_EXPORT Owner {
 public:
  /// Returns the owner of the calling thread, which lock() uses. Its value does not change during
  /// the life of the thread. No later thread gets it, even if the system reuses the thread's id.
  [[nodiscard]] static Owner this_thread() noexcept;

  /// Returns an owner that differs from every other, for a request, a transaction or a coroutine.
  /// Copies are equal, so one thread can acquire with an owner, and another can acquire again with
  /// a copy.
  [[nodiscard]] static Owner unique() noexcept;

  /// Returns the random id of the process and the serial number of the owner. The lock znode shows
  /// this text.
  [[nodiscard]] std::string to_string() const;

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
    // The process part is random and the serial is small: this mix is enough.
    return static_cast<std::size_t>(owner.process_ ^ (owner.serial_ * 0x9e3779b97f4a7c15ULL));
  }
};
