// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/core/election_fsm.h"

namespace zklock::core {
namespace {

// The environment of the machine. The lock replies to each attempt once, a hold is released once,
// and the function of a leadership returns once. The test tries all orders of events up to a depth.
struct World {
  explicit World(bool again) : fsm(again) {}

  ElectionFsm fsm;
  std::set<ElectionFsm::Attempt> asked;  // without a reply
  std::set<ElectionFsm::Attempt> pauses;
  std::set<ElectionFsm::Attempt> running;  // leaderships begun, not finished
  std::set<ElectionFsm::Attempt> stopped;
  int holds = 0;
  bool closed = false;
  std::string fault;

  void expect(bool fact, const char* what) {
    if (!fact && fault.empty()) fault = what;
  }

  void apply(const ElectionEffects& effects, ElectionFsm::Attempt attempt) {
    for (const ElectionEffect effect : effects) {
      switch (effect) {
        case ElectionEffect::contend:
          expect(!closed, "contends when closed");
          expect(holds == 0, "contends while it holds");
          expect(running.empty(), "contends while a function runs");
          asked.insert(fsm.attempt());
          break;
        case ElectionEffect::cancel: expect(asked.contains(attempt), "cancels nothing"); break;
        case ElectionEffect::pause: pauses.insert(fsm.attempt()); break;
        case ElectionEffect::begin:
          expect(!closed, "begins when closed");
          expect(running.empty(), "two leaderships at once");
          running.insert(attempt);
          break;
        case ElectionEffect::stop:
          expect(stopped.insert(attempt).second, "stopped twice");
          expect(holds == 1, "stops after the release");
          break;
        case ElectionEffect::release:
        case ElectionEffect::release_late: --holds; break;
      }
    }
    expect(holds >= 0 && holds <= 1, "holds are counted wrongly");
    expect(holds == 1 || running.empty(), "leads without a hold");
  }

  // Returns all events that can come next.
  std::vector<std::function<void(World&)>> moves() const {
    std::vector<std::function<void(World&)>> all;
    for (const auto a : asked) {
      all.emplace_back([a](World& w) {
        w.asked.erase(a);
        ++w.holds;
        w.apply(w.fsm.on_granted(a), a);
      });
      for (const bool for_good : {false, true}) {
        all.emplace_back([a, for_good](World& w) {
          w.asked.erase(a);
          w.apply(w.fsm.on_failed(a, for_good), a);
        });
      }
    }
    for (const auto a : pauses) {
      all.emplace_back([a](World& w) {
        w.pauses.erase(a);
        w.apply(w.fsm.on_pause_over(a), a);
      });
    }
    for (const auto a : running) {
      all.emplace_back([a](World& w) { w.apply(w.fsm.on_lost(a), a); });
      for (const auto end : {LeaderEnd::returned, LeaderEnd::threw, LeaderEnd::not_run}) {
        all.emplace_back([a, end](World& w) {
          w.running.erase(a);
          w.apply(w.fsm.on_finished(a, end), a);
        });
      }
    }
    all.emplace_back([](World& w) { w.apply(w.fsm.interrupt(), w.fsm.attempt()); });
    all.emplace_back([](World& w) { w.apply(w.fsm.withdraw(), w.fsm.attempt()); });
    if (!closed) {
      all.emplace_back([](World& w) { w.apply(w.fsm.contend(), w.fsm.attempt()); });
      all.emplace_back([](World& w) {
        w.closed = true;
        w.apply(w.fsm.close(), w.fsm.attempt());
      });
    }
    return all;
  }
};

// Closes the machine, and completes everything that is in progress.
void settle(World& world) {
  if (!world.closed) {
    world.closed = true;
    world.apply(world.fsm.close(), world.fsm.attempt());
  }
  while (!world.asked.empty() || !world.pauses.empty() || !world.running.empty()) {
    if (!world.asked.empty()) {
      const auto a = *world.asked.begin();
      world.asked.erase(a);
      ++world.holds;  // the grant raced with the cancel
      world.apply(world.fsm.on_granted(a), a);
    } else if (!world.pauses.empty()) {
      const auto a = *world.pauses.begin();
      world.pauses.erase(a);
      world.apply(world.fsm.on_pause_over(a), a);
    } else {
      const auto a = *world.running.begin();
      world.running.erase(a);
      world.apply(world.fsm.on_finished(a), a);
    }
  }
  world.expect(world.holds == 0, "a hold is left");
  world.expect(world.fsm.state() == CandidateState::closed, "it does not end closed");
}

std::size_t explore(const World& world, int depth) {
  World end = world;
  settle(end);
  EXPECT_EQ(end.fault, "");
  if (depth == 0 || !end.fault.empty()) return 1;
  std::size_t count = 1;
  for (const auto& move : world.moves()) {
    World next = world;
    move(next);
    EXPECT_EQ(next.fault, "");
    if (!next.fault.empty()) return count;
    count += explore(next, depth - 1);
    if (::testing::Test::HasFailure()) return count;
  }
  return count;
}

TEST(ElectionFsmWalk, AllEventOrders_KeepTheInvariants) {
  for (const bool again : {true, false}) {
    EXPECT_GT(explore(World(again), 7), 10'000U);
  }
}

}  // namespace
}  // namespace zklock::core
