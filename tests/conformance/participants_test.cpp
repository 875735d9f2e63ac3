// SPDX-License-Identifier: Apache-2.0
// The participants of a queue and their positions.
#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

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
  ClientOptions named(const std::string& application) const {
    ClientOptions named = options();
    named.application = application;
    return named;
  }
  const std::unique_ptr<Client> client_ = connect(named("orders"));
  ReentrantMutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect(named("billing"));
  ReentrantMutex others_mutex_{*other_, kPath};
};

TEST_F(Participants, PathDoesNotExist_QueueIsEmpty) {
  EXPECT_TRUE(mutex_.participants().empty());
  EXPECT_EQ(mutex_.queue_position(), std::nullopt);
  EXPECT_EQ(raw().exists(kPath).rc, ZNONODE);  // queries create no znode
}

TEST_F(Participants, Participants_AreListedInQueueOrder) {
  // The leader's clock is this machine's clock; ZooKeeper rounds to milliseconds.
  const auto begun = std::chrono::system_clock::now() - 1s;
  const Owner first = Owner::unique();
  const Owner second = Owner::unique();
  Hold hold = mutex_.acquire({.owner = first});
  auto waiting = others_mutex_.async_acquire(AcquireOptions{.owner = second});
  ASSERT_TRUE(reaches_nodes(2));
  mutex_.async_acquire({}, [](const Hold&, const std::exception_ptr&) {});
  ASSERT_TRUE(reaches_nodes(3));

  const auto all = mutex_.participants();
  ASSERT_EQ(all.size(), 3U);
  const auto on_server = nodes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Participant& p = all[i];
    EXPECT_EQ(p.node, on_server[i]);
    EXPECT_EQ(p.sequence, static_cast<std::int32_t>(i));
    EXPECT_EQ(p.holds, i == 0);
    EXPECT_EQ(p.mine, i != 1);
    EXPECT_EQ(p.token.zxid, raw().exists(kPath + "/" + p.node).stat.czxid);
    EXPECT_EQ(p.session_id, (i == 1 ? other_ : client_)->session_id());
    EXPECT_EQ(p.application, i == 1 ? "billing" : "orders");
    EXPECT_EQ(p.host, host_name());
    EXPECT_EQ(p.pid, ::getpid());
    EXPECT_GE(p.since, begun);
    EXPECT_LE(p.since, std::chrono::system_clock::now() + 1s);
    if (i > 0) {
      EXPECT_GE(p.since, all[i - 1].since);
    }
  }
  EXPECT_EQ(all[0].token, hold.token());
  EXPECT_EQ(all[0].owner, first.to_string());
  EXPECT_EQ(all[1].owner, second.to_string());
  EXPECT_NE(all[2].owner, first.to_string());
  // The other client gets this queue with its own `mine` flags.
  const auto others = others_mutex_.participants();
  ASSERT_EQ(others.size(), 3U);
  EXPECT_FALSE(others[0].mine);
  EXPECT_TRUE(others[1].mine);

  hold.release();
  EXPECT_EQ(get(waiting).token(), all[1].token);
}

// A hold is marked after half a session timeout.
TEST_F(Participants, LongHold_ShowsTheTimeOfItsGrant) {
  ClientOptions quick = options();
  quick.session_timeout = 4s;
  const auto client = connect(quick);
  ReentrantMutex mutex(*client, kPath);
  Hold first = others_mutex_.acquire({.owner = Owner::unique()});
  auto waiting = mutex.async_acquire(AcquireOptions{});
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(mutex_.participants().at(0).held_since);
  std::this_thread::sleep_for(200ms);
  const auto granted_after = std::chrono::system_clock::now();
  first.release();
  Hold hold = get(waiting);
  auto behind = others_mutex_.async_acquire(AcquireOptions{});
  ASSERT_TRUE(
      eventually([&] { return mutex_.participants().at(0).held_since.has_value(); }, kTestTimeout));
  const auto all = mutex_.participants();
  ASSERT_EQ(all.size(), 2U);
  ASSERT_TRUE(all[0].held_since);
  // ZooKeeper rounds to milliseconds.
  EXPECT_GE(*all[0].held_since, granted_after - 1ms);
  EXPECT_LE(*all[0].held_since, std::chrono::system_clock::now() - 1900ms);
  EXPECT_FALSE(all[1].held_since) << "it waits";
  EXPECT_EQ(raw().children(kPath).names.size(), 3U) << "the contenders and the marker";
  hold.release();
  get(behind).release();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Participants, QueuePosition_CountsContendersAhead) {
  const Owner waiter = Owner::unique();
  Hold hold = others_mutex_.acquire();
  EXPECT_EQ(others_mutex_.queue_position(), 0U);
  EXPECT_EQ(mutex_.queue_position(), std::nullopt);  // this thread holds at the other client only

  auto before = others_mutex_.async_acquire(AcquireOptions{});
  ASSERT_TRUE(reaches_nodes(2));
  auto waiting = mutex_.async_acquire(AcquireOptions{.owner = waiter});
  ASSERT_TRUE(reaches_nodes(3));
  EXPECT_EQ(mutex_.queue_position(waiter), 2U);
  EXPECT_EQ(mutex_.queue_position(), std::nullopt);
  hold.release();
  Hold befores = get(before);
  EXPECT_TRUE(eventually([&] { return mutex_.queue_position(waiter) == 1U; }, kTestTimeout));
  befores.release();
  const Hold last = get(waiting);
  EXPECT_TRUE(eventually([&] { return mutex_.queue_position(waiter) == 0U; }, kTestTimeout));
  EXPECT_EQ(mutex_.queue_position(Owner::unique()), std::nullopt);
}

// Calls of these classes do not nest, so two contenders of one owner can wait.
template <class Lock>
void expect_position_of_first_call(Lock& holders, Lock& lock) {
  const Owner waiter = Owner::unique();
  Hold hold = holders.acquire();
  EXPECT_EQ(holders.queue_position(), 0U);
  EXPECT_EQ(lock.queue_position(waiter), std::nullopt);
  const auto waits_at = [&](const Owner& owner, std::size_t position) {
    return eventually([&] { return lock.queue_position(owner) == position; }, kTestTimeout);
  };
  auto first = lock.async_acquire({.owner = waiter});
  EXPECT_TRUE(waits_at(waiter, 1));
  const Owner other = Owner::unique();
  auto second = lock.async_acquire({.owner = other});
  EXPECT_TRUE(waits_at(other, 2));
  auto third = lock.async_acquire({.owner = waiter});
  EXPECT_TRUE(waits_at(waiter, 1)) << "its first contender counts";
  hold.release();
  get(first).release();
  get(second).release();
  get(third).release();
}

TEST_F(Participants, MutexAndSemaphore_HaveQueuePositions) {
  Mutex mutex(*client_, kPath);
  Mutex others_mutex(*other_, kPath);
  expect_position_of_first_call(others_mutex, mutex);
  Semaphore semaphore(*client_, "/permits", 1);
  Semaphore others_semaphore(*other_, "/permits", 1);
  expect_position_of_first_call(others_semaphore, semaphore);
}

TEST_F(Participants, SharedAndPriorityMutex_HaveQueuePositions) {
  SharedMutex readers(*client_, kPath);
  const Hold writing = SharedMutex(*other_, kPath).acquire();
  const Owner reader = Owner::unique();
  auto reads = readers.async_acquire_shared({.owner = reader});
  EXPECT_TRUE(eventually([&] { return readers.queue_position(reader) == 1U; }, kTestTimeout));

  PriorityMutex weighted(*client_, "/weighted");
  Hold first = weighted.acquire();
  EXPECT_TRUE(eventually([&] { return weighted.queue_position() == 0U; }, kTestTimeout));
  const Owner light = Owner::unique();
  auto waits = weighted.async_acquire({.owner = light}, 1);
  EXPECT_TRUE(eventually([&] { return weighted.queue_position(light) == 1U; }, kTestTimeout));
  auto overtakes = weighted.async_acquire({}, 9);
  EXPECT_TRUE(eventually([&] { return weighted.queue_position(light) == 2U; }, kTestTimeout));
}

TEST_F(Participants, ForeignNode_IsListedWithoutTexts) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  const auto foreign = raw().create(kPath + "/_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-",
                                    "10.0.0.1", ZOO_EPHEMERAL_SEQUENTIAL);
  ASSERT_EQ(foreign.rc, ZOK);
  ASSERT_EQ(raw().create(kPath + "/notes", "not a contender").rc, ZOK);
  const auto all = mutex_.participants();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(kPath + "/" + all[0].node, foreign.path);
  EXPECT_TRUE(all[0].holds);
  EXPECT_FALSE(all[0].mine);
  EXPECT_EQ(all[0].session_id, raw().session_id());
  EXPECT_EQ(all[0].owner + all[0].host + all[0].application + all[0].thread, "");
  EXPECT_EQ(all[0].pid, 0);
}

// They have one client, so host, process and application are equal.
TEST_F(Participants, TenCandidates_AreToldApart) {
  std::vector<std::unique_ptr<LeaderLatch>> candidates;
  std::multiset<std::string> expected;
  for (int i = 0; i < 10; ++i) {
    const std::string label = "candidate " + std::to_string(i);
    candidates.push_back(
        std::make_unique<LeaderLatch>(*client_, kPath, LatchOptions{.label = label}));
    candidates.back()->start();
    expected.insert(label);
  }
  ASSERT_TRUE(reaches_nodes(10));
  std::multiset<std::string> labels;
  for (const Participant& p : others_mutex_.participants()) labels.insert(p.label);
  EXPECT_EQ(labels, expected);
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

TEST_F(Participants, LongOrControlText_IsCutAndCleaned) {
  const auto client = connect(named(std::string(100, 'x') + "\n\x1b[2J"));
  const auto tricky = connect(named("a\nowner=forged\x1b[2J"));
  ReentrantMutex mutex(*client, kPath);
  ReentrantMutex trickys_mutex(*tricky, kPath);
  const Hold hold = mutex.acquire();
  auto waiting = trickys_mutex.async_acquire(AcquireOptions{});
  ASSERT_TRUE(reaches_nodes(2));
  const auto all = mutex.participants();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_LE(all[0].application.size(), 64U);
  EXPECT_EQ(all[0].application.rfind("xxxx", 0), 0U);
  EXPECT_NE(all[1].owner, "forged");
  for (const Participant& p : all) {
    for (const char c : p.application) EXPECT_FALSE(c < ' ' && c >= 0) << p.application;
  }
}

}  // namespace
}  // namespace zklock::testing
