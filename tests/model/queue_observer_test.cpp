// SPDX-License-Identifier: Apache-2.0
// An observer of a queue: its requests and notifications.
#include "zklock/recipes/observe/queue_observer.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using detail::QueueObserver;
using detail::QueueView;

// Client 0 contends, and client 1 observes.
class Observing : public PathLockTest {
 protected:
  Subscription listen() {
    return observer_->add([this](const QueueView& view) {
      received_.push_back(view.lock.holders.size() + view.lock.waiting);
    });
  }
  // Returns how often the observer listed the queue.
  std::size_t lists() { return client(1).requests(OperationKind::list_and_watch); }
  // Long enough for every pause. But no test lasts until a hold is marked, which is a change, too.
  void wait() { lock_.world().run_for(500ms); }
  // Adds a contender to the queue; leave() removes it.
  std::size_t enqueue() {
    const auto call = lock_.acquire(0);
    wait();
    return call;
  }
  void leave(std::size_t call) {
    lock_.release(call);
    wait();
  }

  const std::shared_ptr<QueueObserver> observer_ = std::make_shared<QueueObserver>(
      lock_.path_lock(1), detail::ViewScope::all_holders(), Executor{});
  std::vector<std::size_t> received_;  ///< the queue length of each notification

  void TearDown() override {
    observer_->stop();
    run();
    PathLockTest::TearDown();
  }
};

TEST_F(Observing, NoListener_SendsNoList) {
  leave(enqueue());
  EXPECT_EQ(lists(), 0U);
  Subscription subscription = listen();
  wait();
  const auto call = enqueue();
  EXPECT_EQ(received_, (std::vector<std::size_t>{0, 1}));
  subscription.cancel();
  leave(call);  // the remaining watch fires
  reset_counts();
  leave(enqueue());
  leave(enqueue());
  EXPECT_EQ(lists(), 0U);
  EXPECT_EQ(received_, (std::vector<std::size_t>{0, 1}));
}

TEST_F(Observing, Change_CostsOneListAndOneReadPerHolder) {
  const Subscription subscription = listen();
  wait();
  const auto reads = [this] {
    return client(1).requests(OperationKind::get) +
           client(1).requests(OperationKind::get_and_watch);
  };
  std::vector<std::size_t> calls;
  for (std::size_t readers = 1; readers <= 3; ++readers) {
    reset_counts();
    calls.push_back(lock_.acquire(0, LockWorld::to_read()));
    wait();
    EXPECT_EQ(lists(), 1U);
    EXPECT_EQ(reads(), readers);
  }
  reset_counts();
  calls.push_back(lock_.acquire(0, LockWorld::to_write()));
  wait();
  EXPECT_EQ(lists(), 1U);
  EXPECT_EQ(reads(), 3U) << "one that waits is only counted";
  for (const auto call : calls) release(call);
}

TEST_F(Observing, NewListenerAfterPause_GetsCurrentState) {
  Subscription first = listen();
  wait();
  first.cancel();
  const auto call = enqueue();
  const auto other = enqueue();
  received_.clear();
  const Subscription second = listen();
  wait();
  EXPECT_EQ(received_, (std::vector<std::size_t>{2}));
  leave(call);
  leave(other);
  EXPECT_EQ(received_, (std::vector<std::size_t>{2, 1, 0}));
}

TEST_F(Observing, NewSessionWithoutListener_SendsNoList) {
  Subscription first = listen();
  wait();
  first.cancel();
  leave(enqueue());
  reset_counts();
  lock_.world().expire(1);
  wait();
  EXPECT_EQ(lists(), 0U);
  received_.clear();
  const Subscription second = listen();
  wait();
  EXPECT_EQ(received_, (std::vector<std::size_t>{0}));
}

}  // namespace
}  // namespace zklock::model
