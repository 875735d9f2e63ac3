// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: invariants under random events.
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/path_lock_shared_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;
using Request = LockWorld::Request;

/// Three clients with several calls each, which the world serves in a random order, with faults.
class RandomRun {
 public:
  RandomRun(std::uint64_t seed, int mix) : random_(seed), mix_(mix) {
    lock_.connect_all();
    for (Owner& owner : owners_) owner = Owner::unique();
  }

  std::string run() {
    for (int i = 0; i < 250; ++i) {
      act();
      if (std::string wrong = lock_.violation(); !wrong.empty()) return wrong;
    }
    if (mix_ == 3) lock_.say_permits(3);
    // Releases all holds repeatedly, until all contenders have been granted.
    for (int round = 0; round < 40; ++round) {
      for (std::size_t c = 0; c < 3; ++c) {
        if (!lock_.world().client(c).is_connected()) lock_.world().reconnect(c);
      }
      for (std::size_t i = 0; i < lock_.calls(); ++i) lock_.release(i);
      lock_.world().run_for(1s);
      if (std::string wrong = lock_.violation(); !wrong.empty()) return wrong;
    }
    return lock_.violation_at_rest();
  }
  std::size_t granted() {
    std::size_t count = 0;
    for (std::size_t i = 0; i < lock_.calls(); ++i) count += lock_.call(i).granted() ? 1U : 0U;
    return count;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  Request request() {
    Request wish = mix_ == 0   ? LockWorld::permits(1 + static_cast<int>(below(3)), 3)
                   : one_in(3) ? LockWorld::to_write()
                               : LockWorld::to_read();
    if (mix_ == 3) wish = LockWorld::shared_permits(1 + static_cast<int>(below(3)), 3);
    if (mix_ == 2 && one_in(4)) wish = Request{};
    if (mix_ == 2 && one_in(3)) wish = LockWorld::permits(1 + static_cast<int>(below(2)), 2);
    // Readers and writers of one owner are mixed.
    if (mix_ == 1 && one_in(3)) wish.owner = owners_[below(owners_.size())];
    if (one_in(3)) wish.timeout = std::chrono::milliseconds(below(4) * 300);
    wish.queue_again = !one_in(4);
    return wish;
  }

  void act() {
    World& world = lock_.world();
    const std::size_t c = below(3);
    if (one_in(12)) return strike(c);
    if (mix_ == 3 && one_in(20)) return lock_.say_permits(static_cast<int>(below(5)));
    if (one_in(4) && lock_.calls() < 30) {
      lock_.acquire(c, request());
      return;
    }
    if (one_in(4) && lock_.calls() > 0) {
      const std::size_t call = below(lock_.calls());
      one_in(4) ? lock_.cancel(call) : lock_.release(call);
      return;
    }
    auto steps = world.steps();
    std::erase_if(steps,
                  [&](const Step& step) { return step.kind == Step::Kind::timer && !one_in(10); });
    if (!steps.empty()) world.run(steps[below(steps.size())]);
  }

  void strike(std::size_t c) {
    World& world = lock_.world();
    switch (below(mix_ == 3 ? 10 : 7)) {
      case 7: world.fail_next(c, Kind::get, Status::throttled); return;
      case 8: world.lose_reply(c, Kind::get); return;
      case 9: world.lose_reply(c, Kind::transaction); return;
      case 0: world.lose_reply(c); return;
      case 1: world.lose_request(c); return;
      case 2: world.disconnect(c); return;
      case 3: world.fail_next(c, Kind::list_children, Status::throttled); return;
      case 4: world.fail_next(c, Kind::get_and_watch, Status::throttled); return;
      case 5:
        world.disconnect(c);
        world.run_for(one_in(2) ? 8s : 100ms);
        return;
      default: world.reconnect(c); return;
    }
  }

  std::mt19937_64 random_;
  const int mix_;
  LockWorld lock_{3};
  std::array<Owner, 2> owners_{Owner::unique(), Owner::unique()};
};

TEST(PathLockRandom, RandomEvents_InvariantsHold) {
  for (int mix = 0; mix < 4; ++mix) {
    std::size_t granted = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      RandomRun random(seed, mix);
      ASSERT_EQ(random.run(), "") << "mix " << mix << ", seed " << seed;
      granted += random.granted();
    }
    EXPECT_GT(granted, 2'000U) << mix;
  }
}

}  // namespace
}  // namespace zklock::model
