// SPDX-License-Identifier: Apache-2.0
// Coroutines that are destroyed while they await a commit or a proclamation; see BasicAwaitable.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"
#include "tests/model/test_candidate.h"
#include "tests/support/coroutines.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_name.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

using testing::Owned;

constexpr const char* kGuardedPath = "/data";

/// Destroys the coroutine at two moments: while its request is in flight, and before the request is
/// sent, because the client is disconnected.
class AbandonedCoroutine : public ::testing::TestWithParam<bool> {
 protected:
  AbandonedCoroutine() { lock_.connect_all(); }

  void disconnect() {
    if (!GetParam()) return;
    lock_.world().disconnect(0);
    lock_.world().run_all();
  }
  void destroy(const Owned& coroutine) {
    coroutine.handle.destroy();
    if (GetParam()) lock_.world().reconnect(0);
    lock_.world().run_all();
    EXPECT_FALSE(resumed_);
  }

  LockWorld lock_{1};
  bool resumed_ = false;
};

INSTANTIATE_TEST_SUITE_P(, AbandonedCoroutine, ::testing::Bool());

Owned commit(const GuardedTransaction& transaction, bool& resumed) {
  co_await transaction.co_commit();
  resumed = true;
}

TEST_P(AbandonedCoroutine, Commit_IsCarriedOut) {
  lock_.world().ensemble().create(kGuardedPath, "0");
  const auto holder = lock_.acquire(0);
  lock_.world().run_all();
  disconnect();
  GuardedTransaction transaction(lock_.call(holder).hold);
  transaction.set(kGuardedPath, "1");
  destroy(commit(transaction, resumed_));
  EXPECT_EQ(lock_.world().ensemble().find(kGuardedPath)->data, "1");
  EXPECT_EQ(lock_.call(holder).hold.state(), HoldState::held);
}

Owned proclaim(Leadership leadership, bool& resumed) {
  co_await leadership.co_proclaim("here");
  resumed = true;
}

TEST_P(AbandonedCoroutine, Proclamation_IsCarriedOut) {
  const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
  candidate->contend();
  lock_.world().run_all();
  const Leadership leadership = candidate->leadership_state()->leadership();
  disconnect();
  destroy(proclaim(leadership, resumed_));
  const std::string node = leadership.node();
  const auto name = core::ZnodeName::parse(node.substr(node.rfind('/') + 1));
  const Node* const value = lock_.world().ensemble().find(
      LockWorld::kPath + ("/" + core::proclamation_node(name->sequence)));
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(core::Proclamation::parse(value->data)->value, "here");
  candidate->close();
  lock_.world().run_all();
}

}  // namespace
}  // namespace zklock::model
