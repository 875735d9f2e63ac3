// SPDX-License-Identifier: Apache-2.0
// Sessions, nodes and servers that go, under those who wait and those who hold.
#include <future>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "conformance/suite/heard.h"
#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

template <class P>
class Loss : public SuiteTest<P> {};
using EveryPairing = EveryClassOn<RealStage, FakeStage>;
TYPED_TEST_SUITE(Loss, EveryPairing, PairingName);

TYPED_TEST(Loss, OfTheSessionWhileHoldingIsToldOnceAndTheNextIsGranted) {
  Client& client = this->connect();
  const auto lock = this->make(client);
  const auto others = this->make(this->connect());
  auto hold = this->acquire(*lock);
  const Told told(hold);
  const FencingToken token = hold.token();
  auto waiting = this->rival_async_acquire(*others);
  ASSERT_TRUE(this->reaches_nodes(2));
  this->stage().expire(client);
  auto next = this->get_in_time(waiting);
  EXPECT_GT(next.token(), token);
  EXPECT_TRUE(this->becomes_lost(hold));
  EXPECT_TRUE(this->stage().comes([&] { return told.lost() == 1; }));
  EXPECT_TRUE(hold.lost().stop_requested());
  EXPECT_TRUE(static_cast<bool>(hold));  // it has its count still
  EXPECT_EQ(hold.token(), token);
  EXPECT_EQ(hold.valid_until(), LeaseClock::time_point::min());
  hold.release();  // quiet, and nobody else's
  EXPECT_TRUE(client.flush(kPatience));
  EXPECT_EQ(next.state(), HoldState::held);
  EXPECT_TRUE(this->stage().exists(next.node()));
  EXPECT_EQ(told.lost(), 1);
}

TYPED_TEST(Loss, OfTheSessionMustBeReleasedBeforeTheOwnerNestsAgain) {
  Client& client = this->connect();
  const auto lock = this->make(client);
  const Owner owner = Owner::unique();
  auto old = this->acquire(*lock, {.owner = owner});
  this->stage().expire(client);
  ASSERT_TRUE(this->becomes_lost(old));
  std::optional<typename TestFixture::Grant> newer;
  if constexpr (TestFixture::TestedFace::nests) {
    EXPECT_EQ(error_of([&] { return this->acquire(*lock, {.owner = owner}); }), Errc::lock_lost);
    newer = this->acquire(*lock);  // the loss is that owner's only
    old.release();
  } else if constexpr (TestFixture::TestedFace::frees_all_by_loss) {
    newer = this->acquire(*lock, {.owner = owner});
    old.release();
  } else {
    old.release();
    newer = this->acquire(*lock, {.owner = owner});
  }
  EXPECT_TRUE(client.flush(kPatience));
  EXPECT_EQ(newer->state(), HoldState::held);
  EXPECT_TRUE(this->stage().exists(newer->node()));
  newer.reset();
  EXPECT_EQ(this->acquire(*lock, {.owner = owner}).state(), HoldState::held);
}

TYPED_TEST(Loss, OfTheSessionIsOfLockToo) {
  using Face = typename TestFixture::TestedFace;
  if constexpr (HasLockAndUnlock<Face>) {
    Client& client = this->connect();
    const auto lock = this->make(client);
    Face::lock(*lock);
    this->stage().expire(client);
    ASSERT_TRUE(this->stage().comes_in_time([&] { return !Face::is_locked(*lock); }));
    if (Face::nests) {
      EXPECT_EQ(error_of([&] { Face::lock(*lock); }), Errc::lock_lost);
      EXPECT_EQ(error_of([&] { return Face::try_lock(*lock); }), Errc::lock_lost);
    }
    Face::unlock(*lock);  // quiet
    EXPECT_EQ(error_of([&] { Face::unlock(*lock); }), Errc::not_owner);
    Face::lock(*lock);
    EXPECT_TRUE(Face::is_locked(*lock));
    Face::unlock(*lock);
  } else {
    GTEST_SKIP() << "has no lock()";
  }
}

TYPED_TEST(Loss, OfTheSessionWhileWaitingIsQueuedAgainAtTheEnd) {
  Client& client = this->connect();
  const auto lock = this->make(client);
  const auto others = this->make(this->connect());
  auto hold = this->rival_acquire(*others);
  auto waiting = this->async_acquire(*lock);
  ASSERT_TRUE(this->reaches_nodes(2));
  auto behind = this->rival_async_acquire(*others);
  ASSERT_TRUE(this->reaches_nodes(3));
  const std::string behinds_node = this->node_at(2);
  const auto old_session = client.session_id();
  this->stage().expire(client);
  ASSERT_TRUE(this->stage().comes_in_time(
      [&] { return this->stage().nodes().size() == 3 && client.session_id() != old_session; }));
  EXPECT_FALSE(is_ready(waiting));
  hold.release();
  auto next = get(behind);
  if (TestFixture::TestedFace::keeps_node) {
    EXPECT_EQ(next.node(), behinds_node);
  }
  EXPECT_FALSE(is_ready(waiting));
  next.release();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
}

TYPED_TEST(Loss, OfTheSessionWhileWaitingIsAnErrorByPolicy) {
  if (!TestFixture::TestedFace::fails_by_policy) {
    GTEST_SKIP() << "has no such policy, or not here";
  }
  Client& client = this->connect();
  const auto lock = this->make(client, TestFixture::kFail);
  const auto others = this->make(this->connect());
  const auto hold = this->rival_acquire(*others);
  auto waiting = this->async_acquire(*lock);
  ASSERT_TRUE(this->reaches_nodes(2));
  this->stage().expire(client);
  EXPECT_EQ(error_of([&] { return this->get_in_time(waiting); }), Errc::session_expired);
  EXPECT_TRUE(this->reaches_nodes(1));
  EXPECT_EQ(hold.state(), HoldState::held);
}

TYPED_TEST(Loss, OfTheNodeWhileHoldingIsTold) {
  Client& client = this->connect();
  const auto lock = this->make(client);
  auto hold = this->acquire(*lock);
  const Told told(hold);
  const auto session = client.session_id();
  this->remove_nodes_of(hold);
  EXPECT_TRUE(this->becomes_lost(hold));
  EXPECT_TRUE(this->stage().comes([&] { return told.lost() == 1; }));
  EXPECT_EQ(client.session_id(), session);
  if (!TestFixture::TestedFace::frees_all_by_loss) hold.release();
  EXPECT_EQ(this->acquire(*lock).state(), HoldState::held);
  hold.release();
  EXPECT_EQ(told.lost(), 1);
}

TYPED_TEST(Loss, OfTheNodeWhileWaitingIsQueuedAgainOrAnErrorByPolicy) {
  Client& client = this->connect();
  const auto others = this->make(this->connect());
  auto hold = this->rival_acquire(*others);
  if (TestFixture::TestedFace::fails_by_policy) {
    const auto failing = this->make(client, TestFixture::kFail);
    auto waiting = this->async_acquire(*failing);
    ASSERT_TRUE(this->reaches_nodes(2));
    this->stage().remove(this->node_at(1));
    EXPECT_EQ(error_of([&] { return this->get_in_time(waiting); }), Errc::node_deleted);
    EXPECT_TRUE(this->reaches_nodes(1));
  }
  const auto lock = this->make(client);
  auto waiting = this->async_acquire(*lock);
  ASSERT_TRUE(this->reaches_nodes(2));
  const std::string old = this->node_at(1);
  this->stage().remove(old);
  ASSERT_TRUE(this->queues_again(old));
  EXPECT_FALSE(is_ready(waiting));
  hold.release();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
}

TYPED_TEST(Loss, OfTheParentUnderHolderAndWaiterIsALossAndANewQueue) {
  const auto lock = this->make(this->connect());
  const auto others = this->make(this->connect());
  auto hold = this->acquire(*lock);
  const Told told(hold);
  const FencingToken token = hold.token();
  auto waiting = this->rival_async_acquire(*others);
  ASSERT_TRUE(this->reaches_nodes(2));
  this->remove_parents();
  EXPECT_TRUE(this->becomes_lost(hold));
  EXPECT_TRUE(this->stage().comes([&] { return told.lost() == 1; }));
  if (!TestFixture::TestedFace::frees_all_by_loss) hold.release();
  // Though the sequence may begin again. The node may have gone too, just after the grant.
  auto next = this->get_in_time(waiting);
  EXPECT_GT(next.token(), token);
  next.release();
  EXPECT_EQ(this->acquire(*others).state(), HoldState::held);
}

// The new queue counts from 0: the names of the old one come again, and are not taken for one's own.
// The waiter may queue again before, between or behind the strangers.
TYPED_TEST(Loss, OfTheParentIsSeenThoughStrangersGetTheSameNames) {
  const auto lock = this->make(this->connect());
  const auto others = this->make(this->connect());
  auto hold = this->acquire(*lock);
  const Told told(hold);
  const FencingToken token = hold.token();
  auto waiting = this->rival_async_acquire(*others);
  ASSERT_TRUE(this->reaches_nodes(2));
  this->remove_parents();
  const std::vector<std::string> strangers{this->stage().enqueue("lock-"),
                                           this->stage().enqueue("lock-")};
  EXPECT_TRUE(this->becomes_lost(hold));
  if (!TestFixture::TestedFace::frees_all_by_loss) hold.release();
  for (const std::string& stranger : strangers) this->stage().remove(stranger);
  EXPECT_GT(this->get_in_time(waiting).token(), token);
}

TYPED_TEST(Loss, OfTheParentBetweenUsesGoesUnnoticed) {
  const auto lock = this->make(this->connect());
  FencingToken last;
  for (int round = 0; round < 3; ++round) {
    {
      const auto hold = this->acquire(*lock);
      EXPECT_GT(hold.token(), last);
      last = hold.token();
    }
    ASSERT_TRUE(this->becomes_empty());
    this->remove_parents();
  }
}

// ---- a server that dies and comes back ----------------------------------------------------------

template <class P>
class Outage : public SuiteTest<P> {
 protected:
  Client& connect() { return SuiteTest<P>::connect(Stage::kLongSession); }
};
using OnMortals = EveryClassOn<MortalStage, FakeStage>;
TYPED_TEST_SUITE(Outage, OnMortals, PairingName);

TYPED_TEST(Outage, HolderAndWaiterKeepTheirPlaces) {
  Client& client = this->connect();
  Heard<typename TestFixture::TestedFace> heard;
  const auto lock = this->make(client, {.listener = heard.listener()});
  const auto others = this->make(this->connect());
  auto hold = this->acquire(*lock);
  const Told told(hold);
  auto waiting = this->rival_async_acquire(*others);
  ASSERT_TRUE(this->reaches_nodes(2));
  const auto before = this->stage().nodes();
  this->stage().stop_servers();
  EXPECT_EQ(hold.state(), HoldState::suspended);
  // What begins meanwhile waits for a server, and leaves nothing when it does not come in time.
  auto hopeless = this->rival_async_acquire(*lock, {.deadline = this->stage().in(100ms)});
  if constexpr (TestFixture::TestedFace::calls) {
    EXPECT_EQ(error_of([&] { return this->get_in_time(hopeless); }), Errc::not_connected);
  } else {
    EXPECT_FALSE(static_cast<bool>(this->get_in_time(hopeless)));
  }
  this->stage().start_servers();
  EXPECT_TRUE(this->stage().comes_in_time([&] { return hold.state() == HoldState::held; }));
  EXPECT_EQ(this->stage().nodes(), before);
  EXPECT_FALSE(is_ready(waiting));
  EXPECT_EQ(told.lost(), 0);
  EXPECT_TRUE(heard.exactly({"acquired", "suspended", "resumed"}));
  hold.release();
  EXPECT_TRUE(heard.exactly({"acquired", "suspended", "resumed", "released"}));
  const auto next = this->get_in_time(waiting);
  EXPECT_EQ(next.state(), HoldState::held);
  if (TestFixture::TestedFace::keeps_node) {
    EXPECT_EQ(next.node(), kPath + "/" + before.at(1));
  }
}

TYPED_TEST(Outage, AReleaseIsMadeUpForAndTokensGoOnRising) {
  Client& client = this->connect();
  const auto lock = this->make(client);
  auto hold = this->acquire(*lock);
  const FencingToken token = hold.token();
  this->stage().stop_servers();
  hold.release();
  auto waiting = this->rival_async_acquire(*lock);
  this->stage().start_servers();
  EXPECT_GT(this->get_in_time(waiting).token(), token);
  EXPECT_TRUE(this->becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
