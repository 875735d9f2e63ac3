// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/local_reply_thread.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fact.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;
using testing::Fact;

std::optional<Instant> nothing_is_due() {
  return std::nullopt;
}

void post(LocalReplyThread& replies, std::function<void()> task) {
  replies.post([task = std::move(task)](const Reply& /*reply*/) { task(); }, {});
}

TEST(LocalReplyThread, Tasks_RunInOrderOnTheirOwnThread) {
  std::vector<int> ran;
  const Fact<std::thread::id> last;
  LocalReplyThread replies(nothing_is_due);
  for (int i = 0; i < 100; ++i) post(replies, [&ran, i] { ran.push_back(i); });
  post(replies, [last] { last.is(std::this_thread::get_id()); });
  EXPECT_NE(last.get(), std::this_thread::get_id());
  ASSERT_EQ(ran.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST(LocalReplyThread, TaskPostsATask_NewTaskRuns) {
  LocalReplyThread replies(nothing_is_due);
  const Fact<bool> nested;
  post(replies, [&replies, nested] {
    auto inside = std::make_shared<bool>(true);
    post(replies, [nested, inside] { nested.is(*inside); });
    *inside = false;
  });
  EXPECT_FALSE(nested.get()) << "it ran within the other task";
}

TEST(LocalReplyThread, IdleOrDestroyed_AllTasksHaveRun) {
  std::atomic<int> ran{0};
  {
    LocalReplyThread replies(nothing_is_due);
    for (int i = 0; i < 100; ++i) post(replies, [&ran] { ++ran; });
    replies.wait_idle();
    EXPECT_EQ(ran, 100);
    for (int i = 0; i < 100; ++i) post(replies, [&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 200);
}

// Reports that its thread is about to end.
struct LastWord {
  std::optional<Fact<>> ended;
  ~LastWord() {
    if (ended) ended->is_known();
  }
};

// A late task can find its path lock alive, and then be its last user.
TEST(LocalReplyThread, DestroyedByATask_RemainingTasksRun) {
  const Fact<> dropped;
  const Fact<> ended;
  const Fact<int> ran_before_destruction;
  const auto destroyed = std::make_shared<std::atomic<bool>>(false);
  const auto ran = std::make_shared<std::atomic<int>>(0);
  auto replies = std::make_shared<LocalReplyThread>([destroyed]() -> std::optional<Instant> {
    EXPECT_FALSE(*destroyed) << "queried before its destruction";
    return LeaseClock::now();
  });
  post(*replies, [=, mine = replies]() mutable {
    thread_local LastWord last_word;
    last_word.ended = ended;
    dropped.get();
    mine->poke();
    LocalReplyThread* const last = mine.get();
    post(*last, [last, ran] {
      post(*last, [ran] { ++*ran; });  // it exists until the remaining tasks have run
      ++*ran;
    });
    mine = nullptr;
    *destroyed = true;
    ran_before_destruction.is(ran->load());
  });
  replies = nullptr;
  dropped.is_known();
  EXPECT_EQ(ran_before_destruction.get(), 2);
  ended.get();
}

TEST(LocalReplyThread, TaskWaitsForIdle_RunsTheOtherTasks) {
  const auto replies = std::make_shared<LocalReplyThread>(nothing_is_due);
  const Fact<bool> ran;
  post(*replies, [replies, ran] {
    const auto next_ran = std::make_shared<bool>(false);
    post(*replies, [next_ran] { *next_ran = true; });
    replies->wait_idle();
    ran.is(*next_ran);
  });
  EXPECT_TRUE(ran.get());
}

TEST(LocalReplyThread, PokedOrDue_ChecksForOverdueWork) {
  std::atomic<int> queries{0};
  LocalReplyThread replies([&queries]() -> std::optional<Instant> {
    if (++queries == 1) return LeaseClock::now() + 1ms;
    return std::nullopt;
  });
  EXPECT_EQ(queries, 0) << "there was no reason";
  replies.poke();
  EXPECT_TRUE(testing::eventually([&] { return queries == 2; }));
}

}  // namespace
}  // namespace zklock::client
