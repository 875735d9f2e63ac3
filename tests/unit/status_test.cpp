// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/status.h"

#include <vector>

#include <gtest/gtest.h>

#include "acquire_steps.h"

namespace zklock::core {
namespace {

/// Returns all statuses of one sort, in their order.
std::vector<Status> of(StatusSort sort) {
  std::vector<Status> found;
  for (const Status s : acquire_test::kAllStatuses) {
    if (sort_of(s) == sort) found.push_back(s);
  }
  return found;
}

TEST(Status, EveryStatus_HasOneSort) {
  using Statuses = std::vector<Status>;
  EXPECT_EQ(of(StatusSort::done), Statuses{Status::ok});
  EXPECT_EQ(of(StatusSort::outcome_unknown), Statuses{Status::unknown});
  EXPECT_EQ(of(StatusSort::retry_later), Statuses{Status::throttled});
  EXPECT_EQ(of(StatusSort::session), Statuses{Status::session_ended});
  EXPECT_EQ(of(StatusSort::unsent), Statuses{Status::not_sent});
  EXPECT_EQ(of(StatusSort::client_ended), (Statuses{Status::closed, Status::auth_failed}));
  EXPECT_EQ(of(StatusSort::tree_conflict), (Statuses{Status::no_node, Status::node_exists,
                                                     Status::not_empty, Status::bad_version}));
  EXPECT_EQ(of(StatusSort::refused),
            (Statuses{Status::not_connected, Status::no_auth, Status::invalid_acl,
                      Status::quota_exceeded, Status::read_only, Status::too_many_nodes,
                      Status::too_many_watches, Status::server_error}));
}

TEST(Status, UndecidedStatus_IsPassingFailure) {
  for (const Status s : acquire_test::kAllStatuses) {
    const bool decides_nothing =
        s == Status::unknown || s == Status::session_ended || s == Status::throttled;
    EXPECT_EQ(is_temporary_failure(s), decides_nothing) << to_string(s);
  }
}

// Only these statuses leave the outcome unknown. All others have decided the call.
TEST(Status, OutcomeUnknownSort_HasItsError) {
  for (const Status s : acquire_test::kAllStatuses) {
    EXPECT_EQ(error_of(s) == Errc::outcome_unknown, sort_of(s) == StatusSort::outcome_unknown);
  }
}

}  // namespace
}  // namespace zklock::core
