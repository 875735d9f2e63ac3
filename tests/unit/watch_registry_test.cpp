// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/watch_registry.h"

#include <cstdint>
#include <optional>
#include <string>
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

/// Registers an interest, and passes the reply to its request.
void arm(WatchRegistry& watches, RequestId id, const Watch& watch = {"/n"},
         ServerWatch reply = ServerWatch::armed) {
  ASSERT_TRUE(watches.expect(id, watch, kNothing));
  EXPECT_EQ(watches.settle(id, reply), kNoWatch);
}

TEST(WatchRegistry, InterestInFlight_KeepsTheServerWatch) {
  WatchRegistry watches(100);
  arm(watches, kA);
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

TEST(WatchRegistry, PathWantedAgain_WatchIsNotRemoved) {
  WatchRegistry watches(100);
  arm(watches, kA);
  EXPECT_EQ(watches.cancel(kA), kN);
  ASSERT_TRUE(watches.expect(kB, {"/n"}, kNothing));
  EXPECT_FALSE(watches.begin_removal(*kN));
  EXPECT_EQ(watches.settle(kB, ServerWatch::nothing), kN) << "the servers' watch is B's by then";
  EXPECT_TRUE(watches.begin_removal(*kN));
}

TEST(WatchRegistry, PresenceCheckUnanswered_OthersBegin) {
  WatchRegistry watches(100);
  arm(watches, kA, {"/n"}, ServerWatch::refused);
  EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/n"});
  arm(watches, kB, {"/m"}, ServerWatch::refused);
  EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/m"});
  EXPECT_TRUE(watches.begin_presence_checks().empty());
  watches.end_presence_check("/n");
  EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/n"});
}

TEST(WatchRegistry, WatchEndsDuringPresenceCheck_NextIsChecked) {
  WatchRegistry watches(100);
  for (int i = 0; i < 2; ++i) {
    arm(watches, kA, {"/n"}, ServerWatch::refused);
    EXPECT_EQ(watches.begin_presence_checks(), std::vector<std::string>{"/n"});
    EXPECT_EQ(watches.cancel(kA), kNoWatch);
    watches.end_presence_check("/n");
  }
}

TEST(WatchRegistry, WatchRefused_NothingIsRemoved) {
  WatchRegistry watches(100);
  arm(watches, kA, {"/n"}, ServerWatch::refused);
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
  arm(watches, kA);
  watches.clear();
  EXPECT_EQ(watches.fire("/n", WatchEvent::changed), Ids{});
  EXPECT_EQ(watches.cancel(kA), kNoWatch);
  EXPECT_EQ(watches.settle(kA, ServerWatch::armed), kNoWatch);
  EXPECT_EQ(watches.bytes(), 0U);
}

}  // namespace
}  // namespace zklock::client
