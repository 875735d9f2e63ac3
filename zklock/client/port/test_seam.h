// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/core/session.h"
#include "zklock/deadline.h"
#include "zklock/export.h"

namespace zklock {
struct ClientOptions;
}

namespace zklock::client {

/// The object that replaces servers and time in tests of user code. In production there is none.
/// The real coordinator and the real timers never use it: they read boot_time().
///
/// Thread-safety: all members, from any thread.
class TestSeam {
 public:
  struct Connection {
    std::shared_ptr<Coordinator> coordinator;
    std::shared_ptr<Scheduler> scheduler;
  };
  /// A thread that sleeps until a time of now().
  struct Sleeper {
    core::Instant until;
    void* condition;
    void (*wake)(void* condition);  ///< notifies; locks no mutex of the sleeping thread
  };

  /// Returns the ports of a new client. Throws Error(invalid_hosts | unsupported).
  virtual Connection connect(const ClientOptions& options) = 0;
  virtual core::Instant now() const noexcept = 0;
  /// From now() == until on, `wake` is called again and again until remove(). The caller can hold a
  /// mutex.
  virtual void add(const Sleeper& sleeper) = 0;
  /// After the return, `wake` is not called any more.
  virtual void remove(const Sleeper& sleeper) noexcept = 0;
  /// Returns a seed for random pauses. Equal runs get equal seeds.
  virtual std::uint32_t next_seed() noexcept = 0;

 protected:
  ~TestSeam() = default;
};

/// Returns the seam; null in production. The object is never destroyed.
TestSeam* test_seam() noexcept;

/// While it exists, and if time is virtual, notifies a condition when the deadline has passed. So a
/// thread that waits for the condition need not wait in real time.
///
/// Thread-safety: none; confined to the waiting thread.
template <class Condition>
class VirtualAlarm {
 public:
  VirtualAlarm(Deadline deadline, Condition& condition)
      : seam_(deadline.is_never() ? nullptr : test_seam()),
        sleeper_{deadline.at(), &condition,
                 [](void* waiting) { static_cast<Condition*>(waiting)->notify_all(); }} {
    if (seam_ != nullptr) seam_->add(sleeper_);
  }
  VirtualAlarm(const VirtualAlarm&) = delete;
  VirtualAlarm& operator=(const VirtualAlarm&) = delete;
  ~VirtualAlarm() {
    if (seam_ != nullptr) seam_->remove(sleeper_);
  }

 private:
  TestSeam* const seam_;
  const TestSeam::Sleeper sleeper_;
};

/// Returns how long to wait on a condition variable before `deadline` is checked again: until the
/// deadline, but `longest` at most. The clock of a condition variable stands still while the
/// machine is suspended. Virtual time passes without it, so a VirtualAlarm ends the wait.
inline core::Duration slice_before(Deadline deadline, core::Instant now, core::Duration longest) {
  if (deadline.is_never()) return longest;
  if (deadline.has_passed(now)) return {};  // the difference to Deadline::passed() overflows
  if (test_seam() != nullptr) return longest;
  return std::min<core::Duration>(longest, deadline.at() - now);
}

}  // namespace zklock::client

namespace zklock::testing::detail {

/// Sets the seam, or removes it (null). The second parameter puts the version into the symbol, so a
/// test kit of another version does not link.
ZKLOCK_EXPORT void set_seam(client::TestSeam* seam,
                            std::integral_constant<int, ZKLOCK_VERSION> version) noexcept;

}  // namespace zklock::testing::detail
