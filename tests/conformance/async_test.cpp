// SPDX-License-Identifier: Apache-2.0
// Callbacks and futures: acquiring without a blocked thread.
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "conformance/log_capture.h"
#include "support/coroutines.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// The arguments and the thread of a handler call.
struct Result {
  Hold hold;
  std::exception_ptr error;
  std::thread::id thread;
};

class Async : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  static std::future<Result> acquire(ReentrantMutex& mutex, AcquireOptions options = {}) {
    auto promise = std::make_shared<std::promise<Result>>();
    mutex.async_acquire(std::move(options), [promise](Hold hold, std::exception_ptr error) {
      promise->set_value({std::move(hold), std::move(error), std::this_thread::get_id()});
    });
    return promise->get_future();
  }
};

TEST_F(Async, Callback_ReceivesTheHold) {
  auto first = acquire(mutex_);
  Result result = get(first);
  EXPECT_EQ(result.error, nullptr);
  EXPECT_EQ(result.hold.state(), HoldState::held);
  EXPECT_NE(result.thread, std::this_thread::get_id());
  EXPECT_FALSE(mutex_.is_held_by_this_thread());  // each call without an owner gets a new owner

  auto second = acquire(mutex_);
  ASSERT_TRUE(reaches_nodes(2));  // a second call does not nest
  EXPECT_FALSE(is_ready(second));
  result.hold.release();
  EXPECT_TRUE(static_cast<bool>(get(second).hold));
  EXPECT_TRUE(becomes_empty());  // destroying the Hold releases the lock
}

TEST_F(Async, Future_ReceivesTheHold) {
  auto first = mutex_.async_acquire();
  Hold hold = get(first);
  EXPECT_EQ(hold.state(), HoldState::held);
  auto second = mutex_.async_acquire(AcquireOptions{.owner = hold.owner()});
  EXPECT_EQ(get(second).token(), hold.token());  // nests: it names the owner of the first hold
  hold.release();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Async, DroppedFuture_ReleasesTheLock) {
  Hold hold = mutex_.acquire();
  { auto dropped = mutex_.async_acquire(); }
  ASSERT_TRUE(reaches_nodes(2));
  hold.release();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Async, Deadline_GivesAnEmptyHoldWithoutAnError) {
  const Hold hold = mutex_.acquire();
  const auto deadline = LeaseClock::now() + 200ms;
  auto callback = acquire(mutex_, {.deadline = deadline});
  auto future = mutex_.async_acquire(AcquireOptions{.deadline = deadline});
  auto at_once = acquire(mutex_, {.deadline = Deadline::passed()});
  const Result result = get(callback);
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_FALSE(static_cast<bool>(result.hold));
  EXPECT_EQ(result.error, nullptr);
  EXPECT_FALSE(static_cast<bool>(get(future)));
  const Result one_attempt = get(at_once);
  EXPECT_FALSE(static_cast<bool>(one_attempt.hold));
  EXPECT_EQ(one_attempt.error, nullptr);
  EXPECT_TRUE(reaches_nodes(1));
}

TEST_F(Async, Stop_GivesAnEmptyHoldWithoutAnError) {
  const Hold hold = mutex_.acquire();
  std::stop_source stop;
  auto callback = acquire(mutex_, {.stop = stop.get_token()});
  auto future = mutex_.async_acquire(AcquireOptions{.stop = stop.get_token()});
  ASSERT_TRUE(reaches_nodes(3));
  stop.request_stop();
  const Result result = get(callback);
  EXPECT_FALSE(static_cast<bool>(result.hold));
  EXPECT_EQ(result.error, nullptr);
  EXPECT_FALSE(static_cast<bool>(get(future)));
  EXPECT_TRUE(reaches_nodes(1));

  auto too_late = acquire(mutex_, {.stop = stop.get_token()});
  const Result never_sent = get(too_late);
  EXPECT_FALSE(static_cast<bool>(never_sent.hold));
  EXPECT_EQ(never_sent.error, nullptr);
}

TEST_F(Async, NotConnected_HandlerAndFutureReceiveTheError) {
  ClientOptions nowhere = options();
  nowhere.hosts = "127.0.0.1:1/nowhere";
  Client lonely(nowhere);
  ReentrantMutex mutex(lonely, kPath);
  auto callback = acquire(mutex, {.deadline = 200ms});
  auto future = mutex.async_acquire(AcquireOptions{.deadline = 200ms});
  const Result result = get(callback);
  EXPECT_FALSE(static_cast<bool>(result.hold));
  ASSERT_NE(result.error, nullptr);
  EXPECT_EQ(error_of([&] { std::rethrow_exception(result.error); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { return get(future); }), Errc::not_connected);
}

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
  auto next = acquire(mutex);
  EXPECT_TRUE(static_cast<bool>(get(next).hold));
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
  auto callback = acquire(third);
  EXPECT_TRUE(static_cast<bool>(get(callback).hold));
  EXPECT_FALSE(is_free());  // the blocked handler still has its own hold

  go_on.count_down();
  auto has_left = left.get_future();
  get(has_left);
}

// A user's executor with one thread.
class OneThread {
 public:
  OneThread() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void operator()(std::function<void()> task) {
    {
      const std::lock_guard guard(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  std::jthread thread_;                      // last: it uses the other members
};

TEST_F(Async, ExecutorOfTheUser_RunsAllCallbacks) {
  OneThread executor;
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
  for (const auto& id : threads.all()) EXPECT_EQ(id, executor.id());
}

TEST_F(Async, ThousandAsyncWaiters_GrantedInOrderWithFewThreads) {
  constexpr std::size_t kWaiters = 1000;
  // Eight threads for callbacks: the last callbacks may still run when the next ones begin. Two
  // more threads that a client starts at their first use.
  constexpr std::size_t kThreads = 8 + 2;
  Chronicle<std::size_t> order;
  Chronicle<FencingToken> tokens;
  {
    const auto warm_up = mutex_.async_acquire();
    static_cast<void>(warm_up.wait_for(kTestTimeout));
  }
  Hold hold = mutex_.acquire();
  const std::size_t threads = threads_of_this_process();
  for (std::size_t i = 0; i < kWaiters; ++i) {
    mutex_.async_acquire({}, [&, i](const Hold& mine, const std::exception_ptr&) {
      order.add(i);
      tokens.add(mine.token());
    });
  }
  ASSERT_TRUE(reaches_nodes(kWaiters + 1));
  EXPECT_LE(threads_of_this_process(), threads + kThreads);
  EXPECT_EQ(order.size(), 0U);
  hold.release();
  ASSERT_TRUE(tokens.reaches(kWaiters));
  EXPECT_LE(threads_of_this_process(), threads + kThreads);
  const auto granted = order.all();
  const auto all_tokens = tokens.all();
  for (std::size_t i = 0; i < kWaiters; ++i) {
    ASSERT_EQ(granted[i], i);
    if (i > 0) {
      ASSERT_LT(all_tokens[i - 1], all_tokens[i]);
    }
  }
  EXPECT_TRUE(becomes_empty());
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
Task<bool> granted(Awaited awaitable) {
  co_return static_cast<bool>(co_await awaitable);
}

template <class Awaited>
bool awaited(Awaited awaitable) {
  auto task = granted(std::move(awaitable));
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

TEST_F(Async, ClosedClient_AsyncAcquireThrows) {
  MultiMutex several(*client_, {"/a", "/b"});
  client_->close();
  const auto none = [](const auto&, const std::exception_ptr&) {};
  EXPECT_EQ(error_of([&] { return mutex_.async_acquire({.max_hold = 0ms}, none), 0; }),
            Errc::closed);
  EXPECT_EQ(error_of([&] { return several.async_acquire({.max_hold = 0ms}, none), 0; }),
            Errc::closed);
}

}  // namespace
}  // namespace zklock::testing
