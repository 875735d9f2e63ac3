// SPDX-License-Identifier: Apache-2.0
// MultiMutex: losses while other parts are still waited for, and losses after the grant.
#include <atomic>
#include <future>
#include <memory>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class MultiLoss : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  MultiMutex mutex_{*client_, {"/b", "/a"}};
  const std::unique_ptr<Client> other_ = connect();
  ReentrantMutex others_a_{*other_, "/a"};
  ReentrantMutex others_b_{*other_, "/b"};

  void expire() const { expire_session(chroot_.hosts(), client_->session_id()); }
  static bool becomes_lost(const MultiHold& hold) {
    return eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout);
  }
  bool waits_for_b() { return reaches_nodes(1, "/a") && reaches_nodes(2, "/b"); }
  // Returns the only znode of /a after its owner has set a watch on it.
  std::string settled_node_of_a() {
    std::string node = "/a/" + nodes("/a").at(0);
    EXPECT_TRUE(eventually([&] { return watched(*SharedServer::server(), node); }, kTestTimeout));
    return node;
  }
  void evict_from_a() { ASSERT_EQ(raw().delete_node(settled_node_of_a()), ZOK); }
};

// ---- while waiting ------------------------------------------------------------------------------

// The lost part has a new holder when the last part is granted. That must not be a grant of the
// whole.
TEST_F(MultiLoss, PartLostWhileWaiting_WholeIsNotGranted) {
  if (SharedServer::server() == nullptr) GTEST_SKIP() << "needs a server of this kit";
  Hold b = others_b_.acquire();
  auto waiting = mutex_.async_acquire();
  ASSERT_TRUE(waits_for_b());
  const std::string node = settled_node_of_a();
  auto behind = others_a_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2, "/a"));
  ASSERT_EQ(raw().delete_node(node), ZOK);
  Hold a = get(behind);
  b.release();
  ASSERT_TRUE(reaches_nodes(2, "/a"));  // it released all parts and enqueued at /a again
  ASSERT_TRUE(becomes_empty("/b"));
  EXPECT_FALSE(is_ready(waiting));
  a.release();
  const MultiHold hold = get(waiting);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(hold[1].state(), HoldState::held);
}

TEST_F(MultiLoss, PartEvictedUnderFailPolicy_Throws) {
  if (SharedServer::server() == nullptr) GTEST_SKIP() << "needs a server of this kit";
  MultiMutex failing(*client_, {"/a", "/b"}, {.on_node_lost = OnNodeLost::fail});
  const Hold b = others_b_.acquire();
  auto waiting = in_thread([&] { failing.lock(); });
  ASSERT_TRUE(waits_for_b());
  evict_from_a();
  const std::string text = error_text_of([&] { get(waiting); });
  EXPECT_TRUE(text.starts_with("lock /a: the lock was acquired, and lost before")) << text;
  EXPECT_TRUE(becomes_empty("/a"));
  EXPECT_TRUE(reaches_nodes(1, "/b"));
}

// The thread holds /a by its own lock(), and loses it. The MultiMutex must throw, as a
// ReentrantMutex would, and must not acquire /a for that thread.
TEST_F(MultiLoss, EarlierLockOfOwnerLost_ThrowsLockLost) {
  ReentrantMutex a(*client_, "/a");
  Hold b = others_b_.acquire();
  auto locking = in_thread([&] {
    a.lock();
    const auto error = error_of([this] { mutex_.lock(); });
    a.unlock();
    return error;
  });
  ASSERT_TRUE(waits_for_b());
  expire();
  EXPECT_EQ(get(locking), Errc::lock_lost);
  EXPECT_TRUE(becomes_empty("/a"));
  EXPECT_TRUE(reaches_nodes(1, "/b"));
}

// ---- while holding ------------------------------------------------------------------------------

TEST_F(MultiLoss, OnePartLost_WholeIsLost) {
  if (SharedServer::server() == nullptr) GTEST_SKIP() << "needs a server of this kit";
  MultiHold hold = mutex_.acquire();
  std::atomic<int> fired{0};
  const std::stop_callback on_loss(hold.loss_token(), [&] { ++fired; });
  evict_from_a();
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(eventually([&] { return fired == 1; }, kTestTimeout));
  EXPECT_EQ(hold[1].state(), HoldState::lost);  // /a
  EXPECT_EQ(hold[0].state(), HoldState::held);  // /b is held until the release
  EXPECT_FALSE(is_free("/b"));
  expire();
  EXPECT_TRUE(eventually([&] { return hold[0].state() == HoldState::lost; }, kTestTimeout));
  hold.release();
  EXPECT_EQ(fired, 1);
}

// A loss callback may release its own hold: release() does not wait for callbacks.
TEST_F(MultiLoss, LossCallbackReleasesHold_Returns) {
  MultiHold hold = mutex_.acquire();
  std::promise<void> released;
  auto done = released.get_future();
  const std::stop_callback on_loss(hold.loss_token(), [&] {
    hold.release();
    released.set_value();
  });
  expire();
  get(done);
  EXPECT_FALSE(static_cast<bool>(hold));
}

TEST_F(MultiLoss, ReleaseDuringLossCallback_DoesNotWaitForIt) {
  MultiHold hold = mutex_.acquire();
  const std::stop_token lost = hold.loss_token();
  std::promise<void> entered;
  auto is_entered = entered.get_future();
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future();
  std::atomic<bool> in_time{false};
  const std::stop_callback on_loss(lost, [&] {
    entered.set_value();
    in_time = may_go_on.wait_for(kTestTimeout) == std::future_status::ready;
  });
  expire();
  get(is_entered);
  auto releasing = in_thread([&] {
    hold.release();
    go_on.set_value();
  });
  get(releasing);
  EXPECT_TRUE(eventually([&] { return in_time.load(); }, kTestTimeout));
}

TEST_F(MultiLoss, ReleaseRacesWithLoss_NotifiesAtMostOnce) {
  for (int round = 0; round < 4; ++round) {
    MultiHold hold = mutex_.acquire({.deadline = kTestTimeout});
    ASSERT_TRUE(static_cast<bool>(hold));
    std::atomic<int> fired{0};
    const std::stop_callback on_loss(hold.loss_token(), [&] { ++fired; });
    auto releasing = in_thread([&] { hold.release(); });
    expire();
    get(releasing);
    EXPECT_LE(fired, 1);
  }
}

}  // namespace
}  // namespace zklock::testing
