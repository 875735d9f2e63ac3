// SPDX-License-Identifier: Apache-2.0
// co_await.
#include <coroutine>
#include <exception>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

// A coroutine that runs by itself; what it returns or throws comes to the future.
template <class T>
struct Task {
  struct promise_type {
    std::promise<T> result;
    Task get_return_object() { return {result.get_future()}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_value(T value) { result.set_value(std::move(value)); }
    void unhandled_exception() { result.set_exception(std::current_exception()); }
  };
  std::future<T> result;
};

class Coroutine : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

Task<FencingToken> lock_once(ReentrantMutex& mutex) {
  const Hold hold = co_await mutex.co_acquire();
  co_return hold.token();
}

Task<Hold> acquire(ReentrantMutex& mutex, AcquireOptions options) {
  Hold hold = co_await mutex.co_acquire(std::move(options));
  co_return std::move(hold);
}

// Twice for one owner, and a thread that is not that of the first.
Task<int> nest(ReentrantMutex& mutex) {
  const Owner owner = Owner::unique();
  AcquireOptions options;
  options.owner = owner;
  const Hold outer = co_await mutex.co_acquire(options);
  const Hold inner = co_await mutex.co_acquire(options);
  co_return outer.token() == inner.token() ? 1 : 0;
}

Task<int> in_turn(ReentrantMutex& mutex, Chronicle<int>& order, int number) {
  const Hold hold = co_await mutex.co_acquire();
  order.add(number);
  co_return number;
}

TEST_F(Coroutine, AwaitsTheHold) {
  auto first = lock_once(mutex_);
  const FencingToken token = get(first.result);
  EXPECT_GT(token, FencingToken{});
  auto second = lock_once(mutex_);
  EXPECT_GT(get(second.result), token);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Coroutine, ResumesWithoutTheThreadThatAwaited) {
  Hold blocking = mutex_.acquire();
  auto waiting = in_thread([this] { return acquire(mutex_, {}); });
  auto task = get(waiting);  // the thread has ended
  ASSERT_TRUE(reaches_nodes(2));
  blocking.release();
  const Hold hold = get(task.result);
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(Coroutine, NestsForOneOwner) {
  auto task = nest(mutex_);
  EXPECT_EQ(get(task.result), 1);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Coroutine, AreGrantedInOrder) {
  Hold blocking = mutex_.acquire();
  Chronicle<int> order;
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 20; ++i) tasks.push_back(in_turn(mutex_, order, i));
  blocking.release();
  for (auto& task : tasks) get(task.result);
  const auto granted = order.all();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(granted.at(static_cast<std::size_t>(i)), i);
}

TEST_F(Coroutine, DeadlineAndStopGiveAnEmptyHold) {
  const Hold blocking = mutex_.acquire();
  const auto deadline = LeaseClock::now() + 200ms;
  auto timed = acquire(mutex_, {.deadline = deadline});
  EXPECT_FALSE(static_cast<bool>(get(timed.result)));
  EXPECT_GE(LeaseClock::now(), deadline);
  std::stop_source stop;
  auto stopped = acquire(mutex_, {.stop = stop.get_token()});
  ASSERT_TRUE(reaches_nodes(2));
  stop.request_stop();
  EXPECT_FALSE(static_cast<bool>(get(stopped.result)));
  EXPECT_TRUE(reaches_nodes(1));
}

TEST_F(Coroutine, ThrowsFromTheAwait) {
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
