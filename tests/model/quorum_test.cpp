// SPDX-License-Identifier: Apache-2.0
// A majority of three paths, each of a different client, on the virtual clock.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"
#include "zklock/recipes/composite/composite.h"
#include "zklock/recipes/composite/composite_acquire.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using detail::Composite;
using detail::CompositeOutcome;

constexpr std::size_t kEnsembles = 3;
constexpr std::chrono::milliseconds kTimeout{800};

// The result of one acquire.
struct Ended {
  Instant at;
  bool granted = false;
  std::shared_ptr<detail::CompositeHoldRecord> held;
  std::optional<Errc> error;
};

class QuorumModel : public ::testing::Test {
 protected:
  QuorumModel() {
    lock_.connect_all();
    replace_composite({.needed = 2, .part_timeout = kTimeout});
  }
  ~QuorumModel() override {
    composite_->close();
    world().run_all();
  }
  World& world() { return lock_.world(); }

  void replace_composite(const Composite::Rule& rule) {
    std::vector<Composite::Part> parts;
    for (std::size_t i = 0; i < kEnsembles; ++i) {
      const core::LockPath path("/ensemble-" + std::to_string(i));
      parts.push_back(std::make_unique<detail::PathPartLock>(
          lock_.core(i), path, core::QueueRule::mutex(), 0ms, detail::LockEventSink(nullptr, i)));
    }
    composite_ = std::make_shared<Composite>(std::move(parts), rule);
  }

  std::shared_ptr<std::optional<Ended>> acquire(Deadline deadline = Deadline::never()) {
    auto ended = std::make_shared<std::optional<Ended>>();
    detail::CompositeAcquire::start(composite_, {.owner = Owner::unique(),
                                                 .time_limit = {deadline, world().now()},
                                                 .done = [this, ended](CompositeOutcome outcome) {
                                                   Ended end{.at = world().now(),
                                                             .granted = outcome.granted,
                                                             .held = std::move(outcome.held),
                                                             .error = {}};
                                                   if (outcome.error)
                                                     end.error = outcome.error->errc();
                                                   *ended = std::move(end);
                                                 }});
    return ended;
  }
  // Acquires and releases. Returns the time to the grant, or nothing if there was no grant.
  std::optional<Duration> time_to_acquire() {
    const Instant start = world().now();
    const auto ended = acquire();
    if (!world().run_until([&] { return ended->has_value(); })) return std::nullopt;
    if (!(*ended)->granted) return std::nullopt;
    parts_held_ = 0;
    for (const Hold& hold : (*ended)->held->holds()) parts_held_ += hold ? 1 : 0;
    const Duration took = (*ended)->at - start;
    ended->reset();
    return took;
  }

  LockWorld lock_{kEnsembles};
  std::shared_ptr<Composite> composite_;
  std::size_t parts_held_ = 0;
};

// The deadline passes at a reading of the clock, after the call has checked it and before the
// request for the unreachable part begins. That request must not become a single attempt, which
// would last for the connection timeout.
TEST_F(QuorumModel, DeadlinePassesBeforePartIsRequested_EndsByDeadline) {
  replace_composite({.needed = kEnsembles});
  world().disconnect(1);
  for (int reading = 0; reading < 10; ++reading) {
    SCOPED_TRACE(reading);
    const Instant deadline = world().now() + 100ms;
    world().scheduler(1).when_read = [&, left = reading]() mutable {
      if (left-- == 0) world().clock().stand_at(deadline);
    };
    const auto ended = acquire(Deadline(deadline));
    world().run_all();
    world().scheduler(1).when_read = nullptr;
    world().run_for(200ms);
    ASSERT_TRUE(ended->has_value());
    EXPECT_FALSE((*ended)->granted);
    EXPECT_LE((*ended)->at, deadline);
    world().run_for(1s);
  }
}

// CompositeHold: if two parts are needed, the second best state and the second latest end apply.
TEST_F(QuorumModel, Composite_HasStateAndLeaseOfQuorum) {
  const auto ended = acquire();
  world().run_all();
  ASSERT_TRUE((*ended)->granted);
  const detail::CompositeHoldRecord& held = *(*ended)->held;
  const auto holds = held.holds();
  const auto run_until_extended = [&](std::size_t part) {
    const Instant before = holds[part].valid_until();
    for (int i = 0; i < 200 && holds[part].valid_until() == before; ++i) world().run_for(10ms);
  };
  run_until_extended(0);
  world().disconnect(0);
  run_until_extended(1);
  world().disconnect(1);
  run_until_extended(2);
  EXPECT_EQ(holds[0].state(), HoldState::suspended);
  EXPECT_EQ(holds[1].state(), HoldState::suspended);
  EXPECT_EQ(holds[2].state(), HoldState::held);
  EXPECT_EQ(held.state(), HoldState::suspended);
  ASSERT_LT(holds[0].valid_until(), holds[1].valid_until());
  ASSERT_LT(holds[1].valid_until(), holds[2].valid_until());
  EXPECT_EQ(held.valid_until(), holds[1].valid_until());

  world().run_until(holds[0].valid_until());
  EXPECT_EQ(holds[0].state(), HoldState::lost);
  EXPECT_FALSE(holds[0].is_valid());
  EXPECT_TRUE(holds[1].is_valid() && holds[2].is_valid());
  EXPECT_EQ(held.state(), HoldState::suspended);
  EXPECT_FALSE(held.loss_token().stop_requested());
  world().reconnect(1);
  world().run_all();
  EXPECT_EQ(held.state(), HoldState::held);
  world().expire(2);
  world().run_all();
  EXPECT_EQ(held.state(), HoldState::lost);
  EXPECT_EQ(held.valid_until(), LeaseClock::time_point::min());
  EXPECT_TRUE(held.loss_token().stop_requested());
}

// The servers of one ensemble do not reply, but its client stays connected.
TEST_F(QuorumModel, FrozenButConnected_IsWaitedForOnce) {
  for (const bool reconnects : {false, true}) {
    world().client(0).cut_off();
    EXPECT_GE(time_to_acquire(), kTimeout);
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(lock_.core(0).keeper().is_connected());
      EXPECT_EQ(time_to_acquire(), Duration::zero());
      EXPECT_EQ(parts_held_, 2U);
    }
    if (reconnects) world().disconnect(0);
    world().client(0).mend();
    if (reconnects) world().reconnect(0);
    world().run_all();
    EXPECT_EQ(time_to_acquire(), Duration::zero());
    EXPECT_EQ(parts_held_, 3U) << "it has answered";
  }
}

// A call fails while the client is notified of its next session. The call marks that session as
// silent, although no request could be sent in it yet.
TEST_F(QuorumModel, SilentWhileConnecting_IsUsedAgain) {
  struct AtNewSession final : detail::NewSessionListener {
    explicit AtNewSession(Composite& of) : composite(of) {}
    void session_began() override { composite.set_unreachable(0); }
    Composite& composite;
  };
  const auto listener = std::make_shared<AtNewSession>(*composite_);
  {
    const detail::EngineLock lock({lock_.core(0)});
    lock_.core(0).add_session_listener(listener);
  }
  world().expire(0);
  ASSERT_TRUE(world().run_until([&] { return composite_->is_unreachable(0); }));
  world().run_all();
  EXPECT_FALSE(composite_->is_unreachable(0));
  EXPECT_EQ(time_to_acquire(), Duration::zero());
  EXPECT_EQ(parts_held_, 3U);
}

TEST_F(QuorumModel, MajorityOutOfReach_FailsAtDeadline) {
  world().disconnect(0);
  world().disconnect(2);
  // The deadline comes at any moment of a round, also after both are known to be unreachable.
  for (auto time = 8s + 0ms; time < 10s; time += 70ms) {
    const Instant start = world().now();
    const auto ended = acquire(start + time);
    world().run_until(start + time - 1ms);
    EXPECT_FALSE(ended->has_value());
    ASSERT_TRUE(world().run_until([&] { return ended->has_value(); }));
    EXPECT_FALSE((*ended)->granted);
    EXPECT_EQ((*ended)->error, Errc::not_connected);
    EXPECT_GE((*ended)->at, start + time);
  }
}

// The skipped ensemble is needed, because another ensemble fails immediately in every round.
TEST_F(QuorumModel, FailureAndUnreachableEnsemble_FailsNotConnected) {
  world().disconnect(0);
  ASSERT_GE(time_to_acquire(), kTimeout);
  ASSERT_EQ(time_to_acquire(), Duration::zero()) << "it is passed over";
  lock_.core(1).close();
  for (const Deadline deadline : {Deadline::never(), Deadline(world().now() + 8s)}) {
    const auto ended = acquire(deadline);
    ASSERT_TRUE(world().run_until([&] { return ended->has_value(); }));
    EXPECT_FALSE((*ended)->granted);
    EXPECT_EQ((*ended)->error, Errc::not_connected) << "of the first that failed";
    EXPECT_TRUE(deadline.is_never() || (*ended)->at >= deadline.at());
  }
}

}  // namespace
}  // namespace zklock::model
