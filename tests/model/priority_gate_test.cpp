// SPDX-License-Identifier: Apache-2.0
// Contenders that wait at a gate before they enqueue. At every moment each of them is visible
// exactly once.
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/queue_rule.h"
#include "zklock/core/znode_data.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

class Gate : public PathLockTest {
 protected:
  static Request within(Duration timeout, Request request) {
    request.timeout = timeout;
    return request;
  }
  std::size_t contenders() { return core::contenders(lock_.nodes()).size(); }
  std::string node_of(std::size_t client) { return lock_.path_lock(client)->nodes().at(0); }
  bool is_at_gate(std::size_t client) { return node_of(client).starts_with("weight-"); }
  /// Runs until the client is about to pass the gate, because no contender is ahead of it.
  void run_until_it_passes(std::size_t c) {
    run_only(c, [&] { return client(c).requests(Kind::transaction) > 0; });
  }
};

TEST_F(Gate, ContenderPasses_IsCountedOnceThroughout) {
  const auto holder = granted(0, LockWorld::at_gate(1));
  const auto next = waiting(1, LockWorld::at_gate(9));
  waiting(2, LockWorld::at_gate(3));
  ASSERT_EQ(contenders(), 3U);
  release_node(holder);
  while (contenders() == 3) ASSERT_TRUE(step());
  do {
    ASSERT_EQ(contenders(), 2U);
    ASSERT_EQ(lock_.violation(), "");
  } while (step());
  EXPECT_TRUE(is_granted(next));
  EXPECT_TRUE(is_at_gate(2));
}

TEST_F(Gate, ContenderPasses_RetainsEnqueueTime) {
  const auto holder = granted(0, LockWorld::at_gate(5));
  const auto next = waiting(1, LockWorld::at_gate(5));
  const auto came = ensemble().find(child(node_of(1)))->created_ms;
  run_for(3s);
  release(holder);
  ASSERT_TRUE(is_granted(next));
  const Node* const node = ensemble().find(lock_.call(next).node);
  EXPECT_EQ(core::ZnodeData::parse(node->data)->since_ms, came);
  EXPECT_GT(node->created_ms, came);
}

// PriorityOptions::ageing counts in these sequence numbers.
TEST_F(Gate, ZnodesOfContender_AreTwoAndThreeWithLockDelay) {
  const auto next_number = [this] {
    const std::string name = *ensemble().create_sequential(LockWorld::kPath, "other-");
    ensemble().remove(child(name));
    return name.substr(6);
  };
  for (const std::chrono::milliseconds delay : {0ms, 2'000ms}) {
    const int before = std::stoi(next_number());
    Request request = LockWorld::at_gate(5);
    request.lock_delay = delay;
    const auto call = granted(0, request);
    const int lock_nodes = std::stoi(next_number()) - before - 1;
    EXPECT_EQ(lock_nodes, delay == 0ms ? 2 : 3);
    release(call);
  }
}

// ---- calls that join a contender ---------------------------------------------------------------

// A single attempt passes the gate, but another contender is ahead of it. A call that joined it and
// can wait then waits at the gate. It is behind the heavier contenders, by the weight of its own
// call.
TEST_F(Gate, CallThatJoinedSingleAttempt_WaitsAtGate) {
  for (const std::int32_t weight : {2, 9}) {
    const Owner owner = Owner::unique();
    const auto once = lock_.acquire(0, within(Duration::zero(), LockWorld::at_gate(5, owner)));
    reset_counts();
    run_until_it_passes(0);
    const auto holder = lock_.acquire(1);
    run_only(1, [&] { return is_granted(holder); });
    const auto patient = lock_.acquire(0, LockWorld::at_gate(weight, owner));
    run();
    EXPECT_EQ(lock_.call(once).outcomes, 1);
    EXPECT_FALSE(is_granted(once));
    EXPECT_EQ(lock_.call(patient).outcomes, 0);
    EXPECT_TRUE(is_at_gate(0));
    const auto other = waiting(2, LockWorld::at_gate(7));
    release(holder);
    const bool heavier = weight > 7;
    EXPECT_EQ(is_granted(patient), heavier);
    EXPECT_EQ(is_granted(other), !heavier);
    release(heavier ? patient : other);
    release(heavier ? other : patient);
    expect_rest();
  }
}

TEST_F(Gate, CallWithoutGateAfterAttempt_DoesNotWaitAtGate) {
  const Owner owner = Owner::unique();
  granted(1);
  const auto once = lock_.acquire(0, within(Duration::zero(), LockWorld::at_gate(5, owner)));
  lock_.acquire(0, {.owner = owner});
  run();
  EXPECT_EQ(lock_.call(once).outcomes, 1);
  EXPECT_TRUE(node_of(0).starts_with("lock-"));
}

// ---- faults ------------------------------------------------------------------------------------

}  // namespace
}  // namespace zklock::model
