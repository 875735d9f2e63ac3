// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/hold_marker.h"

namespace zklock::model {

/// A hold is marked at the first tick after half a session timeout, which is 3 s.
inline constexpr Duration kShortHold = 2900ms;
inline constexpr Duration kLongHold = 4s;

/// Adds queries of the markers to a fixture.
template <class Fixture>
class WithMarkers : public Fixture {
 protected:
  core::HoldMarker marker() {
    const auto names = this->lock_.hold_markers();
    EXPECT_EQ(names.size(), 1U);
    return names.empty() ? core::HoldMarker{} : core::HoldMarker::parse(names.front()).value();
  }
  /// Holds until the hold is marked.
  std::size_t marked(std::size_t client, const LockWorld::Request& request = {}) {
    const auto call = this->granted(client, request);
    this->run_for(kLongHold);
    EXPECT_EQ(this->lock_.hold_markers().size(), 1U);
    return call;
  }
  /// Client 0 holds until the create of the marker is sent. Its network then carries nothing.
  std::size_t marking() {
    const auto call = this->granted(0);
    this->run_for(kShortHold);
    this->client(0).cut_off();
    this->run_for(500ms);
    EXPECT_EQ(this->client(0).requests(OperationKind::transaction), 1U);
    EXPECT_TRUE(this->lock_.hold_markers().empty());
    return call;
  }
  std::int64_t created_ms(std::size_t call) {
    return this->ensemble().find(this->lock_.call(call).node)->created_ms;
  }
  /// Returns the time by the ensemble's clock.
  std::int64_t now_ms() {
    const std::string node = "/time" + std::to_string(++times_);
    EXPECT_EQ(this->ensemble().create(node), Status::ok);
    return this->ensemble().find(node)->created_ms;
  }
  void expect_no_markers() { EXPECT_TRUE(this->lock_.hold_markers().empty()); }

 private:
  int times_ = 0;
};

}  // namespace zklock::model
