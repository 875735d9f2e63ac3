// SPDX-License-Identifier: Apache-2.0
// An announced release grants the next contender without a list of the children. The znode may be
// that of another program.
#include <string>

#include <gtest/gtest.h>

#include "tests/model/cohort_fixture.h"

namespace zklock::model {
namespace {

class AnnouncedRelease : public CohortFixture {
 protected:
  /// Hands off the lock `count` times between two clients, after `pause` each time. Returns the
  /// last holder.
  std::size_t hand_off(std::size_t holder, int count, core::Duration pause) {
    for (int i = 0; i < count; ++i) {
      const auto next = waiting(1 - call(holder).client);
      run_for(pause);
      release(holder);
      EXPECT_TRUE(is_granted(next));
      holder = next;
    }
    return holder;
  }
  std::size_t requests(Kind kind) { return client(0).requests(kind) + client(1).requests(kind); }
  /// Creates a znode of another program, which promises to announce its release.
  void enqueue_foreign() {
    const auto name =
        ensemble().create_sequential(LockWorld::kPath, "lock-", "zklock 1\nannounces=1\n");
    ASSERT_TRUE(name);
    foreign_ = LockWorld::kPath + ("/" + *name);
    run();
  }
  void SetUp() override {
    CohortFixture::SetUp();
    for (const std::size_t c : {0U, 1U}) lock_.use(c);
  }
  void end() {
    for (const std::size_t c : {0U, 1U}) lock_.end_use(c);
    expect_rest();
  }

  std::string foreign_;
};

TEST_F(AnnouncedRelease, HandOffs_SendNoList) {
  reset_counts();
  release(hand_off(granted(0), 10, {}));
  EXPECT_EQ(requests(Kind::list_children), 0U);
  EXPECT_EQ(requests(Kind::get_and_watch), 10U);
  end();
}

TEST_F(AnnouncedRelease, SlowHandOffsOfCrowdedPath_SendNoListAndNoCount) {
  const auto holder = hand_off(granted(0), 10, {});
  reset_counts();
  release(hand_off(holder, 10, 2s));
  EXPECT_EQ(requests(Kind::list_children), 0U);
  EXPECT_EQ(requests(Kind::count_children), 0U);
  end();
}

TEST_F(AnnouncedRelease, ForeignZnodeWritten_NextIsGranted) {
  enqueue_foreign();
  const auto next = waiting(1);
  reset_counts();
  ASSERT_EQ(ensemble().set_data(foreign_, "released"), Status::ok);
  run();
  EXPECT_TRUE(is_granted(next));
  EXPECT_EQ(client(1).requests(), 0U);
  ASSERT_EQ(ensemble().remove(foreign_), Status::ok);
  release(next);
  end();
}

TEST_F(AnnouncedRelease, ForeignZnodeDeleted_NextIsGranted) {
  enqueue_foreign();
  const auto next = waiting(1);
  ASSERT_EQ(ensemble().remove(foreign_), Status::ok);
  run();
  EXPECT_TRUE(is_granted(next));
  release(next);
  end();
}

}  // namespace
}  // namespace zklock::model
