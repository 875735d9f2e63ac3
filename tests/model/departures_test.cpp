// SPDX-License-Identifier: Apache-2.0
// Who sees to the nodes of those who let go, and need not do it themselves, and when.
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "tests/model/engine_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

constexpr auto kWay = 100ms;     // that it takes to get the lock
constexpr auto kMoment = 200us;  // after which the timer looks

class Departures : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    for (std::size_t i = 0; i < engines_.size(); ++i)
      engines_[i] = lock_.engine(kClient, kPaths[i]);
  }
  void TearDown() override { engines_ = {}; }

  static constexpr std::size_t kClient = 1;
  static constexpr std::array<const char*, 2> kPaths{LockWorld::path, "/locks/b"};

  std::size_t removals() { return client(kClient).requests(Kind::remove); }
  void acquire_all() {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      engines_[i]->acquire(
          {.owner = Owner::unique(),
           .deadline = {},
           .done = [this, i](const recipes::Outcome& got) { held_[i] = got.contender; }});
    }
    client(kClient).cut_off();
    run_for(kWay);
    client(kClient).mend();
    run();
  }
  void release_all() {
    for (auto& each : held_) {
      ASSERT_TRUE(each);
      std::exchange(each, nullptr)->release(core::CountKind::hold);
    }
  }
  void hold_briefly() { release(granted_after(kWay, kClient)); }
  /// The first brief hold: from now on they are expected to be so.
  void expect_brief_holds() {
    hold_briefly();
    reset_counts();
  }

  std::array<std::shared_ptr<recipes::LockEngine>, 2> engines_;  ///< as mutexes keep them
  std::array<std::shared_ptr<recipes::Contender>, 2> held_;
};

TEST_F(Departures, TheFirstHasAThreadWoken) {
  const auto call = granted_after(kWay, kClient);
  lock_.release(call);
  EXPECT_EQ(removals(), 0U);
  run();
  EXPECT_EQ(removals(), 1U);
  expect_rest();
}

TEST_F(Departures, TheNextWakesNobody) {
  expect_brief_holds();
  hold_briefly();
  EXPECT_EQ(removals(), 0U) << "no thread has looked";
  run_for(kMoment);
  EXPECT_EQ(removals(), 1U);
  expect_rest();
}

TEST_F(Departures, AfterAMomentSomebodyIsWokenAgain) {
  expect_brief_holds();
  const auto call = granted_after(kWay, kClient);
  run_for(kMoment);
  reset_counts();
  lock_.release(call);
  EXPECT_EQ(client(kClient).requests(), 0U);
  run();
  EXPECT_EQ(removals(), 1U);
  expect_rest();
}

TEST_F(Departures, AreNotExpectedAfterAHoldOfMoreThanAMoment) {
  expect_brief_holds();
  const auto longer = granted_after(kWay, kClient);
  run_for(kMoment);
  release(longer);
  reset_counts();
  hold_briefly();
  EXPECT_EQ(removals(), 1U) << "a thread was woken";
  expect_rest();
}

TEST_F(Departures, AreNotExpectedAfterALongHold) {
  expect_brief_holds();
  const auto longer = granted_after(kWay, kClient);
  run_for(kWay);
  release(longer);
  reset_counts();
  hold_briefly();
  EXPECT_EQ(removals(), 1U) << "a thread was woken";
  expect_rest();
}

TEST_F(Departures, OneLookSeesToAllPaths) {
  acquire_all();  // makes the paths
  run_for(kWay);
  release_all();
  run();
  reset_counts();
  acquire_all();
  release_all();
  run();
  EXPECT_EQ(removals(), 2U) << "the thread that was woken for the first has seen to both";
  reset_counts();
  acquire_all();
  release_all();
  run();
  EXPECT_EQ(removals(), 0U);
  run_for(kMoment);
  EXPECT_EQ(removals(), 2U);
  expect_rest();
}

TEST_F(Departures, WhoFlushesNeedNotWaitForIt) {
  expect_brief_holds();
  hold_briefly();
  EXPECT_FALSE(lock_.core(kClient).flush(Deadline::passed())) << "it is on its way";
  EXPECT_EQ(removals(), 1U);
  run();
  EXPECT_TRUE(lock_.core(kClient).flush(Deadline::passed()));
  expect_rest();
}

TEST_F(Departures, GoBeforeTheNextOfTheSamePath) {
  expect_brief_holds();
  hold_briefly();
  EXPECT_EQ(removals(), 0U);
  const auto next = granted(kClient);
  EXPECT_EQ(removals(), 1U);
  EXPECT_EQ(client(kClient).requests(Kind::list_children), 0U) << "it was the first";
  release(next);
  expect_rest();
}

TEST_F(Departures, MayComeAfterTheSessionHasEnded) {
  expect_brief_holds();
  hold_briefly();
  client(kClient).expire();
  const auto next = granted(0);
  run_for(kMoment);
  EXPECT_TRUE(lock_.call(next).hold.state() == HoldState::held);
  release(next);
  expect_rest();
}

TEST_F(Departures, NeedNobodyToKeepThePath) {
  expect_brief_holds();
  hold_briefly();
  engines_ = {};
  EXPECT_EQ(removals(), 0U);
  run_for(kMoment);
  EXPECT_EQ(removals(), 1U);
  expect_rest();
}

TEST_F(Departures, GoWithTheSessionWhenTheClientCloses) {
  expect_brief_holds();
  hold_briefly();
  lock_.core(kClient).close();
  EXPECT_EQ(removals(), 0U);
  EXPECT_EQ(lock_.nodes().size(), 0U);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
