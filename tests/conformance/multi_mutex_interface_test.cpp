// SPDX-License-Identifier: Apache-2.0
// MultiMutex: invalid arguments, destruction while locked, handlers, coroutines, fork().
#include <array>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/fork_and.h"
#include "conformance/lock_test.h"
#include "conformance/single_thread.h"
#include "support/coroutines.h"

namespace zklock::testing {
namespace {

class MultiInterface : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  MultiMutex mutex_{*client_, {"/a", "/b"}};
  const std::unique_ptr<Client> other_ = connect();

  bool all_become_empty() { return becomes_empty("/a") && becomes_empty("/b"); }
};

// ---- bad input ----------------------------------------------------------------------------------

TEST_F(MultiInterface, BadInput_IsRefusedWithoutRequests) {
  const auto made_of = [this](std::vector<std::string> paths) {
    return error_text_of([&] { return MultiMutex(*client_, std::move(paths)).paths(); });
  };
  EXPECT_EQ(made_of({}), "lock: the list of paths is empty [invalid_option]");
  EXPECT_EQ(made_of({"/a", "/b", "/a"}), "lock /a: the path is given twice [invalid_option]");
  EXPECT_EQ(made_of({"/a", "b"}), "lock b: the path does not begin with a slash [invalid_path]");
  EXPECT_EQ(made_of({"/a", "/a/"}), "lock /a/: the path ends with a slash [invalid_path]");
  EXPECT_EQ(made_of({"b", "b"}), "lock b: the path does not begin with a slash [invalid_path]");
  EXPECT_EQ(made_of({"/a", "/a/b"}), "");
  EXPECT_EQ(raw().exists("/a").rc, ZNONODE);
}

// ---- guards -------------------------------------------------------------------------------------

TEST_F(MultiInterface, DestroyedWhileLocked_PartsStayLocked) {
  std::make_unique<MultiMutex>(*client_, mutex_.paths())->lock();
  EXPECT_FALSE(is_free("/a") || is_free("/b"));
  for (const std::string& path : mutex_.paths()) {
    ReentrantMutex part(*client_, path);
    EXPECT_TRUE(part.is_held_by_this_thread());
    part.unlock();
  }
  EXPECT_TRUE(all_become_empty());
  auto ended =
      in_thread([this] { std::make_unique<MultiMutex>(*client_, mutex_.paths())->lock(); });
  get(ended);
  EXPECT_TRUE(all_become_empty()) << "its thread has ended";
}

// ---- asynchronous calls -------------------------------------------------------------------------

// Objects that the handler owns, even the Client, are destroyed on the thread of the handler.
TEST_F(MultiInterface, HandlerOwnsClient_DestroysItOnHandlerThread) {
  struct Belongings {
    std::unique_ptr<Client> client;
    std::unique_ptr<MultiMutex> mutex;  // destroyed first
    std::promise<std::thread::id>* destroyed = nullptr;
    ~Belongings() {
      mutex.reset();
      client.reset();
      destroyed->set_value(std::this_thread::get_id());
    }
  };
  for (int round = 0; round < 50; ++round) {
    std::promise<std::thread::id> called;
    std::promise<std::thread::id> destroyed;
    Hold block = ReentrantMutex(*other_, "/b").acquire();
    {
      auto all = std::make_shared<Belongings>();
      all->destroyed = &destroyed;
      all->client = connect();
      all->mutex = std::make_unique<MultiMutex>(*all->client, std::vector<std::string>{"/a", "/b"});
      all->mutex->async_acquire({}, [all, &called](const MultiHold& hold, const auto&) {
        EXPECT_TRUE(static_cast<bool>(hold));
        called.set_value(std::this_thread::get_id());
      });
    }
    block.release();
    auto caller = called.get_future();
    auto destroyer = destroyed.get_future();
    ASSERT_EQ(get(caller), get(destroyer)) << "round " << round;
  }
}

TEST_F(MultiInterface, BlockingCallOnOnlyExecutorThread_Returns) {
  SingleThread executor;
  ClientOptions with_executor = options();
  with_executor.executor = [&](std::function<void()> task) { executor(std::move(task)); };
  const auto client = connect(with_executor);
  MultiMutex mutex(*client, {"/a", "/b"});
  Hold block = ReentrantMutex(*other_, "/b").acquire();
  std::promise<bool> locked;
  auto result = locked.get_future();
  executor([&] {
    mutex.lock();
    mutex.unlock();
    locked.set_value(true);
  });
  ASSERT_TRUE(reaches_nodes(2, "/b"));
  block.release();
  EXPECT_TRUE(get(result));
}

Task<MultiHold> acquire_with(MultiMutex::Awaitable awaitable) {
  MultiHold hold = co_await awaitable;
  co_return std::move(hold);
}

// The memory of the mutex is overwritten: the awaitable must not use it.
TEST_F(MultiInterface, MutexDestroyedBeforeAwait_IsGranted) {
  alignas(MultiMutex) std::array<std::byte, sizeof(MultiMutex)> place{};
  auto* const mutex = ::new (place.data()) MultiMutex(*client_, {"/a", "/b"});
  auto awaitable = mutex->co_acquire();
  std::destroy_at(mutex);
  place.fill({});
  auto awaited = acquire_with(std::move(awaitable));
  EXPECT_EQ(get(awaited.result).state(), HoldState::held);
  EXPECT_TRUE(all_become_empty());
}

// ---- fork() -------------------------------------------------------------------------------------

TEST_F(MultiInterface, ForkedChild_HoldsNothing) {
  auto mutex = std::make_unique<MultiMutex>(*client_, std::vector<std::string>{"/a", "/b"});
  MultiHold hold = mutex->acquire();
  mutex->lock();
  const auto child = fork_and([&] {
    const bool refused = error_of([&] { mutex->lock(); }) == Errc::forked &&
                         error_of([&] { mutex->unlock(); }) == Errc::forked &&
                         error_of([&] { return mutex->acquire(); }) == Errc::forked &&
                         error_of([&] { return mutex->async_acquire().get(); }) == Errc::forked;
    const bool lost = hold.state() == HoldState::lost && mutex->hold_count() == 0;
    hold.release();
    mutex.reset();
    return refused && lost ? 0 : 1;
  });
  ASSERT_EQ(child, 0);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(mutex->hold_count(), 2);
  mutex->unlock();
  hold.release();
  EXPECT_TRUE(all_become_empty());
}

}  // namespace
}  // namespace zklock::testing
