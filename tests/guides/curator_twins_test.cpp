// SPDX-License-Identifier: Apache-2.0
// The twins of zklock/guides/from_curator.md.
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include "guides/twins.h"

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using zklock::testing::IsEmptyHold;
using zklock::testing::IsHeld;
using zklock::testing::ThrowsErrc;

using FromCurator = TwinTest;

TEST_F(FromCurator, Mutex_ExcludesDuringTheWork) {
#include "from_curator/interprocessmutex.inc"
  EXPECT_EQ(reports(), 1);
  EXPECT_TRUE(is_free());
}

TEST_F(FromCurator, SemaphoreMutex_IsUnlockedByAnotherThread) {
#include "from_curator/interprocesssemaphoremutex.inc"
  EXPECT_FALSE(mutex.is_locked());
  EXPECT_TRUE(is_free());
}

TEST_F(FromCurator, Downgrade_AdmitsReadersOnly) {
#include "from_curator/interprocessreadwritelock.inc"
  ensemble.settle();
  EXPECT_TRUE(can_read("/locks/catalog"));
  EXPECT_TRUE(is_excluded("/locks/catalog"));
  EXPECT_THAT([&] { catalog.lock(); }, ThrowsErrc(zklock::Errc::would_deadlock));
  catalog.unlock_shared();
}

TEST_F(FromCurator, Semaphore_CountsPermits) {
#include "from_curator/interprocesssemaphorev2.inc"
  EXPECT_THAT(lines(), ElementsAre("3 are free"));
  const zklock::Permit all = slots.acquire(5);
  zklock::Semaphore four(other, "/locks/slots", 4);
  EXPECT_THAT([&] { return four.acquire(); }, ThrowsErrc(zklock::Errc::settings_mismatch));
}

TEST_F(FromCurator, MultiMutex_HoldsAllPaths) {
#include "from_curator/interprocessmultilock.inc"
  EXPECT_THAT(hold, IsHeld());
  EXPECT_TRUE(is_excluded("/accounts/7"));
  EXPECT_TRUE(is_excluded("/accounts/9"));
}

TEST_F(FromCurator, LeaderLatch_LeadsAndNotifies) {
#include "from_curator/leaderlatch.inc"
  ensemble.settle();
  EXPECT_EQ(reports(), 1);
  EXPECT_THAT(lines(), ElementsAre("gained", "lost"));
  EXPECT_TRUE(is_free("/leaders/report"));
}

TEST_F(FromCurator, Election_CallsTheFunctionOnce) {
#include "from_curator/leaderselector.inc"
  ensemble.settle();
  EXPECT_EQ(reports(), 1);
  EXPECT_TRUE(is_free("/leaders/report"));
}

TEST_F(FromCurator, ReleaseRequest_IsAnswered) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  ensemble.during([&] {
#include "from_curator/revoker.inc"
    EXPECT_TRUE(released);
    EXPECT_THAT(hold, IsEmptyHold());
    return true;
  });
  EXPECT_TRUE(is_free());
}

TEST_F(FromCurator, Participants_AreDescribed) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  const zklock::Hold hold = mutex.acquire({.note = "job 42"});
#include "from_curator/getparticipantnodes.inc"
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("job 42")));
}

TEST_F(FromCurator, Loss_PrecedesTheEndOfTheSession) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  const zklock::Hold hold = mutex.acquire();
#include "from_curator/connectionstatelistener.inc"
  lose_session();
  EXPECT_THAT(lines(), ElementsAre("the hold is lost", "the session has ended"));
}

}  // namespace
