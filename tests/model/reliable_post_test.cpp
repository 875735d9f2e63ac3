// SPDX-License-Identifier: Apache-2.0
// Tasks that a caller waits for, while the system has no thread for them.
#include "zklock/engine/callback/reliable_post.h"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/test_candidate.h"
#include "zklock/recipes/composite/composite_grant.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;

class ReliablePostTest : public PathLockTest {
 protected:
  void send() {
    auto& core = lock_.core(0);
    detail::ReliablePost::send(core.shared_from_this(), core.losses(), "test /lock",
                               [this, owned = owned_] { ++runs_; });
  }
  void set_exhausted(bool exhausted) { lock_.world().dispatcher(0).set_exhausted(exhausted); }

  int runs_ = 0;
  const std::shared_ptr<int> owned_ = std::make_shared<int>();
};

TEST_F(ReliablePostTest, Sent_RunsOnceOnDispatcherAndIsDestroyed) {
  send();
  EXPECT_EQ(runs_, 0) << "not by the sender";
  run();
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(owned_.use_count(), 1);
}

TEST_F(ReliablePostTest, NoThread_RunsLater) {
  set_exhausted(true);
  send();
  lock_.world().run_for(10s);
  EXPECT_EQ(runs_, 0);
  set_exhausted(false);
  lock_.world().run_for(1s);
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(owned_.use_count(), 1);
}

TEST_F(ReliablePostTest, NoThread_LossIsPendingUntilThereIsOne) {
  auto& unnotified = lock_.core(0).unnotified_losses();
  send();
  EXPECT_TRUE(unnotified.idle()) << "there is one";
  set_exhausted(true);
  send();
  lock_.world().run_for(10s);
  EXPECT_FALSE(unnotified.idle());
  set_exhausted(false);
  lock_.world().run_for(1s);
  EXPECT_TRUE(unnotified.idle());
  EXPECT_EQ(runs_, 2);
}

// ---- losses that follow from other losses ------------------------------------------------------

TEST_F(ReliablePostTest, NoThread_CompositeLossIsNotifiedLater) {
  std::vector<detail::CompositeGrant::Part> taken;
  taken.push_back({std::move(lock_.call(granted(0)).hold), lock_.core(0).shared_from_this(), 0});
  const detail::CompositeGrant parts(Owner::unique(), std::move(taken), 1, 1);
  const auto lost = parts.loss_token();
  lock_.world().dispatcher(0).set_exhausted_after(1);  // for the loss of its part
  lock_.world().expire(0);
  run();
  EXPECT_EQ(parts.state(), HoldState::lost);
  lock_.world().run_for(10s);
  EXPECT_FALSE(lost.stop_requested());
  set_exhausted(false);
  lock_.world().run_for(1s);
  EXPECT_TRUE(lost.stop_requested());
}

TEST_F(ReliablePostTest, NoThread_EndOfLeadershipIsNotifiedLater) {
  const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
  candidate->contend();
  run();
  ASSERT_TRUE(candidate->leads());
  const auto ended = candidate->leadership_state()->end_token();
  lock_.world().dispatcher(0).set_exhausted_after(1);  // for the loss of the hold
  lock_.world().expire(0);
  run();
  EXPECT_FALSE(candidate->leads());
  lock_.world().run_for(10s);
  EXPECT_FALSE(ended.stop_requested());
  set_exhausted(false);
  lock_.world().run_for(1s);
  EXPECT_TRUE(ended.stop_requested());
  candidate->close();
  run();
}

// ---- closing -----------------------------------------------------------------------------------

class RefusingDispatcher final : public client::Dispatcher {
 public:
  bool post(std::function<void()>) override { return false; }
};

// The scheduler of a closed client drops its timers.
TEST_F(ReliablePostTest, TimersDropped_RunsAtOnce) {
  RefusingDispatcher refusing;
  detail::ReliablePost::send(lock_.core(0).shared_from_this(), refusing, "test /lock",
                             [this] { ++runs_; });
  EXPECT_EQ(runs_, 1);
}

// close() does not wait for tasks on a thread that runs one.
TEST_F(ReliablePostTest, RunAtOnce_ThreadRunsNoTaskAfterwards) {
  RefusingDispatcher refusing;
  detail::ReliablePost::send(lock_.core(0).shared_from_this(), refusing, "test /lock",
                             [] { EXPECT_TRUE(detail::ReliablePost::runs_here()); });
  EXPECT_FALSE(detail::ReliablePost::runs_here());
}

}  // namespace
}  // namespace zklock::model
