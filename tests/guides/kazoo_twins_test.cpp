// SPDX-License-Identifier: Apache-2.0
// The twins of zklock/guides/from_kazoo.md.
#include <chrono>
#include <future>
#include <stop_token>
#include <thread>

#include "guides/twins.h"

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using zklock::testing::IsEmptyHold;
using zklock::testing::IsHeld;
using zklock::testing::IsLost;
using zklock::testing::ThrowsErrc;

using FromKazoo = TwinTest;

TEST_F(FromKazoo, Lock_ExcludesAndHasANote) {
#include "from_kazoo/with_lock.inc"
  EXPECT_EQ(reports(), 1);
  EXPECT_EQ(mutex.participants().front().note, "job 42");
}

TEST_F(FromKazoo, Mutex_IsUnlockedByAnotherThread) {
#include "from_kazoo/acquire_and_release.inc"
  EXPECT_FALSE(mutex.is_locked());
  EXPECT_TRUE(is_free());
}

TEST_F(FromKazoo, Timeout_ShowsTheHolder) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  zklock::Mutex held(other, "/locks/report");
  held.lock();
  const auto began = ensemble.now();
  ensemble.during([&] {
#include "from_kazoo/acquire_with_a_timeout.inc"
    EXPECT_THAT(hold, IsEmptyHold());
    return true;
  });
  EXPECT_EQ(ensemble.now() - began, 30s);
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("held by")));
}

TEST_F(FromKazoo, Attempt_DoesNotWait) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  const auto attempt = [&] {
#include "from_kazoo/acquire_without_blocking.inc"
  };
  attempt();
  EXPECT_EQ(reports(), 1);
  zklock::Mutex held(other, "/locks/report");
  held.lock();
  attempt();
  EXPECT_EQ(reports(), 1);
}

TEST_F(FromKazoo, CancelledCall_LeavesTheQueue) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  zklock::Mutex held(other, "/locks/report");
  held.lock();
#include "from_kazoo/cancel.inc"
  EXPECT_THAT(hold, IsEmptyHold());
  EXPECT_TRUE(client.flush());
  EXPECT_EQ(mutex.participants().size(), 1U);
}

TEST_F(FromKazoo, Writer_FollowsTheReader) {
#include "from_kazoo/readlock_and_writelock.inc"
  EXPECT_THAT(reader, IsEmptyHold());
  EXPECT_THAT(writer, IsHeld());
  EXPECT_FALSE(can_read("/locks/catalog"));
}

TEST_F(FromKazoo, Semaphore_ShowsItsHolders) {
#include "from_kazoo/semaphore.inc"
  EXPECT_EQ(lines().size(), 1U);
  EXPECT_EQ(slots.available_permits(), 4);
  zklock::Semaphore four(other, "/locks/slots", 4);
  EXPECT_THAT([&] { return four.acquire(); }, ThrowsErrc(zklock::Errc::settings_mismatch));
}

TEST_F(FromKazoo, Election_CallsTheFunctionOnce) {
#include "from_kazoo/election.inc"
  ensemble.settle();
  EXPECT_EQ(reports(), 1);
  EXPECT_TRUE(is_free("/leaders/report"));
}

TEST_F(FromKazoo, Candidates_HaveNotes) {
  zklock::LeaderLatch election(client, "/leaders/report", {.note = "job 42"});
  election.start();
  ensemble.settle();
#include "from_kazoo/contenders.inc"
  EXPECT_THAT(lines(), ElementsAre("job 42"));
}

TEST_F(FromKazoo, MaxHold_EndsTheHold) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
#include "from_kazoo/nonblockinglease.inc"
  EXPECT_EQ(reports(), 1);
  ensemble.advance(1min - 1ms);
  EXPECT_THAT(hold, IsHeld());
  ensemble.advance(1ms);
  EXPECT_THAT(hold, IsLost());
  EXPECT_TRUE(is_free());
}

TEST_F(FromKazoo, Loss_PrecedesTheNextGrant) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  const zklock::Hold hold = mutex.acquire();
#include "from_kazoo/a_state_listener.inc"
  expect_notice_before_next_grant();
}

}  // namespace
