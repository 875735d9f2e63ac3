// SPDX-License-Identifier: Apache-2.0
// Holds with a maximum time: nested calls, renew(), composites. suite/options_test.cpp has the rest.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class MaxHold : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();

  static bool is_lost(const Hold& hold) {
    return eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout);
  }
};

TEST_F(MaxHold, MaxHoldOfNestedCall_IsIgnored) {
  ReentrantMutex mutex(*client_, kPath);
  const auto limited = mutex.acquire({.owner = Owner::unique(), .max_hold = 1h});
  const auto until = limited.valid_until();
  const auto nested = mutex.acquire({.owner = limited.owner(), .max_hold = 1ms});
  EXPECT_TRUE(eventually([&] { return limited.valid_until() > until; }, kTestTimeout));
  EXPECT_EQ(nested.state(), HoldState::held);
}

TEST_F(MaxHold, RenewWithoutMaxHold_SetsLimit) {
  ReentrantMutex mutex(*client_, kPath);
  Hold hold = mutex.acquire();
  EXPECT_TRUE(hold.renew());
  EXPECT_TRUE(hold.renew(300ms));
  EXPECT_TRUE(is_lost(hold));
}

TEST_F(MaxHold, NonPositiveTimes_AreRefused) {
  for (const std::chrono::milliseconds bad : {0ms, -1ms}) {
    for (const LockOptions& options :
         {LockOptions{.max_hold = bad}, LockOptions{.max_hold = 1s, .expiry_notice = bad}}) {
      EXPECT_EQ(error_of([&] { ReentrantMutex{*client_, kPath, options}; }), Errc::invalid_option);
      EXPECT_EQ(error_of([&] {
                  MultiMutex{*client_, {"/a", "/b"}, options};
                }),
                Errc::invalid_option);
    }
  }
  Hold hold = ReentrantMutex(*client_, kPath).acquire();
  EXPECT_NE(error_text_of([&] { return hold.renew(-5ms); }).find("-5 ms"), std::string::npos);
}

TEST_F(MaxHold, RenewOfMultiHold_RenewsAllParts) {
  MultiMutex mutex(*client_, {"/a", "/b"}, {.max_hold = 1h});
  MultiHold hold = mutex.acquire();
  EXPECT_EQ(error_of([&] { return hold.renew(0ms); }), Errc::invalid_option);
  EXPECT_TRUE(hold.renew());
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(hold.renew(300ms));
  EXPECT_TRUE(is_lost(hold[0]));
  EXPECT_TRUE(is_lost(hold[1]));
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_FALSE(hold.renew());
  EXPECT_FALSE(hold.renew(1h));
  EXPECT_FALSE(MultiHold().renew());
}

TEST_F(MaxHold, MultiMutexWaits_MaxHoldCountsFromWholeGrant) {
  Hold b = ReentrantMutex(*other_, "/b").acquire();
  MultiMutex mutex(*client_, {"/a", "/b"}, {.max_hold = 400ms});
  auto waiting = mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(2, "/b"));
  const std::string first = nodes("/a").at(0);
  // The timer hold outlasts max_hold by the same clock. The waiting part still has its first znode.
  const Hold timer = ReentrantMutex(*other_, "/timer").acquire({.max_hold = 800ms});
  EXPECT_TRUE(is_lost(timer));
  EXPECT_EQ(nodes("/a"), std::vector<std::string>{first});
  b.release();
  const MultiHold hold = get(waiting);
  EXPECT_TRUE(hold[0].node().ends_with(first));
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
}

TEST_F(MaxHold, MaxHoldOfComposite_RetainsEarlierHoldOfOwner) {
  ReentrantMutex part(*client_, "/a");
  const Hold before = part.acquire();
  MultiMutex mutex(*client_, {"/a", "/b"}, {.max_hold = 300ms});
  const MultiHold hold = mutex.acquire();
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
  EXPECT_EQ(hold[1].state(), HoldState::lost);
  EXPECT_EQ(before.state(), HoldState::held);
}

}  // namespace
}  // namespace zklock::testing
