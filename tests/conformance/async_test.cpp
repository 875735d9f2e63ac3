// SPDX-License-Identifier: Apache-2.0
// Acquiring without a blocked thread: handlers, futures and coroutines.
#include <chrono>
#include <coroutine>
#include <exception>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "conformance/log_capture.h"
#include "conformance/single_thread.h"
#include "support/coroutines.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class Async : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(Async, ThrowingHandler_IsLoggedAndLaterHandlersRun) {
  const LogCapture log;
  ClientOptions logged = options();
  logged.logger = log.logger();
  const auto client = connect(logged);
  ReentrantMutex mutex(*client, kPath);
  const auto subscription = client->add_listener(
      [](ConnectionState) { throw std::runtime_error("thrown by the listener"); });

  mutex.async_acquire({}, [](const Hold&, const std::exception_ptr&) {
    throw std::runtime_error("thrown by the handler");
  });
  mutex.async_acquire({}, [](const Hold&, const std::exception_ptr&) { throw 42; });
  EXPECT_TRUE(static_cast<bool>(mutex.acquire({.deadline = kTestTimeout})));
  auto next = mutex.async_acquire();
  EXPECT_TRUE(static_cast<bool>(get(next)));
  EXPECT_TRUE(eventually([&] { return log.contains("thrown by the handler"); }, kTestTimeout));
  EXPECT_TRUE(becomes_empty());

  expire_session(chroot_.hosts(), client->session_id());
  EXPECT_TRUE(eventually([&] { return log.contains("thrown by the listener"); }, kTestTimeout));
  EXPECT_TRUE(static_cast<bool>(mutex.acquire({.deadline = kTestTimeout})));
}

TEST_F(Async, BlockedHandler_DelaysNoHeartbeatsAndNoOtherLocks) {
  ClientOptions brief = options();
  brief.session_timeout = 5s;  // the handler blocks for twice this time
  const auto client = connect(brief);
  const Hold other_hold = ReentrantMutex(*client, "/other").acquire();
  ReentrantMutex mutex(*client, kPath);
  ReentrantMutex third(*client, "/third");
  std::latch go_on(1);
  std::promise<void> entered;
  std::promise<void> left;
  mutex.async_acquire({}, [&](const Hold&, const std::exception_ptr&) {
    entered.set_value();
    go_on.wait();
    left.set_value();
  });
  auto has_entered = entered.get_future();
  get(has_entered);
  auto waiting = third.async_acquire();  // one acquire before the two timeouts, one after
  EXPECT_TRUE(static_cast<bool>(get(waiting)));

  // The lease of the other hold is still extended: heartbeats are sent and answered.
  const auto later = LeaseClock::now() + 2 * client->session_timeout();
  EXPECT_TRUE(eventually([&] { return LeaseClock::now() > later; }, kTestTimeout));
  EXPECT_TRUE(eventually([&] { return other_hold.valid_until() > later; }, kTestTimeout));
  EXPECT_FALSE(other_hold.loss_token().stop_requested());
  auto later_call = third.async_acquire();
  EXPECT_TRUE(static_cast<bool>(get(later_call)));
  EXPECT_FALSE(is_free());  // the blocked handler still has its own hold

  go_on.count_down();
  auto has_left = left.get_future();
  get(has_left);
}

TEST_F(Async, ExecutorOfTheUser_RunsAllCallbacks) {
  SingleThread executor;
  std::promise<std::thread::id> own;
  executor([&] { own.set_value(std::this_thread::get_id()); });
  const std::thread::id expected = own.get_future().get();
  Chronicle<std::thread::id> threads;
  ClientOptions with_executor = options();
  with_executor.executor = [&](std::function<void()> task) { executor(std::move(task)); };
  const auto client = connect(with_executor);
  const auto subscription =
      client->add_listener([&](ConnectionState) { threads.add(std::this_thread::get_id()); });
  ReentrantMutex mutex(*client, kPath);
  const auto note = [&](const Hold&, const std::exception_ptr&) {
    threads.add(std::this_thread::get_id());
  };
  for (int i = 0; i < 5; ++i) mutex.async_acquire({}, note);
  ASSERT_TRUE(threads.reaches(5));
  const Hold hold = mutex.acquire();
  mutex.async_acquire({.deadline = Deadline::passed()}, note);
  std::stop_source stop;
  mutex.async_acquire({.stop = stop.get_token()}, note);
  stop.request_stop();  // on this thread, which must not run the handler
  ASSERT_TRUE(threads.reaches(7));
  expire_session(chroot_.hosts(), client->session_id());
  ASSERT_TRUE(threads.reaches(10));  // the events suspended, lost and connected
  mutex.async_acquire({}, note);
  ASSERT_TRUE(threads.reaches(11));
  client->close();
  for (const auto& id : threads.all()) EXPECT_EQ(id, expected);
}

// Returns the code of the error that the handler receives. `start` begins the call with that
// handler.
template <class Handler, class Start>
std::optional<Errc> handed(Start start) {
  auto promise = std::make_shared<std::promise<std::exception_ptr>>();
  auto error = promise->get_future();
  start(
      Handler([promise](const auto&, std::exception_ptr e) { promise->set_value(std::move(e)); }));
  return error_of([&] {
    if (const auto e = get(error)) std::rethrow_exception(e);
    return 0;
  });
}

template <class Awaited>
Task<bool> is_granted(Awaited awaitable) {
  co_return static_cast<bool>(co_await awaitable);
}

template <class Awaited>
bool awaited(Awaited awaitable) {
  auto task = is_granted(std::move(awaitable));
  return get(task.result);
}

TEST_F(Async, InvalidArguments_AreReportedAsAsyncErrors) {
  Semaphore semaphore(*client_, "/permits", 3);
  PriorityMutex weighted(*client_, "/weighted");
  MultiMutex several(*client_, {"/a", "/b"});
  const AcquireOptions bad{.max_hold = 0ms};
  const auto refused = std::optional(Errc::invalid_option);
  EXPECT_EQ(handed<AcquireHandler>([&](auto h) { mutex_.async_acquire(bad, h); }), refused);
  EXPECT_EQ(handed<AcquireHandler>([&](auto h) { semaphore.async_acquire({}, 4, h); }), refused);
  EXPECT_EQ(handed<AcquireHandler>([&](auto h) { weighted.async_acquire({}, 11, h); }), refused);
  EXPECT_EQ(handed<CompositeHandler>([&](auto h) { several.async_acquire(bad, h); }), refused);
  auto of_mutex = mutex_.async_acquire(bad);
  EXPECT_EQ(error_of([&] { return get(of_mutex); }), refused);
  auto of_semaphore = semaphore.async_acquire(4);
  EXPECT_EQ(error_of([&] { return get(of_semaphore); }), refused);
  auto of_weighted = weighted.async_acquire({}, 11);
  EXPECT_EQ(error_of([&] { return get(of_weighted); }), refused);
  auto of_several = several.async_acquire(bad);
  EXPECT_EQ(error_of([&] { return get(of_several); }), refused);
  EXPECT_EQ(error_of([&] { return awaited(semaphore.co_acquire(4)); }), refused);
  EXPECT_EQ(error_of([&] { return awaited(weighted.co_acquire(Deadline::never(), {}, 0)); }),
            refused);
  EXPECT_EQ(error_of([&] { return awaited(several.co_acquire(bad)); }), refused);
  for (const std::string path : {"/permits", "/weighted", "/a"}) {
    EXPECT_EQ(raw().exists(path).rc, ZNONODE) << "nothing was sent";
  }
}

using Coroutine = Async;

Task<Hold> acquire(ReentrantMutex& mutex, AcquireOptions options) {
  Hold hold = co_await mutex.co_acquire(options);
  co_return std::move(hold);
}

// ---- the forms of the options -------------------------------------------------------------------

// Without a deadline, so that only the stop ends the wait.
Task<Hold> acquire_or_stop(ReentrantMutex& mutex, std::stop_source& stop) {
  Hold hold = co_await mutex.co_acquire(Deadline::never(), stop.get_token());
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
  auto stopped = acquire_or_stop(mutex_, stop);
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
