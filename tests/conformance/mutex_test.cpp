// SPDX-License-Identifier: Apache-2.0
// Mutex: the lock that belongs to no thread.
#include <concepts>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <boost/chrono.hpp>
#include <boost/thread/lock_algorithms.hpp>
#include <boost/thread/lock_types.hpp>
#include <boost/thread/thread.hpp>
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

TEST_F(MutexTest, SecondLockOfOwner_Waits) {
  mutex_.lock();
  EXPECT_TRUE(mutex_.is_locked());
  EXPECT_FALSE(mutex_.try_lock());
  EXPECT_FALSE(mutex_.try_lock_for(50ms));
  EXPECT_FALSE(mutex_.acquire({.deadline = Deadline::passed()}));
  auto waits = in_thread([&] { return mutex_.lock(std::stop_token()); });
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(waits));
  mutex_.unlock();
  EXPECT_TRUE(get(waits));
  mutex_.unlock();
  EXPECT_FALSE(mutex_.is_locked());
  EXPECT_TRUE(becomes_empty());
}

TEST_F(MutexTest, UnlockByAnotherThread_Unlocks) {
  mutex_.lock();
  auto unlocks = in_thread([&] { mutex_.unlock(); });
  get(unlocks);
  EXPECT_FALSE(mutex_.is_locked());
  EXPECT_TRUE(others_mutex_.try_lock_for(kTestTimeout));
  others_mutex_.unlock();
}

TEST_F(MutexTest, ThreadEndsWhileLocked_StaysLocked) {
  std::thread([&] { mutex_.lock(); }).join();
  EXPECT_TRUE(mutex_.is_locked());
  EXPECT_FALSE(others_mutex_.try_lock());
  mutex_.unlock();
  EXPECT_TRUE(others_mutex_.try_lock_for(kTestTimeout));
  others_mutex_.unlock();
}

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

TEST_F(MutexTest, OwnerOfAcquire_IsShownButDoesNotNest) {
  const Owner owner = Owner::unique();
  Hold hold = mutex_.acquire({.owner = owner});
  EXPECT_EQ(hold.owner(), owner);
  EXPECT_EQ(mutex_.participants().at(0).owner, owner.to_string());
  auto again = mutex_.async_acquire(AcquireOptions{.owner = owner});
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(again)) << "it does not nest";
  hold.release();
  EXPECT_EQ(get(again).owner(), owner);
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

TEST_F(MutexTest, LockAfterLoss_Succeeds) {
  Hold lost = mutex_.acquire();
  expire_session(chroot_.hosts(), client_->session_id());
  ASSERT_TRUE(eventually([&] { return lost.state() == HoldState::lost; }, kTestTimeout));
  EXPECT_TRUE(mutex_.try_lock_for(kTestTimeout));
  mutex_.unlock();
}

TEST_F(MutexTest, StandardAndBoostGuards_LockAndUnlock) {
  {
    const std::lock_guard guard(mutex_);
    EXPECT_FALSE(std::unique_lock(others_mutex_, std::try_to_lock).owns_lock());
    EXPECT_FALSE(std::unique_lock(others_mutex_, 50ms).owns_lock());
    EXPECT_FALSE(
        std::unique_lock(others_mutex_, std::chrono::steady_clock::now() + 50ms).owns_lock());
  }
  boost::unique_lock<Mutex> boosts(mutex_, boost::chrono::seconds(kTestTimeout.count()));
  EXPECT_TRUE(boosts.owns_lock());
  EXPECT_FALSE(boost::unique_lock<Mutex>(others_mutex_, boost::try_to_lock).owns_lock());
  boosts.unlock();
  Mutex second(*client_, "/second");
  { const std::scoped_lock both(mutex_, second); }
  boost::lock(mutex_, second);
  mutex_.unlock();
  second.unlock();
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(becomes_empty("/second"));
}

TEST_F(MutexTest, StopOrInterruptWhileWaiting_LeavesQueue) {
  others_mutex_.lock();
  std::stop_source stop;
  auto stopped = in_thread([&] { return mutex_.lock(stop.get_token()); });
  EXPECT_TRUE(reaches_nodes(2));
  stop.request_stop();
  EXPECT_FALSE(get(stopped));
  bool interrupted = false;
  boost::thread thread([&] {
    try {
      mutex_.lock();
    } catch (const boost::thread_interrupted&) {
      interrupted = true;
    }
  });
  EXPECT_TRUE(reaches_nodes(2));
  thread.interrupt();
  thread.join();
  EXPECT_TRUE(interrupted);
  EXPECT_FALSE(mutex_.is_locked());
  EXPECT_TRUE(reaches_nodes(1));
  others_mutex_.unlock();
}

TEST_F(MutexTest, AsyncAcquire_PassesHoldToHandler) {
  std::promise<Hold> promise;
  auto got = promise.get_future();
  mutex_.async_acquire(
      {}, [&](Hold hold, const std::exception_ptr&) { promise.set_value(std::move(hold)); });
  EXPECT_EQ(get(got).state(), HoldState::held);
  EXPECT_EQ(error_of([&] { return Mutex(*client_, "lock").path(); }), Errc::invalid_path);
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
