// SPDX-License-Identifier: Apache-2.0
// The participants of a queue, their positions, and what an empty Hold says about them.
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  EXPECT_EQ(::gethostname(name.data(), name.size() - 1), 0);
  return name.data();
}

class Participants : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect();
  ReentrantMutex others_mutex_{*other_, kPath};
};

// suite/basics_test.cpp has the order, the owners and the tokens.
TEST_F(Participants, Participants_HaveHostProcessAndTime) {
  // The leader's clock is this machine's clock; ZooKeeper rounds to milliseconds.
  const auto begun = std::chrono::system_clock::now() - 1s;
  const Hold hold = mutex_.acquire();
  auto waiting = others_mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  const auto all = mutex_.participants(Deadline::passed());  // a single attempt
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(mutex_.queue_position(std::nullopt, Deadline::passed()), 0U);
  for (const Participant& p : all) {
    EXPECT_EQ(p.token.zxid, raw().exists(kPath + "/" + p.node).stat.czxid);
    EXPECT_EQ(p.host, host_name());
    EXPECT_EQ(p.pid, ::getpid());
    EXPECT_GE(p.since, begun);
    EXPECT_LE(p.since, std::chrono::system_clock::now() + 1s);
  }
  EXPECT_GE(all[1].since, all[0].since);
  EXPECT_EQ(all[1].sequence, 1);
}

TEST_F(Participants, OvertakenAtTheGate_PositionGrows) {
  PriorityMutex weighted(*client_, "/weighted");
  const Hold first = weighted.acquire();
  const Owner light = Owner::unique();
  auto waits = weighted.async_acquire({.owner = light}, 1);
  EXPECT_TRUE(eventually([&] { return weighted.queue_position(light) == 1U; }, kTestTimeout));
  auto overtakes = weighted.async_acquire({}, 9);
  EXPECT_TRUE(eventually([&] { return weighted.queue_position(light) == 2U; }, kTestTimeout));
}

TEST_F(Participants, NoteOfCandidates_IsShown) {
  LeaderLatch latch(*client_, kPath, LatchOptions{.label = "api", .note = "shard 7"});
  latch.start();
  ASSERT_TRUE(reaches_nodes(1));
  LeaderElection election(*client_, kPath, ElectionOptions{.note = "shard 8"}, [](Leadership&) {});
  election.start();
  ASSERT_TRUE(reaches_nodes(2));
  const auto all = others_mutex_.participants();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].label + "/" + all[0].note, "api/shard 7");
  EXPECT_EQ(all[1].label + "/" + all[1].note, "/shard 8");
}

// The znode outlives the unlock() of the thread for which it was created.
TEST_F(Participants, SharedZnode_IsNotBoundToAThread) {
  for (const CohortOptions& options :
       {CohortOptions{.max_local_handoffs = 8}, CohortOptions{.keep_idle_for = 1h}}) {
    ReentrantMutex mutex(*client_, kPath, options);
    mutex.lock();
    const auto all = others_mutex_.participants();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_FALSE(all[0].thread_bound);
    mutex.unlock();
  }
}

// suite/waiting_test.cpp has the holder that an empty Hold names.
TEST_F(Participants, HoldBlockedBy_IsEmptyForOtherHolds) {
  const LockState empty;
  EXPECT_EQ(Hold().blocked_by(), empty);
  Hold granted = mutex_.acquire();
  EXPECT_EQ(granted.blocked_by(), empty);
  granted.release();
  EXPECT_EQ(granted.blocked_by(), empty) << "another contender may hold";
  Hold holder = others_mutex_.acquire();
  auto client = connect();
  Hold refused = ReentrantMutex(*client, kPath).acquire({.deadline = Deadline::passed()});
  Hold moved = std::move(refused);
  EXPECT_EQ(refused.blocked_by(), empty);  // NOLINT(bugprone-use-after-move): its state is defined
  const LockState state = moved.blocked_by(kTestTimeout);
  ASSERT_EQ(state.holders.size(), 1U);
  EXPECT_EQ(state.holders[0].token, holder.token());
  EXPECT_EQ(moved.blocked_by(Deadline::passed()), empty);
  holder.release();
  ASSERT_TRUE(becomes_empty());
  EXPECT_TRUE(moved.blocked_by(kTestTimeout).is_free()) << "the present state";
  client->close();
  EXPECT_EQ(moved.blocked_by(), empty);
  client.reset();
  EXPECT_EQ(moved.blocked_by(), empty);
  moved = Hold();
  EXPECT_EQ(moved.blocked_by(), empty);
}

TEST_F(Participants, HoldBlockedBySeveral_CountsThem) {
  Semaphore others(*other_, "/permits", 3);
  Semaphore permits(*client_, "/permits", 3);
  const Permit first = others.acquire();
  const Permit second = others.acquire();
  const Permit third = others.acquire();
  auto waiting = others.async_acquire();
  ASSERT_TRUE(reaches_nodes(4, "/permits"));
  const Permit refused = permits.try_acquire();
  const LockState state = refused.blocked_by(kTestTimeout);
  ASSERT_EQ(state.holders.size(), 1U);
  EXPECT_EQ(state.holders[0].token, first.token());
  EXPECT_EQ(state.holding, 3U);
  EXPECT_EQ(state.waiting, 1U);
}

class HoldBlockedBy : public OwnServerTest {};

TEST_F(HoldBlockedBy, NoServer_IsEmptyAfterASecond) {
  const auto client = connect();
  const auto other = connect();
  ReentrantMutex others_mutex(*other, kPath);
  const Hold holder = others_mutex.acquire();
  const Hold refused = ReentrantMutex(*client, kPath).acquire({.deadline = Deadline::passed()});
  server_.kill();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(refused.blocked_by(), LockState());
  EXPECT_GE(std::chrono::steady_clock::now() - before, 900ms);
  start_again();
}

}  // namespace
}  // namespace zklock::testing
