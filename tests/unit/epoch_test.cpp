// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {
namespace {

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

TEST_F(EpochTest, CallbackBeforeEnd_IsCalledEachTime) {
  const Callback callback = guarded();
  callback(1);
  callback(2);
  EXPECT_EQ(received_, (std::vector<int>{1, 2}));
}

TEST_F(EpochTest, CallbackAfterEnd_IsIgnored) {
  const Callback callback = guarded();
  end();
  callback(1);
  EXPECT_TRUE(received_.empty());
}

TEST_F(EpochTest, CallbacksOfTwoEpochs_OnlyNewerIsCalled) {
  const Callback older = guarded();
  end();
  const Callback newer = guarded();
  older(1);
  newer(2);
  EXPECT_EQ(received_, std::vector<int>{2});
}

}  // namespace
}  // namespace zklock::detail
