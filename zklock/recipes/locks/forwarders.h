// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/deadline.h"

// The members that every lock class has, and that only pass their arguments on. The public headers
// declare them with their contracts. Each macro defines some members of `Class`. If the names have
// a `suffix`, such as _shared, it is appended to them.

/// Defines lock(), lock(stop) and try_lock(). They call lock_until(), with the further arguments of
/// the macro first.
#define ZKLOCK_DEFINE_TIMED_LOCK(Class, suffix, ...)                                  \
  void Class::lock##suffix() {                                                        \
    lock_until(__VA_ARGS__ __VA_OPT__(, ) Deadline::never(), {});                     \
  }                                                                                   \
  bool Class::lock##suffix(std::stop_token stop) {                                    \
    return lock_until(__VA_ARGS__ __VA_OPT__(, ) Deadline::never(), std::move(stop)); \
  }                                                                                   \
  bool Class::try_lock##suffix() {                                                    \
    return lock_until(__VA_ARGS__ __VA_OPT__(, ) Deadline::passed(), {});             \
  }

/// Defines the forms of acquire(), async_acquire() and co_acquire(). They call the functions of
/// `lock_handle` with this kind. The further arguments of the macro are parameters that the members
/// have after the options.
#define ZKLOCK_DEFINE_ACQUIRING_LOCK(Class, suffix, lock_handle, kind, ...)                       \
  Hold Class::acquire##suffix(AcquireOptions options __VA_OPT__(, ) __VA_ARGS__) {                \
    return (lock_handle)->acquire(kind, options);                                                 \
  }                                                                                               \
  void Class::async_acquire##suffix(AcquireOptions options __VA_OPT__(, ) __VA_ARGS__,            \
                                    AcquireHandler handler) {                                     \
    (lock_handle)->async_acquire(kind, options, std::move(handler));                              \
  }                                                                                               \
  std::future<Hold> Class::async_acquire##suffix(AcquireOptions options __VA_OPT__(, )            \
                                                     __VA_ARGS__) {                               \
    return (lock_handle)->async_acquire(kind, options);                                           \
  }                                                                                               \
  Awaitable Class::co_acquire##suffix(Deadline deadline,                                          \
                                      std::stop_token stop __VA_OPT__(, ) __VA_ARGS__) {          \
    return (lock_handle)->co_acquire(kind, {.deadline = deadline, .stop = std::move(stop)});      \
  }                                                                                               \
  Awaitable Class::co_acquire##suffix(const AcquireOptions& options __VA_OPT__(, ) __VA_ARGS__) { \
    return (lock_handle)->co_acquire(kind, options);                                              \
  }

/// Defines queue_position() and path(). They call the functions of `lock_handle`.
#define ZKLOCK_DEFINE_QUEUED_LOCK(Class, lock_handle)                                             \
  std::optional<std::size_t> Class::queue_position(std::optional<Owner> owner, Deadline deadline) \
      const {                                                                                     \
    return (lock_handle)->queue_position(owner, deadline);                                        \
  }                                                                                               \
  const std::string& Class::path() const noexcept {                                               \
    return (lock_handle)->path();                                                                 \
  }
