// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/watch_registry.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::client {
namespace {

using Ids = std::vector<RequestId>;

constexpr RequestId kA{1};
constexpr RequestId kB{2};
constexpr RequestId kC{3};

const WatchRegistry::OnEvent kNothing = [](SessionId, request::WatchEvent) {};

TEST(WatchRegistry, AnArmedInterestFiresOnce) {
  WatchRegistry watches(100);
  int calls = 0;
  ASSERT_TRUE(watches.expect(kA, "/n", [&](SessionId, request::WatchEvent) { ++calls; }));
  EXPECT_EQ(watches.fire("/n"), Ids{}) << "not before its reply";
  EXPECT_EQ(watches.arm(kA), "");
  EXPECT_EQ(watches.fire("/other"), Ids{});
  EXPECT_EQ(watches.fire("/n"), Ids{kA});
  const auto on_event = watches.take_fired(kA);
  ASSERT_TRUE(on_event);
  on_event({}, request::WatchEvent::changed);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(watches.take_fired(kA));
  EXPECT_EQ(watches.fire("/n"), Ids{});
  EXPECT_EQ(watches.cancel(kA), "") << "the servers watch no more";
  EXPECT_EQ(watches.paths(), 0U);
  EXPECT_EQ(watches.bytes(), 0U);
}

TEST(WatchRegistry, TheLastInterestRemovesTheServersWatch) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, "/n", kNothing));
  ASSERT_TRUE(watches.expect(kB, "/n", kNothing));
  EXPECT_EQ(watches.arm(kA), "");
  EXPECT_EQ(watches.arm(kB), "");
  EXPECT_EQ(watches.cancel(kA), "");
  EXPECT_EQ(watches.cancel(kA), "");
  EXPECT_EQ(watches.cancel(kB), "/n");
  EXPECT_EQ(watches.paths(), 0U);
}

TEST(WatchRegistry, AnInterestUnderWayKeepsTheServersWatch) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, "/n", kNothing));
  EXPECT_EQ(watches.arm(kA), "");
  ASSERT_TRUE(watches.expect(kB, "/n", kNothing));
  EXPECT_EQ(watches.cancel(kA), "") << "B's may be set by now";
  EXPECT_EQ(watches.fail(kB, false), "/n") << "but A's still is";
}

TEST(WatchRegistry, CancelledBeforeTheReply) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, "/n", kNothing));
  EXPECT_EQ(watches.cancel(kA), "") << "not known yet whether it is set";
  EXPECT_EQ(watches.arm(kA), "/n");
  ASSERT_TRUE(watches.expect(kB, "/n", kNothing));
  EXPECT_EQ(watches.cancel(kB), "");
  EXPECT_EQ(watches.fail(kB, false), "") << "nothing was set";
  ASSERT_TRUE(watches.expect(kC, "/n", kNothing));
  EXPECT_EQ(watches.fail(kC, true), "/n") << "exists on a missing node";
  EXPECT_EQ(watches.bytes(), 0U);
}

TEST(WatchRegistry, AnEventIsForThoseWhoseReplyCameBefore) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, "/n", kNothing));
  EXPECT_EQ(watches.arm(kA), "");
  ASSERT_TRUE(watches.expect(kB, "/n", kNothing));
  EXPECT_EQ(watches.fire("/n"), Ids{kA}) << "B was asked after the event";
  EXPECT_EQ(watches.arm(kB), "");
  EXPECT_EQ(watches.fire("/n"), Ids{kB});
}

TEST(WatchRegistry, CancelledBetweenEventAndCall) {
  WatchRegistry watches(100);
  for (const RequestId id : {kA, kB}) {
    ASSERT_TRUE(watches.expect(id, "/n", kNothing));
    EXPECT_EQ(watches.arm(id), "");
  }
  EXPECT_EQ(watches.fire("/n"), (Ids{kA, kB}));
  EXPECT_EQ(watches.cancel(kB), "");
  EXPECT_TRUE(watches.take_fired(kA));
  EXPECT_FALSE(watches.take_fired(kB));
}

TEST(WatchRegistry, ARemovalIsNotSentWhenThePathIsWantedAgain) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, "/n", kNothing));
  EXPECT_EQ(watches.arm(kA), "");
  EXPECT_EQ(watches.cancel(kA), "/n");
  ASSERT_TRUE(watches.expect(kB, "/n", kNothing));
  EXPECT_FALSE(watches.may_remove("/n"));
  EXPECT_EQ(watches.fail(kB, false), "/n") << "the servers' watch is B's by then";
  EXPECT_TRUE(watches.may_remove("/n"));
}

TEST(WatchRegistry, CapsTheBytesOfDistinctPaths) {
  WatchRegistry watches(10);
  EXPECT_TRUE(watches.expect(kA, "/12345", kNothing));
  EXPECT_TRUE(watches.expect(kB, "/12345", kNothing));
  EXPECT_EQ(watches.bytes(), 6U);
  EXPECT_FALSE(watches.expect(kC, "/1234", kNothing));
  EXPECT_EQ(watches.paths(), 1U);
  EXPECT_TRUE(watches.expect(kC, "/123", kNothing));
  EXPECT_EQ(watches.fail(kA, false), "");
  EXPECT_EQ(watches.bytes(), 10U);
  EXPECT_EQ(watches.fail(kB, false), "");
  EXPECT_EQ(watches.bytes(), 4U);
}

TEST(WatchRegistry, ListsThePathsWhoseEventsMayNotCome) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, "/n", kNothing));
  EXPECT_EQ(watches.arm(kA, true), "");
  ASSERT_TRUE(watches.expect(kB, "/m", kNothing));
  EXPECT_EQ(watches.arm(kB), "");
  EXPECT_EQ(watches.mute_paths(), std::vector<std::string>{"/n"});
  EXPECT_EQ(watches.cancel(kA), "/n");
  EXPECT_TRUE(watches.mute_paths().empty());
}

TEST(WatchRegistry, TheEndOfTheSessionForgetsAll) {
  WatchRegistry watches(100);
  ASSERT_TRUE(watches.expect(kA, "/n", kNothing));
  EXPECT_EQ(watches.arm(kA), "");
  watches.clear();
  EXPECT_EQ(watches.fire("/n"), Ids{});
  EXPECT_EQ(watches.cancel(kA), "");
  EXPECT_EQ(watches.arm(kA), "");
  EXPECT_EQ(watches.bytes(), 0U);
}

}  // namespace
}  // namespace zklock::client
