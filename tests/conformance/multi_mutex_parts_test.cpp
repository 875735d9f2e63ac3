// SPDX-License-Identifier: Apache-2.0
// MultiMutex: parts of several kinds, and losses during the wait or the hold.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class MultiMutexParts : public LockTest {
 protected:
  bool all_become_empty() {
    return becomes_empty("/reader") && becomes_empty("/permits") && becomes_empty("/mutex");
  }
  int free_permits() const { return others_permits_.available_permits(); }

  const std::unique_ptr<Client> client_ = connect();
  MultiMutex mutex_{*client_,
                    {LockPart::reader("/reader"), LockPart::permits("/permits", 2, 5),
                     LockPart::mutex("/mutex")}};
  const std::unique_ptr<Client> other_ = connect();
  SharedMutex others_lock_{*other_, "/reader"};
  Semaphore others_permits_{*other_, "/permits", 5};
};

TEST_F(MultiMutexParts, Acquire_ReturnsHoldOfEachKind) {
  EXPECT_EQ(mutex_.paths(), (std::vector<std::string>{"/reader", "/permits", "/mutex"}));
  MultiHold hold = mutex_.acquire();
  ASSERT_EQ(hold.holds().size(), 3U);
  EXPECT_TRUE(hold[0].node().starts_with("/reader/"));
  EXPECT_EQ(hold[1].permits(), 2);
  EXPECT_TRUE(hold[2].node().starts_with("/mutex/"));
  EXPECT_EQ(mutex_.hold_count(), 1);
  EXPECT_FALSE(is_free("/mutex"));
  hold.release();
  EXPECT_EQ(mutex_.hold_count(), 0);
  EXPECT_TRUE(all_become_empty());
}

TEST_F(MultiMutexParts, ReaderAndWriterParts_ExcludeAsTheirClassDoes) {
  Hold writing = others_lock_.acquire();
  EXPECT_FALSE(mutex_.try_lock());
  auto waiting = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2, "/reader"));
  writing.release();
  MultiHold hold = get(waiting);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_FALSE(others_lock_.try_lock());
  EXPECT_TRUE(others_lock_.try_lock_shared());
  others_lock_.unlock_shared();
  hold.release();
  ASSERT_TRUE(all_become_empty());
  mutex_.lock();
  EXPECT_EQ(SharedMutex(*client_, "/reader").read_count(), 1);
  mutex_.unlock();
  ASSERT_TRUE(all_become_empty());

  MultiMutex writer(*client_, {LockPart::writer("/reader")});
  writer.lock();
  EXPECT_FALSE(others_lock_.try_lock_shared());
  EXPECT_EQ(SharedMutex(*client_, "/reader").write_count(), 1);
  mutex_.lock();    // the write lock covers a read lock of its owner
  writer.unlock();  // downgrades
  ASSERT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(others_lock_.try_lock_shared());
  others_lock_.unlock_shared();
  mutex_.unlock();
  EXPECT_TRUE(all_become_empty());
}

TEST_F(MultiMutexParts, PermitsPart_TakesOnlyItsPermits) {
  Permit three = others_permits_.acquire({}, 3);
  const MultiHold hold = mutex_.acquire();
  EXPECT_EQ(free_permits(), 0);
  EXPECT_FALSE(static_cast<bool>(mutex_.acquire({.owner = Owner::unique(), .deadline = 50ms})));
  three.release();
  EXPECT_TRUE(eventually([this] { return free_permits() == 3; }, kTestTimeout));
}

TEST_F(MultiMutexParts, SharedCount_IsReadFromServers) {
  MultiMutex counted(*client_, {LockPart::permits("/counted", 2, SharedCount{.initial = 2})});
  Semaphore others(*other_, "/counted", SharedCount{.initial = 7});
  counted.lock();
  EXPECT_EQ(others.available_permits(), 0);
  others.set_permits(3);
  EXPECT_EQ(others.available_permits(), 1);
  counted.unlock();
  EXPECT_TRUE(eventually([&] { return others.available_permits() == 3; }, kTestTimeout));
}

TEST_F(MultiMutexParts, Participants_AreOfEachPath) {
  EXPECT_EQ(mutex_.participants(), std::vector<std::vector<Participant>>(3));
  const MultiHold hold = mutex_.acquire();
  const Hold reader = others_lock_.acquire_shared();
  auto waiting = others_permits_.async_acquire({}, 4);
  ASSERT_TRUE(reaches_nodes(2, "/permits"));
  const auto all = mutex_.participants();
  ASSERT_EQ(all.size(), 3U);
  ASSERT_EQ(all[0].size(), 2U);
  EXPECT_EQ(all[0][0].access, Access::shared);
  EXPECT_EQ(all[0][0].token, hold[0].token());
  EXPECT_TRUE(all[0][1].holds);
  ASSERT_EQ(all[1].size(), 2U);
  EXPECT_EQ(all[1][0].permits, 2);
  EXPECT_FALSE(all[1][1].holds);
  ASSERT_EQ(all[2].size(), 1U);
  EXPECT_TRUE(all[2][0].mine);
  client_->close();
  EXPECT_EQ(error_of([this] { return mutex_.participants(); }), Errc::closed);
}

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

}  // namespace
}  // namespace zklock::testing
