// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/watch_registry.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/scarce_memory.h"

namespace zklock::client {
namespace {

using testing::ScarceMemory;

using request::WatchEvent;
using Ids = std::vector<RequestId>;

constexpr RequestId kA{1};
constexpr RequestId kB{2};
constexpr RequestId kC{3};

const std::optional<Watch> kNoWatch;
const std::optional<Watch> kN = Watch{"/n", WatchKind::data};
const std::optional<Watch> kLongPath =
    Watch{"/a/path/that/no/string/has/room/for/within/itself", WatchKind::data};
const std::optional<Watch> kChildrenOfN = Watch{"/n", WatchKind::children};

const WatchRegistry::OnEvent kNothing = [](SessionId, WatchEvent) {};

TEST(WatchRegistry, ArmedInterest_FiresOnce) {
  WatchRegistry watches(100);
  int calls = 0;
  ASSERT_TRUE(watches.expect(kA, {"/n"}, [&](SessionId, WatchEvent) { ++calls; }));
  EXPECT_EQ(watches.fire("/n", WatchEvent::changed), Ids{}) << "not before its reply";
  EXPECT_EQ(watches.settle(kA, ServerWatch::armed), kNoWatch);
  EXPECT_EQ(watches.fire("/other", WatchEvent::changed), Ids{});
  EXPECT_EQ(watches.fire("/n", WatchEvent::changed), Ids{kA});
  const auto on_event = watches.take_fired(kA);
  ASSERT_TRUE(on_event);
  on_event({}, WatchEvent::changed);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(watches.take_fired(kA));
  EXPECT_EQ(watches.fire("/n", WatchEvent::changed), Ids{});
  EXPECT_EQ(watches.cancel(kA), kNoWatch) << "the servers watch no more";
  EXPECT_EQ(watches.watch_count(), 0U);
  EXPECT_EQ(watches.bytes(), 0U);
}

TEST(WatchRegistry, LastInterestCancelled_RemovesTheServerWatch) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
  ASSERT_TRUE(watches.expect(kB, {"/n"}, kNothing));
  EXPECT_EQ(watches.settle(kA, ServerWatch::armed), kNoWatch);
  EXPECT_EQ(watches.settle(kB, ServerWatch::armed), kNoWatch);
  EXPECT_EQ(watches.cancel(kA), kNoWatch);
  EXPECT_EQ(watches.cancel(kA), kNoWatch);
  EXPECT_EQ(watches.cancel(kB), kN);
  EXPECT_EQ(watches.watch_count(), 0U);
}

TEST(WatchRegistry, InterestInFlight_KeepsTheServerWatch) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
  EXPECT_EQ(watches.settle(kA, ServerWatch::armed), kNoWatch);
  ASSERT_TRUE(watches.expect(kB, {"/n"}, kNothing));
  EXPECT_EQ(watches.cancel(kA), kNoWatch) << "B's may be set by now";
  EXPECT_EQ(watches.settle(kB, ServerWatch::nothing), kN) << "but A's still is";
}

// With this number, a search through all interests would exceed the time of any test.
TEST(WatchRegistry, ManyInterestsInOnePath_CancelledIndividually) {
  constexpr std::uint64_t kMany = 300'000;
  const auto stays = [](std::uint64_t id) { return id % 1000 == 0; };
  const auto every = [](auto does) {
    for (std::uint64_t id = 1; id <= kMany; ++id) does(id);
  };
  WatchRegistry watches(100);
  every([&](std::uint64_t id) { ASSERT_TRUE(watches.expect(RequestId{id}, *kN, kNothing)); });
  every([&](std::uint64_t id) {
    ASSERT_EQ(watches.settle(RequestId{id}, ServerWatch::armed), kNoWatch);
  });
  Ids others;
  every([&](std::uint64_t id) {
    if (stays(id)) return others.push_back(RequestId{id});
    ASSERT_EQ(watches.cancel(RequestId{id}), kNoWatch);
  });
  EXPECT_EQ(watches.fire("/n", WatchEvent::changed), others);
  EXPECT_EQ(watches.watch_count(), 0U);
}

TEST(WatchRegistry, Event_KeepsTheInterestsInFlight) {
  for (const RequestId late : {kA, kB, kC}) {
    WatchRegistry watches(100);
    Ids others{kA, kB, kC};
    std::erase(others, late);
    for (const RequestId id : {kA, kB, kC}) ASSERT_TRUE(watches.expect(id, *kN, kNothing));
    for (const RequestId id : others) EXPECT_EQ(watches.settle(id, ServerWatch::armed), kNoWatch);
    EXPECT_EQ(watches.fire("/n", WatchEvent::changed), others);
    EXPECT_EQ(watches.settle(late, ServerWatch::armed), kNoWatch);
    EXPECT_EQ(watches.cancel(late), kN);
  }
}

TEST(WatchRegistry, CancelledBeforeTheReply_RemovesTheWatchIfSet) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
  EXPECT_EQ(watches.cancel(kA), kNoWatch) << "not known yet whether it is set";
  EXPECT_EQ(watches.settle(kA, ServerWatch::armed), kN);
  ASSERT_TRUE(watches.expect(kB, {"/n"}, kNothing));
  EXPECT_EQ(watches.cancel(kB), kNoWatch);
  EXPECT_EQ(watches.settle(kB, ServerWatch::nothing), kNoWatch) << "nothing was set";
  ASSERT_TRUE(watches.expect(kC, {"/n"}, kNothing));
  EXPECT_EQ(watches.settle(kC, ServerWatch::kept), kN) << "exists on a missing node";
  EXPECT_EQ(watches.bytes(), 0U);
}

TEST(WatchRegistry, CancelledBetweenEventAndCall_IsNotCalled) {
  WatchRegistry watches(100);
  for (const RequestId id : {kA, kB}) {
    ASSERT_TRUE(watches.expect(id, {"/n"}, kNothing));
    EXPECT_EQ(watches.settle(id, ServerWatch::armed), kNoWatch);
  }
  EXPECT_EQ(watches.fire("/n", WatchEvent::changed), (Ids{kA, kB}));
  EXPECT_EQ(watches.cancel(kB), kNoWatch);
  EXPECT_TRUE(watches.take_fired(kA));
  EXPECT_FALSE(watches.take_fired(kB));
}

TEST(WatchRegistry, Event_FiresTheWatchesOfItsKind) {
  const auto fired_by = [](WatchEvent event) {
    WatchRegistry watches(100);
    EXPECT_TRUE(watches.expect(kC, *kN, kNothing));
    EXPECT_TRUE(watches.expect(kA, *kChildrenOfN, kNothing));
    EXPECT_TRUE(watches.expect(kB, *kN, kNothing));
    for (const RequestId id : {kA, kB, kC})
      EXPECT_EQ(watches.settle(id, ServerWatch::armed), kNoWatch);
    return watches.fire("/n", event);
  };
  EXPECT_EQ(fired_by(WatchEvent::created), (Ids{kB, kC}));
  EXPECT_EQ(fired_by(WatchEvent::changed), (Ids{kB, kC}));
  EXPECT_EQ(fired_by(WatchEvent::children), Ids{kA});
  EXPECT_EQ(fired_by(WatchEvent::deleted), (Ids{kA, kB, kC})) << "in the order of their requests";
}

TEST(WatchRegistry, DataAndChildWatch_AreIndependent) {
  WatchRegistry watches(4);
  ASSERT_TRUE(watches.expect(kA, *kN, kNothing));
  ASSERT_TRUE(watches.expect(kB, *kChildrenOfN, kNothing));
  EXPECT_EQ(watches.bytes(), 4U) << "both are registered at the next server";
  EXPECT_EQ(watches.settle(kA, ServerWatch::armed), kNoWatch);
  EXPECT_EQ(watches.settle(kB, ServerWatch::armed), kNoWatch);
  EXPECT_EQ(watches.fire("/n", WatchEvent::changed), Ids{kA});
  EXPECT_TRUE(watches.begin_removal(*kN));
  EXPECT_FALSE(watches.begin_removal(*kChildrenOfN));
  EXPECT_EQ(watches.cancel(kB), kChildrenOfN);
  EXPECT_TRUE(watches.begin_removal(*kChildrenOfN));
  EXPECT_EQ(watches.bytes(), 0U);
}

TEST(WatchRegistry, PathWantedAgain_WatchIsNotRemoved) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
  EXPECT_EQ(watches.settle(kA, ServerWatch::armed), kNoWatch);
  EXPECT_EQ(watches.cancel(kA), kN);
  ASSERT_TRUE(watches.expect(kB, {"/n"}, kNothing));
  EXPECT_FALSE(watches.begin_removal(*kN));
  EXPECT_EQ(watches.settle(kB, ServerWatch::nothing), kN) << "the servers' watch is B's by then";
  EXPECT_TRUE(watches.begin_removal(*kN));
}

TEST(WatchRegistry, ByteLimit_CountsDistinctPaths) {
  WatchRegistry watches(10);
  EXPECT_TRUE(watches.expect(kA, {"/12345"}, kNothing));
  EXPECT_TRUE(watches.expect(kB, {"/12345"}, kNothing));
  EXPECT_EQ(watches.bytes(), 6U);
  EXPECT_FALSE(watches.expect(kC, {"/1234"}, kNothing));
  EXPECT_EQ(watches.watch_count(), 1U);
  EXPECT_TRUE(watches.expect(kC, {"/123"}, kNothing));
  EXPECT_EQ(watches.settle(kA, ServerWatch::nothing), kNoWatch);
  EXPECT_EQ(watches.bytes(), 10U);
  EXPECT_EQ(watches.settle(kB, ServerWatch::nothing), kNoWatch);
  EXPECT_EQ(watches.bytes(), 4U);
}

TEST(WatchRegistry, PathsWithUnreliableEvents_AreListed) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
  EXPECT_EQ(watches.settle(kA, ServerWatch::unreadable), kNoWatch);
  ASSERT_TRUE(watches.expect(kB, {"/m"}, kNothing));
  EXPECT_EQ(watches.settle(kB, ServerWatch::armed), kNoWatch);
  EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/n"});
  EXPECT_EQ(watches.cancel(kA), kN);
  EXPECT_TRUE(watches.begin_presence_checks().empty());
}

TEST(WatchRegistry, PresenceCheckUnanswered_OthersBegin) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
  EXPECT_EQ(watches.settle(kA, ServerWatch::refused), kNoWatch);
  EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/n"});
  ASSERT_TRUE(watches.expect(kB, {"/m"}, kNothing));
  EXPECT_EQ(watches.settle(kB, ServerWatch::refused), kNoWatch);
  EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/m"});
  EXPECT_TRUE(watches.begin_presence_checks().empty());
  watches.end_presence_check("/n");
  EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/n"});
}

TEST(WatchRegistry, WatchEndsDuringPresenceCheck_NextIsChecked) {
  WatchRegistry watches(100);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
    EXPECT_EQ(watches.settle(kA, ServerWatch::refused), kNoWatch);
    EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/n"});
    EXPECT_EQ(watches.cancel(kA), kNoWatch);
    watches.end_presence_check("/n");
  }
}

TEST(WatchRegistry, WatchRefused_NothingIsRemoved) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
  EXPECT_EQ(watches.settle(kA, ServerWatch::refused), kNoWatch);
  EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/n"});
  EXPECT_FALSE(watches.is_at_servers({"/n"}));
  EXPECT_EQ(watches.cancel(kA), kNoWatch);
  EXPECT_FALSE(watches.has_unreadable_paths());

  // Another request sets the watch, before or after the refusal.
  for (const bool refused_first : {true, false}) {
    ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
    ASSERT_TRUE(watches.expect(kB, {"/n"}, kNothing));
    EXPECT_EQ(watches.settle(kA, refused_first ? ServerWatch::refused : ServerWatch::armed),
              kNoWatch);
    EXPECT_EQ(watches.settle(kB, refused_first ? ServerWatch::armed : ServerWatch::refused),
              kNoWatch);
    EXPECT_TRUE(watches.is_at_servers({"/n"}));
    EXPECT_EQ(watches.cancel(kA), kNoWatch);
    EXPECT_EQ(watches.cancel(kB), kN);
    EXPECT_FALSE(watches.is_at_servers({"/n"}));
  }
}

TEST(WatchRegistry, EndOfInterest_NeedsNoMemory) {
  WatchRegistry watches(100);
  for (const RequestId id : {kA, kB, kC}) ASSERT_TRUE(watches.expect(id, *kLongPath, kNothing));
  EXPECT_EQ(watches.settle(kC, ServerWatch::armed), kNoWatch);
  std::optional<Watch> a_failed;
  std::optional<Watch> b_armed;
  std::optional<Watch> c_cancelled;
  {
    const ScarceMemory none(0);
    a_failed = watches.settle(kA, ServerWatch::nothing);
    b_armed = (void(watches.cancel(kB)), watches.settle(kB, ServerWatch::armed));
    c_cancelled = watches.cancel(kC);
    EXPECT_FALSE(none.ran_out());
  }
  EXPECT_EQ(a_failed, kNoWatch);
  EXPECT_EQ(b_armed, kNoWatch);
  EXPECT_EQ(c_cancelled, kLongPath);
  EXPECT_EQ(watches.watch_count(), 0U);
}

TEST(WatchRegistry, SessionEnded_ClearsAll) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, {"/n"}, kNothing));
  EXPECT_EQ(watches.settle(kA, ServerWatch::armed), kNoWatch);
  watches.clear();
  EXPECT_EQ(watches.fire("/n", WatchEvent::changed), Ids{});
  EXPECT_EQ(watches.cancel(kA), kNoWatch);
  EXPECT_EQ(watches.settle(kA, ServerWatch::armed), kNoWatch);
  EXPECT_EQ(watches.bytes(), 0U);
}

}  // namespace
}  // namespace zklock::client
