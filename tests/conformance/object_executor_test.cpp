// SPDX-License-Identifier: Apache-2.0
// An executor that belongs to one object is not called after the destructor of that object.
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/single_thread.h"

namespace zklock::testing {
namespace {

class ObjectExecutor : public LockTest {
 protected:
  // Returns an executor whose first call blocks until release_node().
  Executor blocking() {
    return [this](std::function<void()> task) {
      if (!entered_.exchange(true)) go_on_.wait();
      thread_(std::move(task));
    };
  }
  void release_node() {
    has_let_go_ = true;
    go_on_.count_down();
  }
  // Checks that the destructor of `object` waits for the executor call that is in flight.
  template <class Object>
  void expect_destruction_waits_for_the_call(std::unique_ptr<Object> object) {
    EXPECT_TRUE(eventually([this] { return entered_.load(); }, kTestTimeout));
    auto destroyed = in_thread([this, object = std::move(object)]() mutable {
      object.reset();
      return has_let_go_.load();
    });
    EXPECT_FALSE(eventually([&] { return is_ready(destroyed); }, 200ms));
    release_node();
    EXPECT_TRUE(get(destroyed));
  }

  std::atomic<bool> entered_{false};
  std::atomic<bool> has_let_go_{false};
  std::latch go_on_{1};
  SingleThread thread_;
  const std::unique_ptr<Client> client_ = connect();
};

TEST_F(ObjectExecutor, CalledForAMutex_DestructorWaits) {
  auto mutex = std::make_unique<ReentrantMutex>(
      *client_, kPath, LockOptions{.listener = [](const LockEvent&) {}, .executor = blocking()});
  const Hold hold = mutex->acquire();
  expect_destruction_waits_for_the_call(std::move(mutex));
}

TEST_F(ObjectExecutor, CalledForALatch_DestructorWaits) {
  auto latch = std::make_unique<LeaderLatch>(*client_, kPath, LatchOptions{.executor = blocking()});
  const auto subscription = latch->add_listener([](const Leadership&) {}, {});
  latch->start();
  expect_destruction_waits_for_the_call(std::move(latch));
}

TEST_F(ObjectExecutor, CalledForALockObserver_DestructorWaits) {
  auto observer = std::make_unique<LockObserver>(*client_, kPath, blocking());
  const auto subscription = observer->add_listener([](const LockState&) {});
  expect_destruction_waits_for_the_call(std::move(observer));
}

TEST_F(ObjectExecutor, CalledForAnElectionObserver_DestructorWaits) {
  auto observer = std::make_unique<ElectionObserver>(*client_, kPath, blocking());
  const auto subscription = observer->add_listener([](const ElectionState&) {});
  expect_destruction_waits_for_the_call(std::move(observer));
}

}  // namespace
}  // namespace zklock::testing
