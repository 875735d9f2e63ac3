// SPDX-License-Identifier: Apache-2.0
// The end of a holder's session, as the holder sees it. suite/loss_test.cpp tests the rest.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class Session : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  void expire(const Client& client) const { expire_session(chroot_.hosts(), client.session_id()); }
  static bool becomes_lost(const Hold& hold) {
    return eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout);
  }
};

// Returns the names of the threads of this process.
std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    if (std::string name; std::getline(comm, name)) names.push_back(std::move(name));
  }
  return names;
}

TEST_F(Session, ThreadsOfClient_HaveNames) {
  // A thread of a client of an earlier test can end later than its client.
  for (const std::string name : {"zklock-session", "zklock-io", "zklock-events", "zklock-timer"}) {
    EXPECT_TRUE(
        eventually([&] { return std::ranges::count(thread_names(), name) == 1; }, kTestTimeout))
        << name;
  }
}

TEST_F(Session, SessionExpired_HoldIsLostAndNotifiedOnce) {
  Chronicle<ConnectionState> received;
  const auto subscription = client_->add_listener([&](ConnectionState s) { received.add(s); });
  std::atomic<int> fired{0};
  Hold hold = mutex_.acquire();
  const std::stop_callback on_loss(hold.loss_token(), [&fired] { ++fired; });
  const FencingToken token = hold.token();
  const std::string node = hold.node();

  expire(*client_);
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(received.has(ConnectionState::lost));
  EXPECT_TRUE(received.has(ConnectionState::connected));  // the new session
  EXPECT_TRUE(eventually([&] { return fired == 1; }, kTestTimeout));
  EXPECT_TRUE(hold.loss_token().stop_requested());
  EXPECT_TRUE(static_cast<bool>(hold));  // the lost hold still has its count
  EXPECT_EQ(hold.valid_until(), LeaseClock::time_point::min());
  EXPECT_EQ(hold.token(), token);
  EXPECT_EQ(hold.node(), node);
  EXPECT_EQ(mutex_.hold_count(), 0);
  EXPECT_FALSE(mutex_.is_held_by_this_thread());

  hold.release();  // no effect
  EXPECT_EQ(mutex_.acquire().state(), HoldState::held);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(fired, 1);
}

TEST_F(Session, LockLost_MustBeUnlockedBeforeNextLock) {
  mutex_.lock();
  mutex_.lock();
  expire(*client_);
  EXPECT_TRUE(eventually([&] { return !mutex_.is_held_by_this_thread(); }, kTestTimeout));
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::lock_lost);
  EXPECT_EQ(error_of([&] { return mutex_.try_lock(); }), Errc::lock_lost);
  EXPECT_EQ(error_of([&] { return mutex_.acquire(); }), Errc::lock_lost);
  auto other_thread = in_thread([this] {
    const bool locked = mutex_.try_lock_for(kTestTimeout);
    if (locked) mutex_.unlock();
    return locked;
  });
  EXPECT_TRUE(get(other_thread));  // only this owner has a lost lock

  mutex_.unlock();
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::lock_lost);  // one lock() is still to be undone
  mutex_.unlock();
  EXPECT_EQ(error_of([&] { mutex_.unlock(); }), Errc::not_owner);
  mutex_.lock();
  EXPECT_EQ(mutex_.hold_count(), 1);
  mutex_.unlock();
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
