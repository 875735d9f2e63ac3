// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "zklock/core/child_nodes.h"
#include "zklock/core/hold_marker.h"
#include "zklock/core/lock_delay.h"

namespace zklock::core {
namespace {

TEST(ChildKind, EveryName_HasOneKind) {
  const std::map<std::string, ChildKind> kinds{
      {"lock-0000000042", ChildKind::contender},
      {"__WRIT__0000000042", ChildKind::contender},
      {"permits-2-of-4-0000000042", ChildKind::contender},
      {"weight-7-0000000042", ChildKind::contender},
      {HoldMarker{1'700'000'000'123, {42}}.name(), ChildKind::hold_marker},
      {DelayMarker::make(std::chrono::milliseconds(1), {7}, {42}).name, ChildKind::delay_marker},
      {release_request_node({42}), ChildKind::release_request},
      {proclamation_node({42}), ChildKind::proclamation},
      {"count", ChildKind::permit_count},
      {"count-0000000042", ChildKind::other},
      {"delay-0-7-0000000042", ChildKind::other},
      {"held-7-42", ChildKind::other},
      {"config", ChildKind::other},
      {"", ChildKind::other}};
  for (const auto& [name, kind] : kinds) EXPECT_EQ(kind_of(name), kind) << name;
}

}  // namespace
}  // namespace zklock::core
