// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/fault.h"

#include <algorithm>

namespace zklock::simulator {

namespace {

constexpr std::array<std::string_view, kFaultClasses> kNames = {
    "pause_short",
    "pause_long",
    "cut_off_short",
    "cut_off_long",
    "follower_isolated",
    "leader_isolated",
    "leader_pauses",
    "clock_drift",
    "wall_clock_jump",
    "slow_server",
    "refused",
    "dns_fails_first",
    "dns_fails_later",
    "timeout_changes",
    "server_crash",
    "leader_crash",
    "all_servers_down",
    "session_moved",
    "session_expired",
    "old_node_visible",
    "server_lags",
    "watch_late",
    "watch_spurious",
    "recovery_on_laggard",
    "auth_failed",
    "read_only",
    "no_auth",
    "quota",
    "throttled",
    "server_error",
    "lost_reply_create",
    "lost_reply_count",
    "lost_reply_list",
    "lost_reply_get",
    "lost_reply_watch",
    "lost_reply_check",
    "lost_reply_delete",
    "lost_reply_multi",
    "lost_reply_parents",
    "lost_request_create",
    "lost_request_count",
    "lost_request_list",
    "lost_request_get",
    "lost_request_watch",
    "lost_request_check",
    "lost_request_delete",
    "lost_request_multi",
    "lost_request_parents",
    "parent_deleted",
    "containers_reaped",
    "foreign_children",
    "foreign_contender",
    "name_ahead",
    "node_deleted",
    "node_copied",
    "node_written",
    "sequence_near_end",
    "sequence_at_end",
    "sequence_negative",
    "killed",
    "client_closed",
    "closed_disconnected",
    "object_destroyed",
    "cancel_at_message",
    "handler_throws",
    "listener_throws",
    "handlers_blocked",
    "closed_by_handler",
    "thread_exits",
    "forked",
    "image_replaced",
};
static_assert(!kNames.back().empty());

}  // namespace

std::string_view name_of(Fault fault) noexcept {
  return kNames[static_cast<std::size_t>(fault)];
}

std::size_t fault_named(std::string_view name) noexcept {
  return static_cast<std::size_t>(std::ranges::find(kNames, name) - kNames.begin());
}

}  // namespace zklock::simulator
