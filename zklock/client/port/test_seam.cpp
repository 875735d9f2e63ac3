// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/port/test_seam.h"

#include <atomic>

#include "zklock/client/port/scheduler.h"
#include "zklock/lease_clock.h"

namespace zklock {

namespace client {

namespace {

std::atomic<TestSeam*> current_seam{nullptr};

}  // namespace

TestSeam* test_seam() noexcept {
  return current_seam.load(std::memory_order_acquire);
}

}  // namespace client

struct detail::VirtualTime {
  static LeaseClock::time_point now() noexcept {
    const client::TestSeam* const seam = client::test_seam();
    return seam != nullptr ? seam->now() : client::boot_time();
  }
  static void use(bool is_virtual) noexcept {
    LeaseClock::virtual_clock.store(is_virtual ? &now : nullptr, std::memory_order_release);
  }
};

namespace testing::detail {

void set_seam(client::TestSeam* seam,
              std::integral_constant<int, ZKLOCK_VERSION> /*version*/) noexcept {
  client::current_seam.store(seam, std::memory_order_release);
  zklock::detail::VirtualTime::use(seam != nullptr);
}

}  // namespace testing::detail

}  // namespace zklock
