// SPDX-License-Identifier: Apache-2.0
// What becomes of waiters and holders whose session or node goes.
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "support/expire_session.h"

namespace zklock::testing {
namespace {

class Session : public LockTest {
 protected:
  static inline const MutexOptions kFail{.on_node_lost = OnNodeLost::fail};

  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  void expire(const Client& client) const { expire_session(chroot_.hosts(), client.session_id()); }
  static bool becomes_lost(const Hold& hold) {
    return eventually([&] { return hold.state() == HoldState::lost; }, kPatience);
  }
  std::string node_at(std::size_t place) { return kPath + "/" + nodes().at(place); }
};

class WaitingSession : public Session {
 protected:
  const std::unique_ptr<Client> holder_ = connect();
  ReentrantMutex holders_mutex_{*holder_, kPath};
  Hold hold_ = holders_mutex_.acquire();
};

TEST_F(WaitingSession, ExpiredIsQueuedAgainOnANewSession) {
  auto waiting = in_thread([this] { return mutex_.acquire({.deadline = kPatience}); });
  ASSERT_TRUE(reaches_nodes(2));
  const std::string old_node = node_at(1);
  const auto old_session = client_->session_id();
  expire(*client_);
  ASSERT_TRUE(eventually([&] { return nodes().size() == 2 && node_at(1) != old_node; }, kPatience));
  EXPECT_NE(raw().exists(node_at(1)).stat.ephemeralOwner, old_session);
  EXPECT_FALSE(is_ready(waiting));
  const FencingToken before = hold_.token();
  hold_.release();
  const Hold hold = get(waiting);
  EXPECT_GT(hold.token(), before);
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(WaitingSession, ExpiredStandsAtTheEndOfTheQueue) {
  const auto third = connect();
  ReentrantMutex thirds_mutex(*third, kPath);
  auto waiting = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  auto behind = thirds_mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  const std::string behinds_node = node_at(2);
  expire(*client_);
  ASSERT_TRUE(
      eventually([&] { return nodes().size() == 3 && node_at(1) == behinds_node; }, kPatience));
  hold_.release();
  Hold hold = get(behind);
  EXPECT_FALSE(is_ready(waiting));
  hold.release();
  EXPECT_TRUE(static_cast<bool>(get(waiting)));
}

TEST_F(WaitingSession, ExpiredKeepsItsDeadline) {
  const auto deadline = LeaseClock::now() + 4s;
  auto waiting = in_thread([&] { return mutex_.acquire({.deadline = deadline}); });
  ASSERT_TRUE(reaches_nodes(2));
  const std::string old_node = node_at(1);
  expire(*client_);
  EXPECT_FALSE(static_cast<bool>(get(waiting)));
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(hold_.state(), HoldState::held);
}

TEST_F(WaitingSession, ExpiredIsAnErrorByPolicy) {
  ReentrantMutex mutex(*client_, kPath, kFail);
  auto waiting = in_thread([&] { return mutex.acquire({.deadline = kPatience}); });
  ASSERT_TRUE(reaches_nodes(2));
  expire(*client_);
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::session_expired);
  EXPECT_TRUE(reaches_nodes(1));
  hold_.release();
  auto again = mutex.async_acquire();  // the client goes on
  EXPECT_TRUE(static_cast<bool>(get(again)));
}

TEST_F(WaitingSession, DeletedNodeIsQueuedAgain) {
  auto waiting = in_thread([this] { return mutex_.acquire({.deadline = kPatience}); });
  ASSERT_TRUE(reaches_nodes(2));
  const std::string old_node = node_at(1);
  ASSERT_EQ(raw().delete_node(old_node), ZOK);
  ASSERT_TRUE(eventually([&] { return nodes().size() == 2 && node_at(1) != old_node; }, kPatience));
  hold_.release();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
}

TEST_F(WaitingSession, DeletedNodeIsAnErrorByPolicy) {
  ReentrantMutex mutex(*client_, kPath, kFail);
  auto waiting = in_thread([&] { return mutex.acquire({.deadline = kPatience}); });
  ASSERT_TRUE(reaches_nodes(2));
  ASSERT_EQ(raw().delete_node(node_at(1)), ZOK);
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::node_deleted);
  EXPECT_TRUE(reaches_nodes(1));
}

class HoldingSession : public Session {};

TEST_F(HoldingSession, ExpiredIsLostAndToldOnce) {
  Chronicle<ConnectionState> told;
  const auto subscription = client_->add_listener([&](ConnectionState s) { told.add(s); });
  std::atomic<int> fired{0};
  Hold hold = mutex_.acquire();
  const std::stop_callback on_loss(hold.lost(), [&fired] { ++fired; });
  const FencingToken token = hold.token();
  const std::string node = hold.node();

  expire(*client_);
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(told.has(ConnectionState::lost));
  EXPECT_TRUE(told.has(ConnectionState::connected));  // a new session
  EXPECT_TRUE(eventually([&] { return fired == 1; }, kPatience));
  EXPECT_TRUE(hold.lost().stop_requested());
  EXPECT_TRUE(static_cast<bool>(hold));  // it has its count still
  EXPECT_EQ(hold.valid_until(), LeaseClock::time_point::min());
  EXPECT_EQ(hold.token(), token);
  EXPECT_EQ(hold.node(), node);
  EXPECT_EQ(mutex_.hold_count(), 0);
  EXPECT_FALSE(mutex_.is_held_by_this_thread());

  hold.release();  // quiet
  EXPECT_EQ(mutex_.acquire().state(), HoldState::held);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(fired, 1);
}

TEST_F(HoldingSession, LostMustBeUnlockedBeforeItIsLockedAgain) {
  mutex_.lock();
  mutex_.lock();
  expire(*client_);
  EXPECT_TRUE(eventually([&] { return !mutex_.is_held_by_this_thread(); }, kPatience));
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::lock_lost);
  EXPECT_EQ(error_of([&] { return mutex_.try_lock(); }), Errc::lock_lost);
  EXPECT_EQ(error_of([&] { return mutex_.acquire(); }), Errc::lock_lost);
  auto other_thread = in_thread([this] {
    const bool locked = mutex_.try_lock_for(kPatience);
    if (locked) mutex_.unlock();
    return locked;
  });
  EXPECT_TRUE(get(other_thread));  // the loss is this owner's only

  mutex_.unlock();
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::lock_lost);  // one lock() is not undone yet
  mutex_.unlock();
  EXPECT_EQ(error_of([&] { mutex_.unlock(); }), Errc::not_owner);
  mutex_.lock();
  EXPECT_EQ(mutex_.hold_count(), 1);
  mutex_.unlock();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(HoldingSession, LostPassesToTheNext) {
  const auto other = connect();
  ReentrantMutex others_mutex(*other, kPath);
  Chronicle<std::string> events;
  const Hold hold = mutex_.acquire();
  const std::stop_callback on_loss(hold.lost(), [&] { events.add("lost"); });
  auto waiting = others_mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  expire(*client_);
  EXPECT_GT(get(waiting).token(), hold.token());
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(events.has("lost"));
}

TEST_F(HoldingSession, NodeDeletedBySomebodyIsLost) {
  const ZooKeeperServer* const server = SharedServer::server();
  if (server == nullptr) GTEST_SKIP() << "needs a server of this kit";
  std::atomic<int> fired{0};
  Hold hold = mutex_.acquire();
  const std::stop_callback on_loss(hold.lost(), [&fired] { ++fired; });
  // A hold that has lived for a sixth of a session timeout watches its node.
  ASSERT_TRUE(eventually([&] { return watched(*server, hold.node()); }, kPatience));
  const auto session = client_->session_id();
  ASSERT_EQ(raw().delete_node(hold.node()), ZOK);
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(eventually([&] { return fired == 1; }, kPatience));
  EXPECT_EQ(client_->session_id(), session);
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::lock_lost);
  hold.release();
  EXPECT_EQ(mutex_.acquire().state(), HoldState::held);
  EXPECT_EQ(fired, 1);
}

TEST_F(HoldingSession, ALockOfTheOldSessionIsNotReleasedOnTheNewOne) {
  Hold old = mutex_.acquire();
  expire(*client_);
  ASSERT_TRUE(becomes_lost(old));
  const Owner owner = Owner::unique();
  const Hold newer = mutex_.acquire({.owner = owner});
  old.release();
  EXPECT_TRUE(client_->flush(kPatience));
  EXPECT_EQ(newer.state(), HoldState::held);
  EXPECT_EQ(raw().exists(newer.node()).rc, ZOK);
}

}  // namespace
}  // namespace zklock::testing
