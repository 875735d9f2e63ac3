// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/status.h"

#include <iterator>

#include <gtest/gtest.h>

#include "acquire_steps.h"

namespace zklock::core {
namespace {

struct Meaning {
  Status status;
  StatusSort sort;
  Errc error;
};
constexpr Meaning kMeanings[] = {
    {Status::ok, StatusSort::done, Errc::server_error},
    {Status::unknown, StatusSort::outcome_unknown, Errc::outcome_unknown},
    {Status::session_ended, StatusSort::session, Errc::server_error},
    {Status::not_sent, StatusSort::unsent, Errc::server_error},
    {Status::not_connected, StatusSort::refused, Errc::not_connected},
    {Status::throttled, StatusSort::retry_later, Errc::server_error},
    {Status::closed, StatusSort::client_ended, Errc::closed},
    {Status::no_node, StatusSort::tree_conflict, Errc::no_node},
    {Status::node_exists, StatusSort::tree_conflict, Errc::node_exists},
    {Status::not_empty, StatusSort::tree_conflict, Errc::not_empty},
    {Status::bad_version, StatusSort::tree_conflict, Errc::version_mismatch},
    {Status::no_auth, StatusSort::refused, Errc::no_auth},
    {Status::auth_failed, StatusSort::client_ended, Errc::auth_failed},
    {Status::invalid_acl, StatusSort::refused, Errc::invalid_acl},
    {Status::quota_exceeded, StatusSort::refused, Errc::quota_exceeded},
    {Status::read_only, StatusSort::refused, Errc::read_only},
    {Status::too_many_nodes, StatusSort::refused, Errc::too_many_nodes},
    {Status::too_many_watches, StatusSort::refused, Errc::too_many_watches},
    {Status::server_error, StatusSort::refused, Errc::server_error}};
static_assert(std::size(kMeanings) == std::size(acquire_test::kAllStatuses));

TEST(Status, EveryStatus_HasItsSortAndError) {
  for (const Meaning& each : kMeanings) {
    EXPECT_EQ(sort_of(each.status), each.sort) << to_string(each.status);
    EXPECT_EQ(error_of(each.status), each.error) << to_string(each.status);
  }
}

TEST(Status, UndecidedStatus_IsPassingFailure) {
  for (const Status s : acquire_test::kAllStatuses) {
    const bool decides_nothing =
        s == Status::unknown || s == Status::session_ended || s == Status::throttled;
    EXPECT_EQ(is_temporary_failure(s), decides_nothing) << to_string(s);
  }
}

}  // namespace
}  // namespace zklock::core
