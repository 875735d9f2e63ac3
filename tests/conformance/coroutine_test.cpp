// SPDX-License-Identifier: Apache-2.0
// Acquiring with co_await.
#include <coroutine>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "support/coroutines.h"

namespace zklock::testing {
namespace {

class Coroutine : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

Task<Hold> acquire(ReentrantMutex& mutex, AcquireOptions options) {
  Hold hold = co_await mutex.co_acquire(options);
  co_return std::move(hold);
}

TEST_F(Coroutine, AwaitingThreadHasEnded_CoroutineResumes) {
  Hold blocking = mutex_.acquire();
  auto waiting = in_thread([this] { return acquire(mutex_, {}); });
  auto task = get(waiting);  // the thread has ended
  ASSERT_TRUE(reaches_nodes(2));
  blocking.release();
  const Hold hold = get(task.result);
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(Coroutine, DeadlinePassed_GivesAnEmptyHold) {
  const Hold blocking = mutex_.acquire();
  const auto deadline = LeaseClock::now() + 200ms;
  auto timed = acquire(mutex_, {.deadline = deadline});
  EXPECT_FALSE(static_cast<bool>(get(timed.result)));
  EXPECT_GE(LeaseClock::now(), deadline);
}

// ---- the forms of the options -------------------------------------------------------------------

Task<Hold> acquire_until(ReentrantMutex& mutex, std::stop_source& stop) {
  Hold hold = co_await mutex.co_acquire(kTestTimeout, stop.get_token());
  co_return std::move(hold);
}

// Awaits every safe form of arguments. The temporaries of each are in the operand of co_await.
template <class Lock>
Task<int> acquire_in_every_form(Lock& lock) {
  std::stop_source stop;
  const AcquireOptions options{.deadline = kTestTimeout, .stop = stop.get_token()};
  int granted = 0;
  if (co_await lock.co_acquire()) ++granted;
  if (co_await lock.co_acquire(kTestTimeout)) ++granted;
  if (co_await lock.co_acquire(kTestTimeout, stop.get_token())) ++granted;
  if (co_await lock.co_acquire(options)) ++granted;
  co_return granted;
}

Task<int> acquire_permits_in_every_form(Semaphore& semaphore) {
  std::stop_source stop;
  const AcquireOptions options{.deadline = kTestTimeout, .stop = stop.get_token()};
  int granted = 0;
  if (co_await semaphore.co_acquire()) ++granted;
  if (co_await semaphore.co_acquire(kTestTimeout, stop.get_token(), 2)) ++granted;
  if (co_await semaphore.co_acquire(options, 2)) ++granted;
  co_return granted;
}

Task<int> acquire_to_read_in_every_form(SharedMutex& mutex) {
  std::stop_source stop;
  const AcquireOptions options{.deadline = kTestTimeout, .stop = stop.get_token()};
  int granted = 0;
  if (co_await mutex.co_acquire_shared()) ++granted;
  if (co_await mutex.co_acquire_shared(kTestTimeout, stop.get_token())) ++granted;
  if (co_await mutex.co_acquire_shared(options)) ++granted;
  co_return granted;
}

int granted(Task<int> task) {
  return get(task.result);
}

TEST_F(Coroutine, EveryFormOfEveryClass_IsGranted) {
  Mutex mutex(*client_, kPath);
  SharedMutex shared(*client_, kPath);
  PriorityMutex priority(*client_, kPath);
  Semaphore semaphore(*client_, "/semaphore", 2);
  MultiMutex multi(*client_, {"/a", "/b"});
  QuorumMutex quorum({*client_}, "/quorum");
  EXPECT_EQ(granted(acquire_in_every_form(mutex_)), 4);
  EXPECT_EQ(granted(acquire_in_every_form(mutex)), 4);
  EXPECT_EQ(granted(acquire_in_every_form(shared)), 4);
  EXPECT_EQ(granted(acquire_in_every_form(priority)), 4);
  EXPECT_EQ(granted(acquire_in_every_form(multi)), 4);
  EXPECT_EQ(granted(acquire_in_every_form(quorum)), 4);
  EXPECT_EQ(granted(acquire_to_read_in_every_form(shared)), 3);
  EXPECT_EQ(granted(acquire_permits_in_every_form(semaphore)), 3);
}

TEST_F(Coroutine, StopWhileItWaits_GivesAnEmptyHold) {
  const Hold blocking = mutex_.acquire();
  std::stop_source stop;
  auto stopped = acquire_until(mutex_, stop);
  ASSERT_TRUE(reaches_nodes(2));
  stop.request_stop();
  EXPECT_FALSE(static_cast<bool>(get(stopped.result)));
  EXPECT_TRUE(reaches_nodes(1));
}

// ---- coroutines that are destroyed while they wait ----------------------------------------------

// Whether a call accepts a temporary AcquireOptions, with or without its type name. None may: see
// BasicAwaitable.
template <class Lock>
concept TakesTemporaryOptions = requires(Lock& lock) {
  lock.co_acquire(AcquireOptions{.deadline = Deadline::never()});
}
|| requires(Lock& lock) {
  lock.co_acquire({.deadline = Deadline::never()});
}
|| requires(Lock& lock) {
  lock.co_acquire(AcquireOptions{.deadline = Deadline::never()}, 1);
}
|| requires(Lock& lock) {
  lock.co_acquire({.deadline = Deadline::never()}, 1);
}
|| requires(Lock& lock) {
  lock.co_acquire_shared(AcquireOptions{});
}
|| requires(Lock& lock) {
  lock.co_acquire_shared({.deadline = Deadline::never()});
};
static_assert(!TakesTemporaryOptions<ReentrantMutex> && !TakesTemporaryOptions<Mutex>);
static_assert(!TakesTemporaryOptions<SharedMutex> && !TakesTemporaryOptions<Semaphore>);
static_assert(!TakesTemporaryOptions<PriorityMutex> && !TakesTemporaryOptions<MultiMutex>);
static_assert(!TakesTemporaryOptions<QuorumMutex>);

template <class Lock>
Owned wait_for(Lock& lock, std::stop_token stop, bool& resumed) {
  const auto hold = co_await lock.co_acquire(Deadline::never(), stop);
  resumed = true;
}

TEST_F(Coroutine, DestroyedWhileItWaits_LeavesTheQueue) {
  bool resumed = false;
  MultiMutex multi(*client_, {kPath, "/other"});
  std::stop_source stop;
  Hold blocking = mutex_.acquire();
  for (const bool stoppable : {false, true}) {
    const std::stop_token token = stoppable ? stop.get_token() : std::stop_token();
    const Owned waiting = wait_for(mutex_, token, resumed);
    const Owned of_multi = wait_for(multi, token, resumed);
    ASSERT_TRUE(reaches_nodes(3));
    waiting.handle.destroy();
    of_multi.handle.destroy();
    EXPECT_TRUE(reaches_nodes(1)) << "while the lock is held";
  }
  blocking.release();
  EXPECT_TRUE(becomes_empty());
  EXPECT_FALSE(resumed);
}

// The grant is on its way to the coroutine: the executor has queued its task.
TEST_F(Coroutine, DestroyedBeforeItsGrantIsDelivered_ReleasesTheHold) {
  Chronicle<std::function<void()>> tasks;
  ClientOptions with_executor = options();
  with_executor.executor = [&tasks](std::function<void()> task) { tasks.add(std::move(task)); };
  const auto client = connect(with_executor);
  ReentrantMutex mutex(*client, kPath);
  bool resumed = false;
  const Owned waiting = wait_for(mutex, {}, resumed);
  ASSERT_TRUE(tasks.reaches(1));
  waiting.handle.destroy();
  for (const auto& task : tasks.all()) task();
  EXPECT_FALSE(resumed);
  EXPECT_TRUE(becomes_empty());
}

// ---- errors -------------------------------------------------------------------------------------

TEST_F(Coroutine, ClosedClient_AwaitThrows) {
  const Hold blocking = mutex_.acquire();
  auto waiting = acquire(mutex_, {});
  ASSERT_TRUE(reaches_nodes(2));
  client_->close();
  EXPECT_EQ(error_of([&] { return get(waiting.result); }), Errc::closed);
  auto too_late = acquire(mutex_, {});
  EXPECT_EQ(error_of([&] { return get(too_late.result); }), Errc::closed);
}

}  // namespace
}  // namespace zklock::testing
