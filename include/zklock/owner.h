// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "zklock/export.h"

namespace zklock {

/// Identifies the owner of a hold: a thread, a request, a transaction. Equal owners nest: if an
/// owner holds a lock and acquires it again, it is granted at once, and its count rises. Different
/// owners exclude each other, even within one thread.
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
  /// Returns an owner that differs from every other, with a name for people: a request, a
  /// transaction. The name is cut to 24 bytes. Control characters become '?'. Two owners with equal
  /// names differ.
  /// Throws: std::bad_alloc.
  [[nodiscard]] static Owner unique(std::string_view name);

  /// Returns the name that unique() was given, as it is shown; empty if there is none. The result
  /// is valid while this owner or a copy of it exists.
  [[nodiscard]] std::string_view name() const noexcept {
    return name_ ? std::string_view(*name_) : std::string_view();
  }
  /// Returns the random id of the process and the serial number of the owner. The name follows, if
  /// there is one. The lock znode shows this text: "3f2a90c1d2e4b5a6-7 req-42".
  [[nodiscard]] std::string to_string() const;

  /// Compares the process and the serial number, not the name.
  friend bool operator==(const Owner& a, const Owner& b) noexcept {
    return a.process_ == b.process_ && a.serial_ == b.serial_;
  }
  /// Orders by the process and the serial number, for containers.
  friend std::strong_ordering operator<=>(const Owner& a, const Owner& b) noexcept {
    const auto by_process = a.process_ <=> b.process_;
    return by_process != 0 ? by_process : a.serial_ <=> b.serial_;
  }

 private:
  friend struct std::hash<Owner>;
  Owner(std::uint64_t process, std::uint64_t serial,
        std::shared_ptr<const std::string> name = nullptr) noexcept
      : process_(process), serial_(serial), name_(std::move(name)) {}

  std::uint64_t process_;
  std::uint64_t serial_;
  std::shared_ptr<const std::string> name_;  ///< null: none
};

}  // namespace zklock

template <>
struct std::hash<zklock::Owner> {
  std::size_t operator()(const zklock::Owner& owner) const noexcept {
    // The process part is random and the serial is small: this mix is enough.
    return static_cast<std::size_t>(owner.process_ ^ (owner.serial_ * 0x9e3779b97f4a7c15ULL));
  }
};
