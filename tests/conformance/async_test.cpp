// SPDX-License-Identifier: Apache-2.0
// Callbacks and futures: acquiring without a blocked thread.
#include <coroutine>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
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

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

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
