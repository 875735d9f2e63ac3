// SPDX-License-Identifier: Apache-2.0
// The twins of zklock/guides/from_etcd.md.
#include <chrono>
#include <stop_token>

#include "guides/twins.h"

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using zklock::testing::IsHeld;
using zklock::testing::ThrowsErrc;

using FromEtcd = TwinTest;

TEST_F(FromEtcd, Session_HasItsTimeout) {
  zklock::ClientOptions options{.hosts = ensemble.hosts()};
#include "from_etcd/session.inc"
  const zklock::Hold hold = zklock::ReentrantMutex(session, "/locks/report").acquire();
  EXPECT_EQ(session.metrics().session_timeout, 15s);
}

TEST_F(FromEtcd, Mutex_IsLockedAndUnlocked) {
#include "from_etcd/lock_and_unlock.inc"
  EXPECT_THAT(lines(), ElementsAre("held"));
  EXPECT_TRUE(is_free());
}

TEST_F(FromEtcd, AttemptOnHeldLock_ReturnsFalse) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  zklock::Mutex held(other, "/locks/report");
  held.lock();
#include "from_etcd/trylock.inc"
  EXPECT_THAT(lines(), ElementsAre("locked"));
}

TEST_F(FromEtcd, FreeLock_IsHeldBeforeTheDeadline) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
#include "from_etcd/lock_with_a_context.inc"
  EXPECT_THAT(hold, IsHeld());
  EXPECT_TRUE(is_excluded("/locks/report"));
}

TEST_F(FromEtcd, Transaction_NeedsTheLockZnode) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  ASSERT_TRUE(ensemble.create("/config", "v1"));
  const zklock::Hold hold = mutex.acquire();
#include "from_etcd/isowner.inc"
  EXPECT_EQ(ensemble.data("/config"), "v2");
  ASSERT_TRUE(ensemble.remove(hold.node()));
  EXPECT_THAT([&] { transaction.commit(); }, ThrowsErrc(zklock::Errc::lock_lost));
}

TEST_F(FromEtcd, Token_Rises) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
#include "from_etcd/a_fencing_token.inc"
  EXPECT_TRUE(rises);
}

TEST_F(FromEtcd, Loss_PrecedesTheNextGrant) {
  zklock::ReentrantMutex mutex(client, "/locks/report");
  const zklock::Hold hold = mutex.acquire();
#include "from_etcd/done.inc"
  expect_notice_before_next_grant();
}

TEST_F(FromEtcd, Leader_ProclaimsAValue) {
#include "from_etcd/campaign.inc"
  EXPECT_TRUE(latch.has_leadership());
  EXPECT_EQ(zklock::ElectionObserver(other, "/leaders/report").state().value, "db7:5432");
}

TEST_F(FromEtcd, CandidateThatResigned_LeadsAgain) {
#include "from_etcd/resign.inc"
  EXPECT_TRUE(contends);
  ensemble.settle();
  EXPECT_GE(reports(), 1);
}

TEST_F(FromEtcd, Observer_ReceivesTheValue) {
  zklock::LeaderLatch latch(other, "/leaders/report");
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader());
  latch.leadership().proclaim("db7:5432");
#include "from_etcd/observe_and_leader.inc"
  ensemble.settle();
  EXPECT_THAT(lines(), ElementsAre("db7:5432"));
  EXPECT_TRUE(now.leader);
  EXPECT_EQ(now.value, "db7:5432");
}

}  // namespace
