// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zklock::simulator {

/// The classes of faults. A fault is selected and counted by its class.
enum class Fault : std::uint8_t {
  // Time and network.
  pause_short,        ///< the process stops within its leases
  pause_long,         ///< the process stops beyond its session
  cut_off_short,      ///< the network stalls, then delivers everything
  cut_off_long,       ///< the client abandons the stalled connection
  follower_isolated,  ///< the client's server loses the leader
  leader_isolated,    ///< the client's server is the deposed leader
  leader_pauses,      ///< the leader stands still; the other servers run
  clock_drift,        ///< process clocks drift by up to 2 %
  wall_clock_jump,
  slow_server,
  refused,          ///< no server accepts the connection
  dns_fails_first,  ///< host names unknown to a new process
  dns_fails_later,  ///< host names unknown after an expiry
  timeout_changes,  ///< the next server grants another timeout
  // Servers.
  server_crash,      ///< the client moves to another server
  leader_crash,      ///< all connections break, within the leases
  all_servers_down,  ///< beyond the sessions
  session_moved,     ///< requests reach the old server, or none
  session_expired,   ///< immediately
  old_node_visible,  ///< session_expired; the other servers lag
  server_lags,
  watch_late,  ///< a server lags for a moment
  watch_spurious,
  recovery_on_laggard,
  /// The server refuses the credential after a reconnect. This state is final.
  auth_failed,
  read_only,
  no_auth,
  quota,
  throttled,
  server_error,
  // Lost replies and requests.
  lost_reply_create,
  lost_reply_count,
  lost_reply_list,
  lost_reply_get,
  lost_reply_watch,
  lost_reply_check,
  lost_reply_delete,
  lost_reply_multi,
  lost_reply_parents,
  lost_request_create,
  lost_request_count,
  lost_request_list,
  lost_request_get,
  lost_request_watch,
  lost_request_check,
  lost_request_delete,
  lost_request_multi,
  lost_request_parents,
  // The tree.
  parent_deleted,
  containers_reaped,
  foreign_children,
  foreign_contender,
  /// A contender's name, created by hand. The counter reaches it later.
  name_ahead,
  node_deleted,
  node_copied,  ///< with the id of its attempt
  node_written,
  sequence_near_end,
  sequence_at_end,
  sequence_negative,
  // The process.
  killed,
  client_closed,
  closed_disconnected,
  object_destroyed,
  cancel_at_message,  ///< at the client's next message
  handler_throws,
  listener_throws,
  handlers_blocked,   ///< for up to two session timeouts
  closed_by_handler,  ///< a handler closes its own client
  thread_exits,       ///< while it holds locks
  /// A real fork(). The child has no hold, and its calls have no effect.
  forked,
  /// exec(): sent requests are executed, and no process reads the replies.
  image_replaced,
};

inline constexpr std::size_t kFaultClasses = static_cast<std::size_t>(Fault::image_replaced) + 1;

/// How often each was injected.
using FaultCounts = std::array<std::uint64_t, kFaultClasses>;

std::string_view name_of(Fault fault) noexcept;
/// Returns kFaultClasses if no fault has this name.
std::size_t fault_named(std::string_view name) noexcept;

}  // namespace zklock::simulator
