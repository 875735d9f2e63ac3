// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/hold_marker.h"

#include <chrono>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "acquire_steps.h"
#include "state_table.h"
#include "zklock/core/znode_name.h"

namespace zklock::core {
namespace {

using namespace std::chrono_literals;
using acquire_test::kAllStatuses;
using Removal = HoldMarkerState::Removal;
using state_table::Transitions;

TEST(HoldMarker, Age_IsHalfATimeoutOrFiveSeconds) {
  EXPECT_EQ(hold_marker_age(1s), 500ms);
  EXPECT_EQ(hold_marker_age(10s), 5s);
  EXPECT_EQ(hold_marker_age(40s), 5s);
}

std::string name_of(HoldMarkerState::State state) {
  constexpr const char* kNames[] = {"none", "sending", "present", "possible", "refused", "ended"};
  return kNames[static_cast<std::size_t>(state)];
}

/// Records the transition of one input.
template <class Give>
HoldMarkerState record(HoldMarkerState marker, const std::string& input, const std::string& status,
                       Give give, Transitions& made) {
  const std::string before = name_of(marker.state());
  give(marker);
  const std::string next = name_of(marker.state());
  if (next != before) made.insert({before, input, next, status});
  return marker;
}

void explore(const HoldMarkerState& marker, int depth, Transitions& made) {
  if (depth == 0) return;
  for (const Duration held_for : {4s, 5s}) {
    const auto tick = [held_for](HoldMarkerState& m) { (void)m.on_tick(held_for, 10s); };
    explore(record(marker, "on_tick", "", tick, made), depth - 1, made);
  }
  for (const Status status : kAllStatuses) {
    const auto reply = [status](HoldMarkerState& m) { m.on_created(status); };
    explore(record(marker, "on_created", acquire_test::name_of(status), reply, made), depth - 1,
            made);
  }
  const auto release = [](HoldMarkerState& m) { (void)m.on_release(); };
  explore(record(marker, "on_release", "", release, made), depth - 1, made);
}

TEST(HoldMarkerTable, Table_EqualsMachine) {
  Transitions made;
  explore({}, 3, made);
  const auto statuses_of = [](const std::string& input) {
    state_table::Statuses all;
    if (input != "on_created") return all;
    for (const Status status : kAllStatuses) all.insert(acquire_test::name_of(status));
    return all;
  };
  EXPECT_EQ(state_table::differences(
                made, state_table::transitions_of("zklock/core/hold_marker.h", statuses_of)),
            "");
}

TEST(HoldMarkerState, CreateUnanswered_IsDeletedAfterTheNode) {
  HoldMarkerState marker;
  EXPECT_TRUE(marker.on_tick(5s, 10s));
  EXPECT_FALSE(marker.on_tick(6s, 10s)) << "it is sent once";
  EXPECT_TRUE(marker.may_exist());
  EXPECT_EQ(marker.on_release(), Removal::after_node);
  marker.on_created(Status::ok);
  EXPECT_FALSE(marker.may_exist()) << "the release has deleted it";
  EXPECT_EQ(marker.on_release(), Removal::none) << "a second delete has nothing to do";
}

TEST(HoldMarkerState, EachReply_DecidesTheRemoval) {
  struct Case {
    Status status;
    Removal removal;
    bool is_sent_again;
  };
  for (const auto& [status, removal, is_sent_again] :
       {Case{Status::ok, Removal::with_node, false},
        Case{Status::unknown, Removal::after_node, false},
        Case{Status::quota_exceeded, Removal::none, false},
        Case{Status::not_sent, Removal::none, true}}) {
    HoldMarkerState marker;
    EXPECT_TRUE(marker.on_tick(5s, 10s));
    marker.on_created(status);
    EXPECT_EQ(marker.may_exist(), removal != Removal::none) << to_string(status);
    HoldMarkerState later = marker;
    EXPECT_EQ(later.on_tick(6s, 10s), is_sent_again) << to_string(status);
    EXPECT_EQ(marker.on_release(), removal) << to_string(status);
    EXPECT_FALSE(marker.may_exist()) << to_string(status);
  }
}

}  // namespace
}  // namespace zklock::core
