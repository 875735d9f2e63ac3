// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: readers and writers, and permits.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;
using Request = LockWorld::Request;

class PathLockSharedTest : public PathLockTest {
 protected:
  static Request to_write(Owner owner = Owner::unique()) { return LockWorld::to_write(owner); }
  static Request to_read(Owner owner = Owner::unique()) { return LockWorld::to_read(owner); }
  static Request within(Request request, Duration timeout) {
    request.timeout = timeout;
    return request;
  }
  std::size_t requests() {
    std::size_t all = 0;
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) all += client(c).requests();
    return all;
  }
  std::size_t watches() {
    std::size_t all = 0;
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) all += client(c).live_interests();
    return all;
  }
};

// ---- readers and writers ------------------------------------------------------------------------

TEST_F(PathLockSharedTest, ReadersAndWriter_OnlyReadersHoldTogether) {
  const auto first = granted(0, to_read());
  const auto second = granted(1, to_read());
  const auto writer = waiting(2, to_write());
  const auto late = waiting(0, to_read());
  release(first);
  EXPECT_EQ(lock_.call(writer).outcomes, 0);
  release(second);
  EXPECT_TRUE(lock_.call(writer).granted());
  EXPECT_EQ(lock_.call(late).outcomes, 0);
  release(writer);
  EXPECT_TRUE(lock_.call(late).granted());
  EXPECT_GT(lock_.call(late).token, lock_.call(writer).token);
  release(late);
  expect_rest();
}

TEST_F(PathLockSharedTest, WriterReleases_GrantsWithoutRequest) {
  const auto writer = granted(0, to_write());
  const auto reader = waiting(1, to_read());
  const auto behind = waiting(2, to_read());
  reset_counts();
  release(writer);
  EXPECT_TRUE(lock_.call(reader).granted() && lock_.call(behind).granted());
  EXPECT_EQ(client(1).requests() + client(2).requests(), 0U);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  release(reader);
  EXPECT_EQ(client(1).requests(Kind::announce_and_delete), 0U) << "nobody would trust it";
  release(behind);
  expect_rest();
}

TEST_F(PathLockSharedTest, ManyWritersQueued_EachReaderWakesOnce) {
  const auto holder = granted(0, to_write());
  constexpr std::size_t writers = 6;
  constexpr std::size_t readers = 4;
  std::vector<std::size_t> queued;
  for (std::size_t i = 0; i < writers; ++i) queued.push_back(waiting(1, to_write()));
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < readers; ++i) late.push_back(waiting(2, to_read()));
  EXPECT_EQ(watches(), writers + readers) << "one each";
  reset_counts();
  release(holder);
  for (const std::size_t writer : queued) {
    EXPECT_TRUE(lock_.call(writer).granted());
    EXPECT_EQ(client(2).requests(), 0U) << "the readers sleep";
    release(writer);
  }
  for (const std::size_t reader : late) EXPECT_TRUE(lock_.call(reader).granted());
  EXPECT_EQ(client(2).requests(), 0U) << "granted by the last writer's release";
  for (const std::size_t reader : late) release(reader);
  expect_rest();
}

TEST_F(PathLockSharedTest, WriterTimesOut_ReadersAreGranted) {
  const auto first = granted(0, to_read());
  const auto writer = waiting(1, within(to_write(), 1s));
  const auto late = waiting(2, to_read());
  lock_.world().run_for(1s);
  EXPECT_EQ(lock_.call(writer).outcomes, 1);
  EXPECT_TRUE(lock_.call(late).granted());
  EXPECT_EQ(lock_.held(), 2U);
  release(first);
  release(late);
  expect_rest();
}

TEST_F(PathLockSharedTest, Downgrade_RetainsTokenAndPosition) {
  const Owner owner = Owner::unique();
  const auto writes = granted(0, to_write(owner));
  const auto rival = waiting(1, to_write());
  const auto reads = granted(0, to_read(owner));
  EXPECT_EQ(lock_.call(reads).token, lock_.call(writes).token);
  EXPECT_EQ(lock_.call(reads).node, lock_.call(writes).node);
  release(writes);
  EXPECT_EQ(lock_.call(reads).hold.state(), HoldState::held);
  EXPECT_EQ(lock_.path_lock(0)->ownership(owner).exclusive_count(), 0);
  EXPECT_EQ(lock_.call(rival).outcomes, 0);
  const auto upgrade = lock_.acquire(0, to_write(owner));
  EXPECT_EQ(error(upgrade), Errc::would_deadlock);
  const auto again = granted(0, to_read(owner));
  release(reads);
  release(again);
  EXPECT_TRUE(lock_.call(rival).granted());
  release(rival);
  expect_rest();
}

TEST_F(PathLockSharedTest, UpgradeWhileReading_IsRefusedAndReadRetained) {
  const Owner owner = Owner::unique();
  const auto reads = granted(0, to_read(owner));
  reset_counts();
  for (const auto& request : {to_write(owner), within(to_write(owner), 0s)}) {
    const auto upgrade = lock_.acquire(0, request);
    run();
    EXPECT_EQ(error(upgrade), Errc::would_deadlock);
  }
  EXPECT_EQ(requests(), 0U);
  EXPECT_EQ(lock_.call(reads).hold.state(), HoldState::held);
  release(reads);
  release(granted(0, to_write(owner)));
  expect_rest();
}

TEST_F(PathLockSharedTest, UpgradeOfWaitingReader_IsRefused) {
  const Owner owner = Owner::unique();
  const auto writer = granted(1, to_write());
  const auto reads = waiting(0, to_read(owner));
  const auto upgrade = lock_.acquire(0, to_write(owner));
  run();
  EXPECT_EQ(error(upgrade), Errc::would_deadlock);
  release(writer);
  EXPECT_TRUE(lock_.call(reads).granted());
  release(reads);
  expect_rest();
}

TEST_F(PathLockSharedTest, ReaderOfWaitingWriter_JoinsIt) {
  const Owner owner = Owner::unique();
  const auto holder = granted(0, to_read());
  const auto writes = waiting(1, to_write(owner));
  const auto reads = waiting(1, to_read(owner));
  EXPECT_EQ(lock_.nodes().size(), 2U);
  release(holder);
  EXPECT_TRUE(lock_.call(writes).granted() && lock_.call(reads).granted());
  EXPECT_EQ(lock_.call(reads).token, lock_.call(writes).token);
  EXPECT_EQ(lock_.path_lock(1)->ownership(owner).exclusive_count(), 1);
  EXPECT_EQ(lock_.path_lock(1)->ownership(owner).count(), 2);
  release(writes);
  release(reads);
  expect_rest();
}

// The single attempt fails. It was the only call that required exclusion.
TEST_F(PathLockSharedTest, WriteAttemptFails_JoinedReaderIsGranted) {
  const Owner owner = Owner::unique();
  const auto holder = granted(0, to_read());
  const auto attempt = lock_.acquire(1, within(to_write(owner), 0s));
  const auto reads = lock_.acquire(1, to_read(owner));
  run();
  EXPECT_EQ(lock_.call(attempt).outcomes, 1);
  EXPECT_FALSE(lock_.call(attempt).granted());
  EXPECT_TRUE(lock_.call(reads).granted()) << "beside the other reader";
  release(holder);
  release(reads);
  expect_rest();
}

TEST_F(PathLockSharedTest, WriteAttemptFails_JoinedWriterStaysWriter) {
  const Owner owner = Owner::unique();
  const auto holder = granted(0, to_read());
  lock_.acquire(1, within(to_write(owner), 0s));
  const auto reads = lock_.acquire(1, to_read(owner));
  const auto writes = lock_.acquire(1, to_write(owner));
  run();
  EXPECT_EQ(lock_.call(writes).outcomes + lock_.call(reads).outcomes, 0);
  release(holder);
  EXPECT_TRUE(lock_.call(writes).granted() && lock_.call(reads).granted());
  release(writes);
  release(reads);
  expect_rest();
}

TEST_F(PathLockSharedTest, ForeignReaderOrWriter_IsHonoured) {
  auto& ensemble = lock_.world().ensemble();
  const auto enqueue = [&](const char* prefix) {
    return LockWorld::path + ("/" + *ensemble.create_sequential(LockWorld::path, prefix));
  };
  const std::string reads = enqueue("_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__READ__");
  const auto reader = granted(0, to_read());
  const auto writer = waiting(1, to_write());
  release(reader);
  EXPECT_EQ(lock_.call(writer).outcomes, 0);
  ASSERT_EQ(ensemble.remove(reads), Status::ok);
  run();
  EXPECT_TRUE(lock_.call(writer).granted());
  const std::string writes = enqueue("_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__WRIT__");
  release(writer);
  const auto late = waiting(0, to_read());
  ASSERT_EQ(ensemble.set_data(writes, "released"), Status::ok);
  run();
  EXPECT_EQ(lock_.call(late).outcomes, 0) << "anybody may have written that";
  ASSERT_EQ(ensemble.remove(writes), Status::ok);
  run();
  EXPECT_TRUE(lock_.call(late).granted());
  release(late);
  expect_rest();
}

TEST_F(PathLockSharedTest, MutexOnPath_ActsAsWriter) {
  const auto reader = granted(0, to_read());
  const auto mutex = waiting(1);
  const auto late = waiting(2, to_read());
  release(reader);
  EXPECT_TRUE(lock_.call(mutex).granted());
  release(mutex);
  EXPECT_TRUE(lock_.call(late).granted());
  release(late);
  expect_rest();
}

// ---- permits ------------------------------------------------------------------------------------

class PathLockSemaphoreTest : public PathLockSharedTest {
 protected:
  static Request permits(int wanted, int all = 4) { return LockWorld::permits(wanted, all); }
};

TEST_F(PathLockSemaphoreTest, PermitsWithinCount_AreHeldTogether) {
  const auto two = granted(0, permits(2));
  const auto one = granted(1, permits(1));
  const auto another = granted(2, permits(1));
  const auto three = waiting(0, permits(3));
  const auto small = waiting(1, permits(1));
  release(two);
  EXPECT_EQ(lock_.call(three).outcomes, 0);
  EXPECT_EQ(lock_.call(small).outcomes, 0) << "who wants much is not overtaken";
  release(one);
  EXPECT_TRUE(lock_.call(three).granted());
  EXPECT_EQ(lock_.call(small).outcomes, 0);
  release(another);
  EXPECT_TRUE(lock_.call(small).granted());
  EXPECT_EQ(lock_.call(three).hold.permits(), 3);
  release(three);
  release(small);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, SeveralHoldersAhead_WaiterWatchesThem) {
  std::vector<std::size_t> holders;
  for (std::size_t i = 0; i < 4; ++i) holders.push_back(granted(i % 2, permits(1)));
  const auto one = waiting(2, permits(1));
  EXPECT_EQ(client(2).live_interests(), 4U) << "four of weight one leave no room for one";
  const auto all = waiting(2, permits(4));
  EXPECT_EQ(client(2).live_interests(), 5U) << "one is enough where all are wanted";
  release(holders[0]);
  EXPECT_TRUE(lock_.call(one).granted());
  EXPECT_EQ(client(2).live_interests(), 1U);
  for (std::size_t i = 1; i < 4; ++i) release(holders[i]);
  release(one);
  EXPECT_TRUE(lock_.call(all).granted());
  release(all);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, Release_WakesAtMostThePermitCount) {
  constexpr std::size_t waiters = 12;
  const auto first = granted(0, permits(2, 2));
  std::vector<std::size_t> queued;
  for (std::size_t i = 0; i < waiters; ++i) queued.push_back(waiting(1 + i % 2, permits(1, 2)));
  std::size_t worst = 0;
  reset_counts();
  release(first);
  for (const std::size_t each : queued) {
    EXPECT_TRUE(lock_.call(each).granted());
    reset_counts();
    release(each);
    const std::size_t lists =
        client(1).requests(Kind::list_children) + client(2).requests(Kind::list_children);
    worst = std::max(worst, lists);
  }
  EXPECT_LE(worst, 2U);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, CallCancelledOrTimedOut_LeavesNoWatch) {
  const auto a = granted(0, permits(2));
  const auto b = granted(1, permits(2));
  const auto timed = waiting(2, within(permits(3), 1s));
  const auto cancelled = waiting(2, permits(1));
  EXPECT_GT(client(2).live_interests(), 2U);
  lock_.cancel(cancelled);
  lock_.world().run_for(1s);
  EXPECT_EQ(lock_.call(timed).outcomes + lock_.call(cancelled).outcomes, 2);
  EXPECT_EQ(client(2).live_interests(), 0U);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  release(a);
  release(b);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, OtherPermitCount_IsRefusedWithoutEffect) {
  const auto holder = granted(0, permits(2, 3));
  const auto odd = lock_.acquire(1, permits(1, 5));
  const auto late = lock_.acquire(2, permits(1, 3));
  run();
  EXPECT_EQ(error(odd), Errc::settings_mismatch);
  EXPECT_TRUE(lock_.call(late).granted());
  EXPECT_EQ(lock_.nodes().size(), 2U);
  release(holder);
  release(late);
  release(granted(1, permits(5, 5)));  // an unused path has no permit count
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, SessionExpiresWhileWaiting_QueuesAgain) {
  const auto a = granted(0, permits(2));
  const auto b = granted(0, permits(2));
  const auto waits = waiting(1, permits(2));
  lock_.world().expire(1);
  lock_.world().run_for(1s);
  EXPECT_EQ(lock_.call(waits).outcomes, 0);
  EXPECT_EQ(lock_.nodes().size(), 3U);
  release(a);
  EXPECT_TRUE(lock_.call(waits).granted());
  release(b);
  release(waits);
  expect_rest();
}

// ---- random runs -------------------------------------------------------------------------------

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
