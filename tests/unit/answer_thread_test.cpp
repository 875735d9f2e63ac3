// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/answer_thread.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fact.h"

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

TEST(AnswerThread, WhoStandsByWakesItForTheOther) {
  AnswerThread answers(nothing_is_due);
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      const Fact<> ran;  // one after the other, so that each has to wake it
      answers.run([ran] { ran.is_known(); });
      ran.get();
    }
  });
  for (int i = 0; i < 200; ++i) {
    answers.stand_by(1h);  // for ever, if it does not see the next task
    answers.wait_idle();   // for ever, if it has not woken the thread
  }
  over = true;
  other.join();
}

TEST(AnswerThread, StandingByEndsWhenNothingComes) {
  AnswerThread answers(nothing_is_due);
  answers.stand_by(1us);
  const Fact<> ran;
  answers.run([ran] { ran.is_known(); });
  ran.get();
}

TEST(AnswerThread, ATaskDoesNotStandBy) {
  AnswerThread answers(nothing_is_due);
  const Fact<> ran;
  answers.run([&answers, ran] {
    answers.stand_by(1h);
    ran.is_known();
  });
  ran.get();
}

TEST(AnswerThread, NoTaskIsLeftHoweverManyStandBy) {
  AnswerThread answers(nothing_is_due);
  constexpr int kTasks = 2000;
  std::atomic<int> ran{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> standing;
  for (int i = 0; i < 2; ++i) {
    standing.emplace_back([&] {
      while (!over) answers.stand_by(1us);
    });
  }
  for (int i = 1; i <= kTasks; ++i) {
    const Fact<> done;
    answers.run([&ran, done] {
      ++ran;
      done.is_known();
    });
    done.get();
    EXPECT_EQ(ran, i);
  }
  over = true;
  for (std::thread& thread : standing) thread.join();
}

}  // namespace
}  // namespace zklock::client
