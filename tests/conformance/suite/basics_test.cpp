// SPDX-License-Identifier: Apache-2.0
// Who holds, who waits, and who may let go; for every class, on servers and on the simulation.
#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

template <class P>
class Basics : public SuiteTest<P> {};
using EveryPairing = EveryClassOn<RealStage, FakeStage>;
TYPED_TEST_SUITE(Basics, EveryPairing, PairingName);

TYPED_TEST(Basics, AFreeLockIsGrantedWithOneNodeAndARisingToken) {
  Client& client = this->connect();
  const auto lock = this->make(client);
  EXPECT_FALSE(this->stage().exists(kPath));  // constructing sends nothing
  FencingToken last;
  for (int round = 0; round < 3; ++round) {
    auto hold = this->acquire(*lock);
    EXPECT_TRUE(static_cast<bool>(hold));
    EXPECT_EQ(hold.state(), HoldState::held);
    EXPECT_FALSE(hold.lost().stop_requested());
    EXPECT_GT(hold.token(), last);
    ASSERT_TRUE(this->reaches_nodes(1));
    EXPECT_EQ(hold.node(), this->node_at(0));
    last = hold.token();
    hold.release();
    EXPECT_EQ(hold.state(), HoldState::lost);
    EXPECT_TRUE(client.flush(kPatience));
    EXPECT_TRUE(this->stage().nodes().empty());
  }
}

TYPED_TEST(Basics, OneOfTwoWaitsForTheOther) {
  const auto lock = this->make(this->connect());
  const auto others = this->make(this->connect());
  auto first = this->rival_acquire(*others);
  auto waiting = this->async_acquire(*lock);
  ASSERT_TRUE(this->reaches_nodes(2));
  EXPECT_FALSE(is_ready(waiting));
  const FencingToken token = first.token();
  first.release();
  auto second = get(waiting);
  EXPECT_EQ(second.state(), HoldState::held);
  EXPECT_GT(second.token(), token);

  auto again = this->rival_async_acquire(*others);
  ASSERT_TRUE(this->reaches_nodes(2));
  EXPECT_FALSE(is_ready(again));
  second.release();
  EXPECT_EQ(get(again).state(), HoldState::held);
}

TYPED_TEST(Basics, OwnersExcludeEachOtherUnlessTheClassIsShared) {
  const auto lock = this->make(this->connect());
  const auto others = this->make(this->connect());
  const auto hold = this->acquire(*lock);
  constexpr bool shares = TestFixture::TestedFace::shares;
  EXPECT_EQ(static_cast<bool>(this->try_acquire(*lock)), shares);
  EXPECT_EQ(static_cast<bool>(this->try_acquire(*others)), shares);
  EXPECT_FALSE(static_cast<bool>(this->rival_acquire(*others, {.deadline = Deadline::passed()})));
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(this->reaches_nodes(1));
}

TYPED_TEST(Basics, EqualOwnersNestIfTheClassDoes) {
  Client& client = this->connect();
  const auto lock = this->make(client);
  const auto second_object = this->make(client);
  const Owner owner = Owner::unique();
  auto hold = this->acquire(*lock, {.owner = owner});
  if constexpr (TestFixture::TestedFace::nests) {
    auto nested = this->acquire(*second_object, {.owner = owner});
    EXPECT_EQ(nested.token(), hold.token());
    EXPECT_EQ(nested.node(), hold.node());
    EXPECT_TRUE(this->reaches_nodes(1));
    hold.release();
    EXPECT_EQ(nested.state(), HoldState::held);
    EXPECT_FALSE(static_cast<bool>(this->rival_acquire(*lock, {.deadline = Deadline::passed()})));
  } else {
    auto waiting = this->async_acquire(*second_object, {.owner = owner});
    ASSERT_TRUE(this->reaches_nodes(2));
    EXPECT_FALSE(is_ready(waiting));
    hold.release();
    const auto next = get(waiting);
    EXPECT_EQ(next.state(), HoldState::held);
    if constexpr (TestFixture::TestedFace::named) {
      EXPECT_EQ(next.owner(), owner);
    }
  }
}

TYPED_TEST(Basics, WaitersAreGrantedInTheOrderOfTheirArrival) {
  constexpr std::size_t kWaiters = 6;
  Client& first = this->connect();
  Client& second = this->connect();
  const auto lock = this->make(first);
  const auto others = this->make(second);
  auto hold = this->rival_acquire(*lock);
  std::vector<decltype(this->rival_async_acquire(*lock))> waiting;
  for (std::size_t i = 0; i < kWaiters; ++i) {
    waiting.push_back(this->rival_async_acquire(i % 2 == 0 ? *others : *lock));
    ASSERT_TRUE(this->reaches_nodes(i + 2));  // it has arrived
  }
  for (std::size_t i = 0; i < kWaiters; ++i) {
    const FencingToken before = hold.token();
    hold.release();
    hold = get(waiting[i]);
    EXPECT_GT(hold.token(), before);
    ASSERT_TRUE(this->reaches_nodes(kWaiters - i));
    for (std::size_t j = i + 1; j < kWaiters; ++j) EXPECT_FALSE(is_ready(waiting[j]));
  }
}

TYPED_TEST(Basics, AHandlerIsCalledOnceWithTheHold) {
  const auto lock = this->make(this->connect());
  std::promise<typename TestFixture::Grant> got;
  std::atomic<int> calls{0};
  TestFixture::TestedFace::async_acquire(
      *lock, {}, [&](typename TestFixture::Grant hold, const std::exception_ptr& error) {
        EXPECT_EQ(error, nullptr);
        if (++calls == 1) got.set_value(std::move(hold));
      });
  auto future = got.get_future();
  EXPECT_EQ(get(future).state(), HoldState::held);
  EXPECT_TRUE(this->becomes_empty());
  EXPECT_EQ(calls, 1);
}

TYPED_TEST(Basics, WhatOneThreadAcquiresAnotherReleases) {
  const auto lock = this->make(this->connect());
  const Owner request = Owner::unique();
  auto acquiring = this->in_thread([&] { return this->acquire(*lock, {.owner = request}); });
  auto hold = get(acquiring);
  if constexpr (TestFixture::TestedFace::named) {
    EXPECT_EQ(hold.owner(), request);
  }
  EXPECT_FALSE(static_cast<bool>(this->rival_acquire(*lock, {.deadline = Deadline::passed()})));
  auto releasing = this->in_thread([moved = std::move(hold)]() mutable { moved.release(); });
  get(releasing);
  EXPECT_TRUE(this->becomes_empty());
}

TYPED_TEST(Basics, AHoldReleasesOnceWhateverIsDoneWithIt) {
  const auto lock = this->make(this->connect());
  auto old = this->acquire(*lock);
  auto moved = std::move(old);
  EXPECT_FALSE(static_cast<bool>(old));  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(moved.state(), HoldState::held);
  moved.release();
  const auto newer = this->acquire(*lock);
  moved.release();
  old.release();
  EXPECT_EQ(newer.state(), HoldState::held);
  EXPECT_TRUE(this->stage().exists(newer.node()));
}

TYPED_TEST(Basics, AHoldOutlivesItsLock) {
  Client& client = this->connect();
  auto lock = this->make(client);
  auto hold = this->acquire(*lock);
  lock.reset();
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(this->stage().exists(hold.node()));
  hold.release();
  EXPECT_TRUE(this->becomes_empty());
}

TYPED_TEST(Basics, LockAndUnlock) {
  using Face = typename TestFixture::TestedFace;
  if constexpr (HasLockAndUnlock<Face>) {
    const auto lock = this->make(this->connect());
    const auto others = this->make(this->connect());
    EXPECT_EQ(error_of([&] { Face::unlock(*lock); }), Errc::not_owner);
    Face::lock(*lock);
    EXPECT_TRUE(Face::is_locked(*lock));
    EXPECT_FALSE(static_cast<bool>(this->rival_acquire(*others, {.deadline = Deadline::passed()})));
    auto elsewhere = this->in_thread([&] { return error_of([&] { Face::unlock(*lock); }); });
    const auto refused = get(elsewhere);
    if (Face::thread_owns) {
      EXPECT_EQ(refused, Errc::not_owner);
      EXPECT_TRUE(Face::is_locked(*lock));
      Face::unlock(*lock);
    } else {
      EXPECT_EQ(refused, std::nullopt);
    }
    EXPECT_FALSE(Face::is_locked(*lock));
    EXPECT_EQ(error_of([&] { Face::unlock(*lock); }), Errc::not_owner);  // once too often
    EXPECT_TRUE(this->becomes_empty());
    EXPECT_TRUE(Face::try_lock(*lock));
    Face::unlock(*lock);
  } else {
    GTEST_SKIP() << "has no lock()";
  }
}

TYPED_TEST(Basics, LocksOfOneThreadAreCountedOrExcludeEachOther) {
  using Face = typename TestFixture::TestedFace;
  if constexpr (HasLockAndUnlock<Face>) {
    const auto lock = this->make(this->connect());
    Face::lock(*lock);
    EXPECT_EQ(Face::try_lock(*lock), Face::nests);
    EXPECT_TRUE(this->reaches_nodes(1));
    if (Face::nests) Face::unlock(*lock);
    EXPECT_TRUE(Face::is_locked(*lock));
    EXPECT_TRUE(this->stage().exists(this->node_at(0)));
    Face::unlock(*lock);
    EXPECT_FALSE(Face::is_locked(*lock));
    EXPECT_TRUE(this->becomes_empty());
  } else {
    GTEST_SKIP() << "has no lock()";
  }
}

TYPED_TEST(Basics, UnlockDoesNotTouchAHoldNorAHoldALock) {
  using Face = typename TestFixture::TestedFace;
  if constexpr (HasLockAndUnlock<Face> && Face::nests) {
    const auto lock = this->make(this->connect());
    auto hold = Face::acquire(*lock, {});  // for the calling thread
    EXPECT_EQ(error_of([&] { Face::unlock(*lock); }), Errc::not_owner);
    EXPECT_EQ(hold.state(), HoldState::held);
    Face::lock(*lock);
    hold.release();
    EXPECT_TRUE(Face::is_locked(*lock));
    EXPECT_TRUE(this->stage().exists(this->node_at(0)));
    Face::unlock(*lock);
    EXPECT_TRUE(this->becomes_empty());
  } else {
    GTEST_SKIP() << "lock() and Hold have nothing in common";
  }
}

TYPED_TEST(Basics, ParticipantsAreAllInTheOrderOfArrival) {
  Client& client = this->connect();
  Client& other = this->connect();
  const auto lock = this->make(client);
  const auto others = this->make(other);
  using Face = typename TestFixture::TestedFace;
  EXPECT_TRUE(Face::participants(*lock).empty());
  const Owner first = Owner::unique();
  const Owner second = Owner::unique();
  auto hold = this->acquire(*lock, {.owner = first});
  ASSERT_TRUE(this->reaches_nodes(1));
  auto waiting = this->rival_async_acquire(*others, {.owner = second});
  ASSERT_TRUE(this->reaches_nodes(2));
  const auto all = Face::participants(*lock);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(kPath + "/" + all[0].node, hold.node());
  EXPECT_EQ(all[0].token, hold.token());
  if (Face::named) {
    EXPECT_EQ(all[0].owner, first.to_string());
    EXPECT_EQ(all[1].owner, second.to_string());
  }
  EXPECT_EQ(all[0].application, "conformance");
  EXPECT_TRUE(all[0].holds);
  EXPECT_FALSE(all[1].holds);
  EXPECT_TRUE(all[0].mine);
  EXPECT_FALSE(all[1].mine);
  EXPECT_EQ(all[0].session_id, client.session_id());
  EXPECT_EQ(all[1].session_id, other.session_id());
  const auto of_other = Face::participants(*others);
  ASSERT_EQ(of_other.size(), 2U);
  EXPECT_FALSE(of_other[0].mine);
  EXPECT_TRUE(of_other[1].mine);
  hold.release();
  const auto next = get(waiting);
  EXPECT_GT(next.token(), all[0].token);
  if (Face::keeps_node) {
    EXPECT_EQ(next.token(), all[1].token);
  }
}

TYPED_TEST(Basics, BadPathsAreRefusedAndNothingIsSent) {
  Client& client = this->connect();
  for (const std::string path : {"", "lock", "/", "/a//b", "/a/", "/a/../b", "/zookeeper/x"}) {
    EXPECT_EQ(error_of([&] { return this->make_at(path, client); }), Errc::invalid_path) << path;
  }
  EXPECT_FALSE(this->stage().exists("/a"));
}

TYPED_TEST(Basics, EveryCallOfAClosedClientThrowsClosed) {
  using Face = typename TestFixture::TestedFace;
  Client& client = this->connect();
  const auto lock = this->make(client);
  const auto others = this->make(this->connect());
  auto blocking = this->rival_acquire(*others);
  auto waiting = this->async_acquire(*lock);
  ASSERT_TRUE(this->reaches_nodes(2));
  this->stage().close(client);
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return this->acquire(*lock); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return this->try_acquire(*lock); }), Errc::closed);
  auto refused = this->async_acquire(*lock);
  EXPECT_EQ(error_of([&] { return get(refused); }), Errc::closed);
  EXPECT_EQ(error_of([&] { Face::async_acquire(*lock, {}, [](const auto&, const auto&) {}); }),
            Errc::closed);
  EXPECT_EQ(error_of([&] { return Face::participants(*lock); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return this->make(client); }), Errc::closed);
  EXPECT_TRUE(this->reaches_nodes(1));
  EXPECT_EQ(blocking.state(), HoldState::held);
}

TYPED_TEST(Basics, ClosingTheClientLosesWhatIsHeldAndTellsItOnce) {
  Client& client = this->connect();
  const auto lock = this->make(client);
  const auto others = this->make(this->connect());
  auto hold = this->acquire(*lock);
  const Told told(hold);
  auto waiting = this->rival_async_acquire(*others);
  ASSERT_TRUE(this->reaches_nodes(2));
  this->stage().close(client);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_TRUE(this->stage().comes([&] { return told.lost() == 1; }));
  EXPECT_GT(get(waiting).token(), hold.token());
  hold.release();
  EXPECT_EQ(told.lost(), 1);
}

TYPED_TEST(Basics, DestroyingTheLockWakesItsWaiters) {
  Client& client = this->connect();
  auto lock = this->make(client);
  const auto others = this->make(this->connect());
  const auto blocking = this->rival_acquire(*others);
  auto waiting = this->async_acquire(*lock);
  ASSERT_TRUE(this->reaches_nodes(2));
  lock.reset();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_TRUE(this->reaches_nodes(1));
}

// Every rival adds to what no other may touch meanwhile; who only reads finds both halves equal.
TYPED_TEST(Basics, AHundredThreadsNeverMeet) {
  if (!TestFixture::TestedFace::crowds_servers && !TestFixture::OwnStage::simulated) {
    GTEST_SKIP() << "only on the simulation, for the time it takes";
  }
  constexpr int kThreads = 100;
  constexpr int kRounds = 2;
  const auto lock = this->make(this->connect());
  const auto others = this->make(this->connect());
  // Updated in two steps, so that whoever comes in between spoils them.
  std::atomic<int> one{0};
  std::atomic<int> two{0};
  std::atomic<int> torn{0};
  const auto add = [](std::atomic<int>& number) {
    const int before = number;
    std::this_thread::yield();
    number = before + 1;
  };
  std::vector<std::future<void>> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(this->in_thread([&, i] {
      auto& mine = i % 2 == 0 ? *lock : *others;
      for (int round = 0; round < kRounds; ++round) {
        {
          const auto hold = this->rival_acquire(mine);
          add(one);
          add(two);
        }
        const auto hold = this->acquire(mine);
        if (one != two) ++torn;
      }
    }));
  }
  for (auto& thread : threads) get(thread);
  EXPECT_EQ(one, kThreads * kRounds);
  EXPECT_EQ(two, kThreads * kRounds);
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace zklock::testing
