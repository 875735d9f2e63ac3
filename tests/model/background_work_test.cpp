// SPDX-License-Identifier: Apache-2.0
// Background work at the close of its client.
#include "zklock/engine/session/background_work.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"
#include "zklock/client/port/test_seam.h"
#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {
namespace {

using namespace std::chrono_literals;

/// Time that stands still. Counts the threads that begin to wait until a deadline.
class StandingTime final : public client::TestSeam {
 public:
  StandingTime() { testing::detail::set_seam(this, {}); }
  ~StandingTime() { testing::detail::set_seam(nullptr, {}); }

  Connection connect(const ClientOptions& /*options*/) override {
    throw std::logic_error("no servers");
  }
  core::Instant now() const noexcept override { return core::Instant(1h); }
  void add(const Sleeper& /*sleeper*/) override { ++waiters_; }
  void remove(const Sleeper& /*sleeper*/) noexcept override {}
  std::uint32_t next_seed() noexcept override { return 0; }

  int waiters() const noexcept { return waiters_; }

 private:
  std::atomic<int> waiters_{0};
};

TEST(BackgroundWork, WorkBegunAfterClose_EndsAtOnce) {
  BackgroundWork work;
  work.close();
  work.begin();
  EXPECT_TRUE(work.is_idle());
  EXPECT_TRUE(work.is_settled(work.newest()));
}

// Without a notification, the waiter reads the state again only after a second. One round of five
// must be faster, since a busy machine can delay a round.
TEST(BackgroundWork, CloseDuringWait_EndsItAtOnce) {
  bool was_fast = false;
  for (int i = 0; i < 5 && !was_fast; ++i) {
    model::LockWorld world(1);
    ClientCore& core = world.core(0);
    BackgroundWork::Id id{};
    {
      const EngineLock lock({core});
      id = core.work().begin();
    }
    const StandingTime time;
    const auto began = std::chrono::steady_clock::now();
    std::jthread waiter([&] { EXPECT_TRUE(core.wait_for_work(Deadline(1h), id)); });
    // When it is counted, the waiter holds the mutex until it sleeps.
    while (time.waiters() == 0) std::this_thread::yield();
    {
      const EngineLock lock({core});
      core.work().close();
    }
    waiter.join();
    was_fast = std::chrono::steady_clock::now() - began < 1s;
  }
  EXPECT_TRUE(was_fast);
}

}  // namespace
}  // namespace zklock::detail
