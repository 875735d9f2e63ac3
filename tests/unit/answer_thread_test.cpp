// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/answer_thread.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fact.h"
#include "support/wait_for.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;
using testing::Fact;

std::optional<Instant> nothing_is_due() {
  return std::nullopt;
}

TEST(AnswerThread, RunsTasksInOrderOnAThreadOfItsOwn) {
  std::vector<int> ran;
  const Fact<std::thread::id> last;
  AnswerThread answers(nothing_is_due);
  for (int i = 0; i < 100; ++i) answers.run([&ran, i] { ran.push_back(i); });
  answers.run([last] { last.is(std::this_thread::get_id()); });
  EXPECT_NE(last.get(), std::this_thread::get_id());
  ASSERT_EQ(ran.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST(AnswerThread, ATaskMayPostAnother) {
  AnswerThread answers(nothing_is_due);
  const Fact<> ran;
  answers.run([&answers, ran] { answers.run([ran] { ran.is_known(); }); });
  ran.get();
}

TEST(AnswerThread, NothingIsLeftWhenItIsIdleOrDestroyed) {
  std::atomic<int> ran{0};
  {
    AnswerThread answers(nothing_is_due);
    for (int i = 0; i < 100; ++i) answers.run([&ran] { ++ran; });
    answers.wait_idle();
    EXPECT_EQ(ran, 100);
    for (int i = 0; i < 100; ++i) answers.run([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 200);
}

TEST(AnswerThread, AsksWhatIsOverdueAfterAPokeAndWhenItIsTime) {
  std::atomic<int> asked{0};
  AnswerThread answers([&asked]() -> std::optional<Instant> {
    if (++asked == 1) return LeaseClock::now() + 1ms;
    return std::nullopt;
  });
  EXPECT_EQ(asked, 0) << "there was no reason";
  answers.poke();
  EXPECT_TRUE(testing::eventually([&] { return asked == 2; }));
}

}  // namespace
}  // namespace zklock::client
