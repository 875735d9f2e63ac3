// SPDX-License-Identifier: Apache-2.0
// The lease on a network or an ensemble that is slow, but works.
#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

constexpr Duration kT = 6s;  ///< ClientOptions::session_timeout

constexpr Duration percent_of_timeout(int percent) {
  return kT * percent / 100;
}

/// With the last one a hold is kept whenever the network becomes slow. See
/// zklock/guides/guarantees.md, "Which pauses a hold survives".
constexpr std::array kSlowRoundTrips = {kT / 30, kT / 20, kT / 16};

/// Timers and messages are late by this.
constexpr Duration kLate = kT / 100;

/// Lets time pass while each message from one client to its server takes a given time. The replies
/// take none.
class SlowLine {
 public:
  using Delay = std::function<Duration(bool is_check)>;

  SlowLine(World& world, std::size_t client, Delay delay)
      : world_(world), client_(client), delay_(std::move(delay)), checks_(count_checks()) {}

  void run_for(Duration time) {
    for (const Instant end = world_.now() + time;;) {
      while (run_step()) {
      }
      if (world_.now() >= end) return;
      Instant next = end;
      if (!arrivals_.empty()) next = std::min(next, arrivals_.front());
      if (const auto timer = world_.clock().next_due()) next = std::min(next, *timer);
      world_.clock().advance_to(std::min(next + kLate, end));
    }
  }

 private:
  std::size_t count_checks() { return world_.client(client_).requests(OperationKind::check); }

  bool run_step() {
    note_messages();
    for (const Step& step : world_.steps()) {
      if (step.kind == Step::Kind::timer) continue;
      if (step.kind == Step::Kind::serve && step.client == client_) {
        if (arrivals_.front() > world_.now()) continue;
        arrivals_.pop_front();
      }
      world_.run(step);
      return true;
    }
    return false;
  }

  void note_messages() {
    const std::size_t unserved = world_.client(client_).unserved();
    const bool is_check = std::exchange(checks_, count_checks()) != count_checks();
    while (arrivals_.size() > unserved) arrivals_.pop_front();  // the connection was lost
    while (arrivals_.size() < unserved) {
      const Instant last = arrivals_.empty() ? Instant{} : arrivals_.back();
      arrivals_.push_back(std::max(last, world_.now() + delay_(is_check)));
    }
  }

  World& world_;
  const std::size_t client_;
  const Delay delay_;
  std::size_t checks_;
  std::deque<Instant> arrivals_;  ///< of the messages on their way
};

class SlowNetwork : public PathLockTest {
 protected:
  SlowLine slow_line(std::size_t client, Duration round_trip) {
    return {world(), client, [round_trip](bool) { return round_trip; }};
  }
  bool is_held(std::size_t call) { return lock_.call(call).hold.state() == HoldState::held; }
  void expect_held(std::size_t call, Duration length, Duration phase) {
    EXPECT_TRUE(is_held(call)) << length.count() << " ns, phase " << phase.count();
    run_for(kT);
    release(call);
    run_for(3 * kT);
  }
};

// The list of a semaphore must also be answered in time.
TEST_F(SlowNetwork, AlwaysSlow_IsGrantedAndKept) {
  for (const bool is_semaphore : {false, true}) {
    for (const Duration round_trip : kSlowRoundTrips) {
      for (Duration phase = 0s; phase < kT / 4; phase += kT / 400) {
        SlowLine line = slow_line(0, round_trip);
        line.run_for(3 * kT + phase);
        const auto call =
            lock_.acquire(0, is_semaphore ? LockWorld::shared_permits(1, 2) : Request{});
        line.run_for(4 * kT);
        expect_held(call, round_trip, phase);
      }
    }
    expect_rest();
    ensemble().remove(LockWorld::count_path());
  }
}

// The disk of the servers is slow. Only quorum operations wait for it.
TEST_F(SlowNetwork, OnlyHeartbeatsSlow_IsGrantedAndKept) {
  for (const Duration round_trip : kSlowRoundTrips) {
    for (Duration phase = 0s; phase < kT / 4; phase += kT / 400) {
      const auto holder = granted(0);
      const auto call = waiting(1);
      SlowLine line(world(), 1,
                    [round_trip](bool is_check) { return is_check ? round_trip : Duration(1ms); });
      line.run_for(2 * kT + phase);
      lock_.release(holder);
      line.run_for(4 * kT);
      expect_held(call, round_trip, phase);
    }
  }
}

// The client gets its turn right after the pause. The first leases of a paused client are short.
TEST_F(SlowNetwork, PauseBeforeGrant_IsGrantedAndKept) {
  enum class Paused { client, waiting_client, leader };
  for (const Paused paused : {Paused::client, Paused::waiting_client, Paused::leader}) {
    const bool waits = paused != Paused::client;
    const bool is_leader = paused == Paused::leader;
    for (const int percent : {20, 30, 40, 45, 50, 55, 60, 70, 90}) {
      for (Duration phase = 0s; phase < kT / 4; phase += kT / 400) {
        std::optional<std::size_t> holder;
        std::optional<std::size_t> call;
        if (waits) {
          holder = granted(0);
          call = waiting(1);
        }
        SlowLine line = slow_line(1, percent_of_timeout(1));
        line.run_for(2 * kT + phase);
        is_leader ? world().ensemble().pause_leader() : world().pause(1);
        if (paused == Paused::waiting_client) lock_.release(*holder);
        run_for(percent_of_timeout(percent));
        is_leader ? world().ensemble().resume_leader() : world().resume(1);
        if (is_leader) lock_.release(*holder);
        if (!waits) call = lock_.acquire(1);
        line.run_for(3 * kT);
        expect_held(*call, percent_of_timeout(percent), phase);
      }
    }
  }
}

TEST_F(SlowNetwork, SlowFromGrantOn_IsKept) {
  for (const Duration round_trip : kSlowRoundTrips) {
    for (Duration phase = 0s; phase < kT / 4; phase += kT / 400) {
      const auto call = granted(0);
      run_for(3 * kT + phase);
      slow_line(0, round_trip).run_for(4 * kT);
      expect_held(call, round_trip, phase);
    }
  }
}

TEST_F(SlowNetwork, SlowFromFrontOn_IsGrantedAndHeld) {
  for (const Duration round_trip : kSlowRoundTrips) {
    for (Duration wait = kT / 10; wait < 2 * kT; wait += kT / 400) {
      const auto holder = granted(0);
      const auto call = waiting(1);
      run_for(wait);
      SlowLine line = slow_line(1, round_trip);
      lock_.release(holder);
      line.run_for(4 * kT);
      expect_held(call, round_trip, wait);
    }
  }
}

TEST_F(SlowNetwork, LeaderPausedAfterGrant_HoldIsKept) {
  for (const int percent : {10, 15, 17}) {
    for (Duration wait = kT / 10; wait < kT; wait += kT / 400) {
      const auto holder = granted(0);
      const auto call = waiting(1);
      run_for(wait);
      release(holder);
      run_for(1ms);
      ASSERT_TRUE(is_held(call));
      world().ensemble().pause_leader();
      run_for(percent_of_timeout(percent));
      world().ensemble().resume_leader();
      run_for(2 * kT);
      expect_held(call, percent_of_timeout(percent), wait);
    }
  }
}

TEST_F(SlowNetwork, LeaderOrClientPausedDuringHold_HoldIsKept) {
  for (const bool leader : {true, false}) {
    for (Duration phase = 0s; phase < kT / 2; phase += kT / 400) {
      const auto call = granted(0);
      run_for(kT + phase);
      leader ? world().ensemble().pause_leader() : world().pause(0);
      run_for(kT / 3);
      leader ? world().ensemble().resume_leader() : world().resume(0);
      run_for(2 * kT);
      expect_held(call, kT / 3, phase);
    }
  }
}

// A slow server is not burdened with more requests than a quick one.
TEST_F(SlowNetwork, AlwaysSlowHold_SendsTenRequestsPerTimeout) {
  const auto call = granted(0);
  SlowLine line = slow_line(0, kSlowRoundTrips.back());
  line.run_for(2 * kT);
  reset_counts();
  line.run_for(3 * kT);
  EXPECT_LE(client(0).requests(), 33U);
  EXPECT_TRUE(is_held(call));
}

// A throttled request does not reach the leader. It is not repeated at once: the server is busy.
TEST_F(SlowNetwork, Throttled_SendsAsOftenAsElse) {
  const auto holder = granted(0);
  waiting(1);
  slow_line(1, kT / 16).run_for(kT);
  for (int i = 0; i < 1000; ++i) world().fail_next(1, OperationKind::sync, Status::throttled);
  reset_counts();
  run_for(kT / 2);
  EXPECT_LE(client(1).requests(), 6U);
  client(1).clear_faults();
  release(holder);
  run_for(2 * kT);
}

}  // namespace
}  // namespace zklock::model
