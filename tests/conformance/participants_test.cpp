// SPDX-License-Identifier: Apache-2.0
// The participants of a queue and their positions.
#include <array>
#include <chrono>
#include <memory>
#include <string>

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

TEST_F(Participants, PathDoesNotExist_QueueIsEmpty) {
  EXPECT_TRUE(mutex_.participants().empty());
  EXPECT_EQ(mutex_.queue_position(), std::nullopt);
  EXPECT_EQ(raw().exists(kPath).rc, ZNONODE);  // queries create no znode
}

// suite/basics_test.cpp has the order, the owners and the tokens.
TEST_F(Participants, Participants_HaveHostProcessAndTime) {
  // The leader's clock is this machine's clock; ZooKeeper rounds to milliseconds.
  const auto begun = std::chrono::system_clock::now() - 1s;
  const Hold hold = mutex_.acquire();
  auto waiting = others_mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  const auto all = mutex_.participants();
  ASSERT_EQ(all.size(), 2U);
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

}  // namespace
}  // namespace zklock::testing
