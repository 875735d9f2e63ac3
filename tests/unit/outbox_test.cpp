// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {
namespace {

class OutboxTest : public ::testing::Test {
 protected:
  Outbox::Task note(std::string text) {
    return [this, text = std::move(text)] { log_.push_back(text); };
  }
  void run(const void* owner, std::vector<Outbox::Task> all) {
    Outbox tasks;
    for (auto& task : all) tasks.add(std::move(task));
    run(owner, tasks);
  }
  void run(const void* owner, Outbox& tasks) { Outbox::run(owner, tasks.take()); }

  using Log = std::vector<std::string>;
  Log log_;
  const int first_ = 0;
  const int second_ = 0;
};

TEST_F(OutboxTest, Take_RemovesTheTasksInOrder) {
  Outbox tasks;
  tasks.add(note("1"));
  tasks.add(note("2"));
  run(&first_, tasks);
  EXPECT_TRUE(tasks.take().empty());
  EXPECT_EQ(log_, (Log{"1", "2"}));
}

TEST_F(OutboxTest, NestedTasksOfOneOwner_RunBehindTheOuterOnes) {
  run(&first_, {[&] {
                  run(&first_, {note("nested")});
                  note("1")();
                },
                note("2")});
  EXPECT_EQ(log_, (Log{"1", "2", "nested"}));
}

TEST_F(OutboxTest, NestedTasksOfAnotherOwner_RunAtOnce) {
  run(&first_, {[&] {
                  run(&second_, {note("nested")});
                  note("1")();
                },
                note("2")});
  EXPECT_EQ(log_, (Log{"nested", "1", "2"}));
}

TEST_F(OutboxTest, OwnerThatIsNotTheInnermost_StillRunsItsTasksLater) {
  run(&first_, {[&] {
                  run(&second_, {[&] { run(&first_, {note("nested")}); }, note("1")});
                },
                note("2")});
  EXPECT_EQ(log_, (Log{"1", "2", "nested"}));
}

}  // namespace
}  // namespace zklock::detail
