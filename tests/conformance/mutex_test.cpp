// SPDX-License-Identifier: Apache-2.0
// Mutex: the lock that belongs to no thread.
#include <concepts>
#include <future>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

static_assert(!std::copy_constructible<Mutex> && !std::move_constructible<Mutex>);

class MutexTest : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  Mutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect();
  Mutex others_mutex_{*other_, kPath};
};

TEST_F(MutexTest, UnlockWithoutLock_ThrowsNotOwner) {
  EXPECT_EQ(error_of([&] { return mutex_.unlock(), 0; }), Errc::not_owner);
  EXPECT_EQ(error_text_of([&] { return mutex_.unlock(), 0; }).find("unlock /lock: "), 0U);
  const Hold hold = mutex_.acquire();
  EXPECT_EQ(error_of([&] { return mutex_.unlock(), 0; }), Errc::not_owner) << "it is the Hold's";
  EXPECT_FALSE(mutex_.is_locked());
  EXPECT_EQ(hold.state(), HoldState::held);
  Mutex twin(*client_, kPath);
  EXPECT_EQ(error_of([&] { return twin.unlock(), 0; }), Errc::not_owner);
}

TEST_F(MutexTest, ReentrantMutexOnSamePath_ExcludesBothWays) {
  ReentrantMutex same_client(*client_, kPath);
  ReentrantMutex other_client(*other_, kPath);
  mutex_.lock();
  EXPECT_FALSE(same_client.try_lock());
  EXPECT_FALSE(other_client.try_lock());
  mutex_.unlock();
  ASSERT_TRUE(becomes_empty());
  same_client.lock();
  EXPECT_FALSE(mutex_.try_lock());
  EXPECT_FALSE(others_mutex_.try_lock());
  auto queued = others_mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  same_client.unlock();
  EXPECT_TRUE(get(queued));
}

TEST_F(MutexTest, Destructor_UnlocksButRetainsHolds) {
  auto mutex = std::make_unique<Mutex>(*client_, kPath);
  mutex->lock();
  mutex.reset();
  ASSERT_TRUE(becomes_empty());
  mutex = std::make_unique<Mutex>(*client_, kPath);
  const Hold hold = mutex->acquire();
  auto waiting = mutex->async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  mutex.reset();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(hold.state(), HoldState::held);
}

// After a loss, a Mutex can have two locks: the lost one and a newer grant.
TEST_F(MutexTest, LostAndNewLock_AreUnlockedSeparately) {
  mutex_.lock();
  expire_session(chroot_.hosts(), client_->session_id());
  ASSERT_TRUE(eventually([&] { return !mutex_.is_locked(); }, kTestTimeout));
  // This thread's lock was lost; another thread locks.
  auto locks = in_thread([&] { return mutex_.try_lock_for(kTestTimeout); });
  ASSERT_TRUE(get(locks));
  EXPECT_TRUE(mutex_.is_locked());
  mutex_.unlock();
  EXPECT_TRUE(mutex_.is_locked()) << "the calling thread's lock was released, not the other";
  EXPECT_FALSE(others_mutex_.try_lock());
  mutex_.unlock();
  EXPECT_FALSE(mutex_.is_locked()) << "one lock is left, of either thread";
  EXPECT_EQ(error_of([&] { return mutex_.unlock(), 0; }), Errc::not_owner);
  EXPECT_TRUE(others_mutex_.try_lock_for(kTestTimeout));
  others_mutex_.unlock();
}

// If the calling thread has no lock of its own, unlock() undoes the oldest.
TEST_F(MutexTest, UnlockByOtherThread_UnlocksTheOldest) {
  std::thread([&] { mutex_.lock(); }).join();
  expire_session(chroot_.hosts(), client_->session_id());
  ASSERT_TRUE(eventually([&] { return !mutex_.is_locked(); }, kTestTimeout));
  std::thread([&] { mutex_.lock(); }).join();
  mutex_.unlock();
  EXPECT_TRUE(mutex_.is_locked());
  mutex_.unlock();
  EXPECT_FALSE(mutex_.is_locked());
}

// The grant races with the destructor. lock() returns first and the destructor releases the lock,
// or lock() throws. In both cases the path becomes free.
TEST_F(MutexTest, DestructorRacesWithGrant_PathBecomesFree) {
  for (int round = 0; round < 30; ++round) {
    std::unique_ptr<Mutex> mutex;
    std::promise<void> destroyed;
    const auto destroy = [&](const LockEvent& event) {
      if (event.kind != LockEvent::Kind::acquired) return;
      mutex.reset();
      destroyed.set_value();
    };
    mutex = std::make_unique<Mutex>(*client_, kPath, LockOptions{.listener = destroy});
    auto locked = in_thread([raw = mutex.get()] {
      return error_of([&] {
        raw->lock();
        return 0;
      });
    });
    auto destruction = destroyed.get_future();
    get(destruction);
    const auto error = get(locked);
    EXPECT_TRUE(!error || *error == Errc::closed);
    ASSERT_TRUE(becomes_empty()) << round;
  }
}

}  // namespace
}  // namespace zklock::testing
