// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/engine_lock.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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

// ---- Epoch --------------------------------------------------------------------------------------

// The tests have one thread, and so need no mutex.
class EpochTest : public ::testing::Test {
 protected:
  using Callback = std::function<void(int)>;

  Callback guarded() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
    return epoch_.guard([this](int value) { received_.push_back(value); });
  }
  void end() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS { epoch_.end(); }

  std::vector<int> received_;

 private:
  Epoch epoch_;
};

TEST_F(EpochTest, CallbacksOfTwoEpochs_OnlyNewerIsCalled) {
  const Callback older = guarded();
  end();
  const Callback newer = guarded();
  older(1);
  newer(2);
  newer(3);
  EXPECT_EQ(received_, (std::vector<int>{2, 3}));
}

}  // namespace
}  // namespace zklock::detail
