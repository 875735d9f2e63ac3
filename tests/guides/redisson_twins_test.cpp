// SPDX-License-Identifier: Apache-2.0
// The twins of zklock/guides/from_redisson.md.
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "guides/twins.h"

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Optional;
using zklock::testing::IsHeld;
using zklock::testing::IsLost;

using FromRedisson = TwinTest;

TEST_F(FromRedisson, Thread_Holds) {
#include "from_redisson/lock_isheldbycurrentthread.inc"
  EXPECT_THAT(lines(), ElementsAre("held"));
  EXPECT_TRUE(is_free());
}

TEST_F(FromRedisson, MaxHold_EndsTheHold) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
#include "from_redisson/trylock_with_a_lease_time.inc"
  EXPECT_EQ(reports(), 1);
  ensemble.advance(10s);
  EXPECT_THAT(hold, IsLost());
  EXPECT_TRUE(hold.loss_token().stop_requested());
  EXPECT_TRUE(is_free());
}

TEST_F(FromRedisson, Session_IsExtended) {
  zklock::ClientOptions options{.hosts = ensemble.hosts()};
#include "from_redisson/the_watchdog.inc"
  const zklock::Hold hold = zklock::ReentrantMutex(session, "/locks/report").acquire();
  EXPECT_EQ(session.metrics().session_timeout, 30s);
  ensemble.advance(1min);
  EXPECT_THAT(hold, IsHeld());
}

TEST_F(FromRedisson, Holder_IsFirstInTheQueue) {
#include "from_redisson/getfairlock.inc"
  EXPECT_THAT(position, Optional(0U));
  mutex.unlock();
}

TEST_F(FromRedisson, Readers_HoldTogether) {
#include "from_redisson/rreadwritelock.inc"
  EXPECT_TRUE(can_read("/locks/catalog"));
  EXPECT_TRUE(is_excluded("/locks/catalog"));
}

TEST_F(FromRedisson, SharedCount_IsRaised) {
#include "from_redisson/rsemaphore.inc"
  EXPECT_EQ(slots.permits(), 8);
  EXPECT_TRUE(client.flush());
  EXPECT_EQ(slots.available_permits(), 8);
}

TEST_F(FromRedisson, Permit_Expires) {
#include "from_redisson/rpermitexpirablesemaphore.inc"
  EXPECT_THAT(permit, IsHeld());
  EXPECT_EQ(slots.available_permits(), 4);
  ensemble.advance(10s);
  EXPECT_THAT(permit, IsLost());
  EXPECT_EQ(slots.available_permits(), 5);
}

TEST_F(FromRedisson, NestedGrant_RepeatsTheToken) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
#include "from_redisson/rfencedlock.inc"
  EXPECT_GT(token, zklock::FencingToken());
  EXPECT_EQ(mutex.acquire().token(), token);
}

TEST_F(FromRedisson, MultiMutex_HoldsAllPaths) {
#include "from_redisson/getmultilock.inc"
  EXPECT_THAT(hold, IsHeld());
  EXPECT_TRUE(is_excluded("/accounts/7"));
  EXPECT_TRUE(is_excluded("/accounts/9"));
}

TEST_F(FromRedisson, QuorumMutex_SurvivesOneEnsemble) {
  zklock::testing::FakeEnsemble paris;
  zklock::testing::FakeEnsemble rome;
  const auto second = paris.client();
  const auto third = rome.client();
  const zklock::QuorumMutex::Clients clients{client, *second, *third};
#include "from_redisson/redissonredlock.inc"
  rome.stop_servers();
  ensemble.advance(20s);
  EXPECT_THAT(hold, IsHeld());
  paris.stop_servers();
  ensemble.advance(20s);
  EXPECT_THAT(hold, IsLost());
}

TEST_F(FromRedisson, Handler_WorksUnderTheLock) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
#include "from_redisson/lockasync.inc"
  ensemble.settle();
  EXPECT_EQ(reports(), 1);
  EXPECT_TRUE(is_free());
}

TEST_F(FromRedisson, ForcedRelease_NotifiesTheHolder) {
  zklock::Mutex held(other, "/locks/report");
  const zklock::Hold hold = held.acquire();
  ensemble.during([&] {
#include "from_redisson/forceunlock.inc"
    EXPECT_TRUE(released);
    return true;
  });
  EXPECT_THAT(hold.loss_reason(), Optional(zklock::LossReason::forced));
}

}  // namespace
