// SPDX-License-Identifier: Apache-2.0
// Bugs that other lock libraries had in production. Each is about the ownership of a hold.
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "conformance/fork_and.h"
#include "conformance/lock_test.h"
#include "zklock/core/sanitizers.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class FieldBugs : public LockTest {
 protected:
  std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  static AcquireOptions at_once(const Owner& owner) {
    return {.owner = owner, .deadline = Deadline::passed()};
  }
};

// ---- two processes whose threads have equal ids exclude each other ------------------------------

// The thread of a forked child has the pthread_t of the thread that called fork(). Likewise, the
// main threads of one program in two containers have equal thread ids and equal pids. Returns 0 if
// the child was excluded.
int contend_in_child(const ClientOptions& options, pthread_t parents_thread, const Owner& parent) {
  if (::pthread_equal(::pthread_self(), parents_thread) == 0) return 1;  // the test is void
  if (Owner::this_thread() == parent) return 2;
  Client client(options);
  ReentrantMutex mutex(client, kPath);
  if (!client.wait_until_connected(kTestTimeout)) return 3;
  if (mutex.try_lock()) return 4;
  if (mutex.is_held_by_this_thread() || mutex.hold_count() != 0) return 5;
  if (error_of([&] { mutex.unlock(); }) != Errc::not_owner) return 6;
  const auto all = mutex.participants();
  if (all.size() != 1 || all[0].mine || all[0].owner == Owner::this_thread().to_string()) return 7;
  return 0;
}

TEST_F(FieldBugs, ProcessesWithEqualThreadIds_ExcludeEachOther) {
#if ZKLOCK_THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer does not allow threads in a forked child";
#endif
  mutex_.lock();
  const Hold hold = mutex_.acquire();
  const pthread_t self = ::pthread_self();
  const Owner owner = Owner::this_thread();
  ASSERT_EQ(fork_and([&] { return contend_in_child(options(), self, owner); }), 0);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(mutex_.hold_count(), 2);
  mutex_.unlock();
}

// ---- a pooled thread does not get the lock of an earlier request again --------------------------

TEST_F(FieldBugs, PooledThreadWithANewOwner_DoesNotNestInOldHold) {
  auto pooled_thread = in_thread([&] {
    const Owner first = Owner::unique();
    const Owner second = Owner::unique();
    // Request 1 ends without releasing its hold; a later call is expected to do that.
    Hold left = mutex_.acquire({.owner = first});
    EXPECT_EQ(mutex_.hold_count(), 0);  // the hold does not belong to the thread
    // Request 2 runs on the same thread but is another owner, whichever call it uses.
    EXPECT_FALSE(static_cast<bool>(mutex_.acquire(at_once(second))));
    EXPECT_FALSE(mutex_.try_lock());
    EXPECT_FALSE(static_cast<bool>(mutex_.acquire({.deadline = Deadline::passed()})));
    EXPECT_EQ(error_of([&] { mutex_.unlock(); }), Errc::not_owner);
    auto queued = mutex_.async_acquire(AcquireOptions{.owner = second});
    EXPECT_TRUE(reaches_nodes(2));
    EXPECT_FALSE(is_ready(queued));
    // The later call of request 1 nests, and then releases.
    EXPECT_EQ(mutex_.acquire(at_once(first)).token(), left.token());
    const FencingToken token = left.token();
    left.release();
    EXPECT_GT(get(queued).token(), token);
  });
  get(pooled_thread);
  EXPECT_TRUE(becomes_empty());
}

// ---- an unlock that comes late, twice, or from another thread -----------------------------------

TEST_F(FieldBugs, OwnerOnSeveralThreads_LocksAndUnlocks) {
  const Owner request = Owner::unique();
  std::vector<Hold> holds;
  for (int call = 0; call < 3; ++call) {
    auto locking = in_thread([&] { return mutex_.acquire({.owner = request}); });
    holds.push_back(get(locking));
    EXPECT_EQ(holds.back().token(), holds.front().token());
  }
  while (!holds.empty()) {
    EXPECT_FALSE(is_free());
    EXPECT_EQ(holds.back().state(), HoldState::held);
    auto unlocking = in_thread([moved = std::move(holds.back())]() mutable { moved.release(); });
    get(unlocking);
    holds.pop_back();
  }
  EXPECT_TRUE(becomes_empty());
}

TEST_F(FieldBugs, ReleaseAfterALoss_DoesNotReleaseANewerHold) {
  const Owner request = Owner::unique();
  Hold old = mutex_.acquire({.owner = request});
  Hold also_old = mutex_.acquire({.owner = request});
  expire_session(chroot_.hosts(), client_->session_id());
  ASSERT_TRUE(eventually([&] { return old.state() == HoldState::lost; }, kTestTimeout));
  Hold somebodys = mutex_.acquire({.owner = Owner::unique()});
  old.release();  // too late, so without effect
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_EQ(somebodys.state(), HoldState::held);
  EXPECT_EQ(raw().exists(somebodys.node()).rc, ZOK);
  somebodys.release();

  // The lost hold still has one count. The owner can acquire again after that count is released.
  EXPECT_EQ(error_of([&] { return mutex_.acquire({.owner = request}); }), Errc::lock_lost);
  also_old.release();
  const Hold newer = mutex_.acquire({.owner = request});
  also_old.release();
  old.release();
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_EQ(newer.state(), HoldState::held);
  EXPECT_EQ(raw().exists(newer.node()).rc, ZOK);
}

// A Mutex has no owners. Only the Hold object distinguishes two grants.
TEST_F(FieldBugs, RetriedUnlockOfAMutex_DoesNotReleaseANewerHold) {
  Mutex mutex(*client_, kPath);
  mutex.lock();
  expire_session(chroot_.hosts(), client_->session_id());
  ASSERT_TRUE(eventually([&] { return !mutex.is_locked(); }, kTestTimeout));
  const Hold newer = mutex.acquire();
  mutex.unlock();  // undoes the lock() that was lost
  EXPECT_EQ(error_of([&] { mutex.unlock(); }), Errc::not_owner);
  EXPECT_EQ(newer.state(), HoldState::held);
  EXPECT_EQ(raw().exists(newer.node()).rc, ZOK);
}

}  // namespace
}  // namespace zklock::testing
