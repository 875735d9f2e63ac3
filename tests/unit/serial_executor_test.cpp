// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/serial_executor.h"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fact.h"
#include "zklock/client/threads/callback_threads.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;
using testing::Fact;

// Runs a task when the test says so.
class StepByStep : public Dispatcher {
 public:
  bool post(std::function<void()> task) override {
    tasks.push_back(std::move(task));
    return true;
  }
  void step() {
    auto task = std::move(tasks.front());
    tasks.pop_front();
    task();
  }
  std::deque<std::function<void()>> tasks;
};

TEST(SerialExecutor, DroppedByTheDispatcher_TaskRunsWithTheNext) {
  const auto dispatcher = std::make_shared<StepByStep>();
  SerialExecutor serial(dispatcher);
  std::vector<int> ran;
  serial.post([&] { ran.push_back(1); });
  dispatcher->tasks.clear();
  serial.post([&] { ran.push_back(2); });
  while (!dispatcher->tasks.empty()) dispatcher->step();
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

TEST(SerialExecutor, Cleared_TasksAreDestroyedUnrun) {
  const auto dispatcher = std::make_shared<StepByStep>();
  SerialExecutor serial(dispatcher);
  std::vector<int> ran;
  const auto kept = std::make_shared<int>();
  serial.post([&ran, kept] { ran.push_back(*kept); });
  serial.post([&ran, kept] { ran.push_back(*kept); });
  serial.clear();
  EXPECT_EQ(kept.use_count(), 1);
  dispatcher->step();
  EXPECT_TRUE(ran.empty());
  EXPECT_TRUE(dispatcher->tasks.empty());
  serial.post([&ran] { ran.push_back(3); });
  dispatcher->step();
  EXPECT_EQ(ran, std::vector{3});
}

TEST(SerialExecutor, SeveralTasks_DispatchedOneAtATime) {
  const auto dispatcher = std::make_shared<StepByStep>();
  SerialExecutor serial(dispatcher);
  std::vector<int> ran;
  for (int i = 0; i < 3; ++i) serial.post([&ran, i] { ran.push_back(i); });
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(dispatcher->tasks.size(), 1U);
    EXPECT_EQ(ran.size(), static_cast<std::size_t>(i));
    dispatcher->step();
  }
  EXPECT_TRUE(dispatcher->tasks.empty());
  serial.post([&ran] { ran.push_back(3); });
  dispatcher->step();
  EXPECT_EQ(ran, (std::vector{0, 1, 2, 3}));
}

TEST(SerialExecutor, TaskThrows_DispatcherReceivesItAndNextRuns) {
  const auto dispatcher = std::make_shared<StepByStep>();
  SerialExecutor serial(dispatcher);
  bool ran = false;
  serial.post([] { throw std::runtime_error("x"); });
  serial.post([&] { ran = true; });
  EXPECT_THROW(dispatcher->step(), std::runtime_error);
  ASSERT_EQ(dispatcher->tasks.size(), 1U);
  dispatcher->step();
  EXPECT_TRUE(ran);
}

TEST(SerialExecutor, TaskPosts_NewTaskRunsAfterIt) {
  const auto dispatcher = std::make_shared<StepByStep>();
  SerialExecutor serial(dispatcher);
  bool ran = false;
  serial.post([&] { serial.post([&] { ran = true; }); });
  dispatcher->step();
  EXPECT_FALSE(ran) << "not within the first";
  dispatcher->step();
  EXPECT_TRUE(ran);
}

TEST(SerialExecutor, Destroyed_RemainingTasksRun) {
  const auto dispatcher = std::make_shared<StepByStep>();
  int ran = 0;
  {
    SerialExecutor serial(dispatcher);
    for (int i = 0; i < 3; ++i) serial.post([&] { ++ran; });
  }
  while (!dispatcher->tasks.empty()) dispatcher->step();
  EXPECT_EQ(ran, 3);
}

TEST(SerialExecutor, DestroyedByATask_RemainingTasksRun) {
  const auto dispatcher = std::make_shared<StepByStep>();
  auto serial = std::make_unique<SerialExecutor>(dispatcher);
  int ran = 0;
  serial->post([&] { serial.reset(); });
  serial->post([&] { ++ran; });
  while (!dispatcher->tasks.empty()) dispatcher->step();
  EXPECT_EQ(ran, 1);
}

TEST(SerialExecutor, ManyThreads_KeepOrderAndExclusion) {
  const auto threads = std::make_shared<CallbackThreads>(nullptr);
  SerialExecutor serial(threads);
  constexpr int kCount = 1000;
  std::vector<int> ran;  // unguarded: the tasks exclude each other
  std::atomic<int> inside = 0;
  for (int i = 0; i < kCount; ++i) {
    serial.post([&, i] {
      EXPECT_EQ(++inside, 1);
      ran.push_back(i);
      --inside;
    });
  }
  EXPECT_TRUE(threads->drain_for(1min)) << "a drain runs the whole line";
  std::vector<int> wanted(kCount);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(ran, wanted);
}

TEST(SerialExecutor, TwoExecutors_AreIndependent) {
  const auto threads = std::make_shared<CallbackThreads>(nullptr);
  SerialExecutor slow(threads);
  SerialExecutor quick(threads);
  const Fact<> go;
  slow.post([&, go] { go.get(); });
  const Fact<> ran;
  quick.post([&, ran] { ran.is_known(); });
  ran.get();
  go.is_known();
  EXPECT_TRUE(threads->drain_for(1min));
}

TEST(SerialExecutor, PostsFromManyThreads_AllRun) {
  const auto threads = std::make_shared<CallbackThreads>(nullptr);
  SerialExecutor serial(threads);
  int sum = 0;  // unguarded: the tasks exclude each other
  std::vector<std::thread> users;
  for (int t = 0; t < 4; ++t) {
    users.emplace_back([&] {
      for (int i = 0; i < 250; ++i) serial.post([&] { ++sum; });
    });
  }
  for (auto& user : users) user.join();
  EXPECT_TRUE(threads->drain_for(1min));
  EXPECT_EQ(sum, 1000);
}

}  // namespace
}  // namespace zklock::client
