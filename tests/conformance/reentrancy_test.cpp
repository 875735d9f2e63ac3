// SPDX-License-Identifier: Apache-2.0
// Owners and their counts: nesting, and the lock that belongs to no thread.
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class Reentrancy : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
  // Returns whether another thread can lock.
  bool another_thread_gets_it() {
    auto attempt = in_thread([this] { return mutex_.try_lock(); });
    return get(attempt);
  }
};

TEST_F(Reentrancy, LocksAndHoldsOfThread_AreCountedTogether) {
  Hold hold = mutex_.acquire();
  mutex_.lock();
  mutex_.lock();
  MultiMutex both(*client_, {kPath, "/other"});
  both.lock();
  EXPECT_EQ(mutex_.hold_count(), 4);
  EXPECT_EQ(ReentrantMutex(*client_, "/elsewhere").hold_count(), 0);
  const auto other = connect();
  EXPECT_FALSE(ReentrantMutex(*other, kPath).try_lock()) << "each client counts its own holds";
  ASSERT_TRUE(other->flush(kTestTimeout));
  mutex_.unlock();
  mutex_.unlock();
  auto elsewhere = in_thread([&] { hold.release(); });
  get(elsewhere);
  EXPECT_EQ(mutex_.hold_count(), 1);
  EXPECT_FALSE(another_thread_gets_it());
  mutex_.lock();
  both.unlock();
  EXPECT_EQ(mutex_.hold_count(), 1);
  EXPECT_FALSE(another_thread_gets_it());
  mutex_.unlock();
  EXPECT_TRUE(becomes_empty());
  EXPECT_EQ(error_of([&] { mutex_.unlock(); }), Errc::not_owner);
}

TEST_F(Reentrancy, LockLostByOneThread_AnotherThreadNests) {
  mutex_.lock();
  mutex_.lock();
  const std::vector<std::string> mine = nodes();
  ASSERT_EQ(mine.size(), 1U);
  ASSERT_EQ(raw().delete_node(kPath + "/" + mine.front()), 0);
  ASSERT_TRUE(eventually([&] { return !mutex_.is_held_by_this_thread(); }));
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::lock_lost);

  std::promise<void> locked;
  std::promise<void> go_on;
  auto next = in_thread([&] {
    mutex_.lock();
    mutex_.lock();
    locked.set_value();
    go_on.get_future().get();
    const int count = mutex_.hold_count();
    mutex_.unlock();
    mutex_.unlock();
    return count;
  });
  auto has_locked = locked.get_future();
  get(has_locked);
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::lock_lost);
  mutex_.unlock();
  mutex_.unlock();
  EXPECT_EQ(error_of([&] { mutex_.unlock(); }), Errc::not_owner);
  EXPECT_FALSE(mutex_.try_lock());
  go_on.set_value();
  EXPECT_EQ(get(next), 2);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Reentrancy, MovedFromHold_IsEmptyAndSafe) {
  Hold source = mutex_.acquire();
  const FencingToken token = source.token();
  Hold target = std::move(source);
  Hold empty;
  for (Hold* hold : {&source, &empty}) {  // NOLINT(bugprone-use-after-move)
    EXPECT_FALSE(static_cast<bool>(*hold));
    EXPECT_EQ(hold->state(), HoldState::lost);
    EXPECT_LT(hold->token(), token);
    EXPECT_TRUE(hold->loss_token().stop_requested());
    EXPECT_EQ(hold->valid_until(), LeaseClock::time_point::min());
    EXPECT_FALSE(hold->is_valid());
    EXPECT_EQ(hold->node(), "");
    EXPECT_EQ(hold->expose_node(), "");
    EXPECT_EQ(hold->owner(), Owner::this_thread());
    EXPECT_EQ(hold->permits(), 0);
    EXPECT_FALSE(hold->release_request_token().stop_possible());
    EXPECT_FALSE(hold->renew());
    EXPECT_FALSE(hold->renew(1h));
    EXPECT_EQ(error_of([&] { return hold->renew(0ms); }), Errc::invalid_option);
    hold->release();
  }
  EXPECT_EQ(target.token(), token);
  EXPECT_EQ(target.permits(), 1);
  EXPECT_EQ(target.state(), HoldState::held);
  EXPECT_EQ(mutex_.hold_count(), 1);
  Hold& alias = target;
  target = std::move(alias);
  EXPECT_EQ(target.state(), HoldState::held);
  EXPECT_EQ(mutex_.hold_count(), 1);

  target = std::move(empty);  // releases its former hold
  EXPECT_EQ(mutex_.hold_count(), 0);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Reentrancy, MutexDestroyedWhileLocked_AnotherObjectUnlocks) {
  ::testing::internal::CaptureStderr();
  {
    ReentrantMutex mutex(*client_, "/other");
    mutex.lock();
  }
  ReentrantMutex again(*client_, "/other");
  EXPECT_TRUE(again.is_held_by_this_thread());
  again.unlock();
  EXPECT_TRUE(becomes_empty("/other"));
  auto ended = in_thread([this] { std::make_unique<ReentrantMutex>(*client_, "/other")->lock(); });
  get(ended);
  EXPECT_TRUE(becomes_empty("/other")) << "or until its thread ends";
  client_->close();  // the lines are written before it returns
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("zklock: lock /other: the mutex is destroyed while locked\n"),
            std::string::npos)
      << log;
}

TEST_F(LockTest, SinkThatDoesNothing_SilencesTheLog) {
  ::testing::internal::CaptureStderr();
  ClientOptions silent = options();
  silent.log_sink = [](LogLevel, std::string_view) {};
  const auto client = connect(silent);
  {
    ReentrantMutex mutex(*client, kPath);
    mutex.lock();
  }
  client->close();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Each class contends at the path in a single attempt.
TEST_F(LockTest, DifferentClassesOnOnePath_ExcludeEachOther) {
  const auto once = [] {
    return AcquireOptions{.owner = Owner::unique(), .deadline = Deadline::passed()};
  };
  const std::vector<std::function<Hold(Client&)>> classes = {
      [&](Client& c) { return Mutex(c, kPath).acquire(once()); },
      [&](Client& c) { return ReentrantMutex(c, kPath).acquire(once()); },
      [&](Client& c) { return SharedMutex(c, kPath).acquire(once()); },
      [&](Client& c) { return SharedMutex(c, kPath).acquire_shared(once()); },
      [&](Client& c) { return PriorityMutex(c, kPath).acquire(once()); },
      [&](Client& c) { return Semaphore(c, kPath, 3).acquire(once()); },
  };
  const auto client = connect();
  const auto other = connect();
  for (std::size_t first = 0; first < classes.size(); ++first) {
    for (std::size_t second = 0; second < classes.size(); ++second) {
      if (first == second) continue;
      SCOPED_TRACE(std::to_string(first) + " before " + std::to_string(second));
      Hold hold = classes[first](*client);
      EXPECT_TRUE(hold);
      EXPECT_FALSE(classes[second](*client));
      EXPECT_FALSE(classes[second](*other));
      hold.release();
      ASSERT_TRUE(client->flush(kTestTimeout));
      ASSERT_TRUE(other->flush(kTestTimeout));
    }
  }
}

static_assert(!std::copy_constructible<Mutex> && !std::move_constructible<Mutex>);

class MutexTest : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  Mutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect();
  Mutex others_mutex_{*other_, kPath};
};

TEST_F(MutexTest, Destructor_Unlocks) {
  auto mutex = std::make_unique<Mutex>(*client_, kPath);
  mutex->lock();
  mutex.reset();
  ASSERT_TRUE(becomes_empty());
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
  EXPECT_EQ(error_text_of([&] { mutex_.unlock(); }),
            "unlock /lock: this object does not hold the lock by lock() [not_owner]");
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
