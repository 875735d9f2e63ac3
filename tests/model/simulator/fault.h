// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zklock::simulator {

/// What can go wrong: one class each, by which it is chosen and counted.
enum class Fault : std::uint8_t {
  // time and network
  pause_short,        ///< the process stands still for less than its leases
  pause_long,         ///< for longer than its session
  cut_off_short,      ///< the network carries nothing for a while, and then all of it
  cut_off_long,       ///< until the client gives the connection up
  follower_isolated,  ///< the client's server loses the leader
  leader_isolated,    ///< the client's server is the leader, and the others choose another
  clock_drift,        ///< the rates of the clocks differ by up to 2 %
  wall_clock_jump,
  slow_server,
  refused,          ///< no server takes the connection
  dns_fails_first,  ///< a process starts, and the servers' names are unknown
  dns_fails_later,  ///< they are when a session has expired, and there is to be another
  timeout_changes,  ///< the next server grants another session timeout
  // servers
  server_crash,      ///< the client's server, and another takes it
  leader_crash,      ///< all connections break, within the leases
  all_servers_down,  ///< for longer than the sessions
  session_moved,     ///< what was sent arrives at the old server, or never
  session_expired,   ///< at once
  old_node_visible,  ///< the same, and the others' servers lag behind
  server_lags,
  watch_late,  ///< a server lags for a moment
  watch_spurious,
  recovery_on_laggard,
  auth_failed,  ///< the servers refuse the credential of who reconnects, for ever
  read_only,
  no_auth,
  quota,
  throttled,
  server_error,
  // replies, and requests, that are lost
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
  // the tree
  parent_deleted,
  containers_reaped,
  foreign_children,
  foreign_contender,
  name_ahead,  ///< of a contender, made by hand: the counter comes to it later
  node_deleted,
  node_copied,  ///< with the attempt's id in it
  node_written,
  sequence_near_end,
  sequence_at_end,
  sequence_negative,
  // the process
  killed,
  client_closed,
  closed_disconnected,
  object_destroyed,
  cancel_at_news,  ///< at the very moment when its client hears something
  handler_throws,
  listener_throws,
  handlers_blocked,   ///< for up to two sessions
  closed_by_handler,  ///< a handler closes the client that it is called for
  thread_exits,       ///< and leaves what it has locked
  forked,             ///< really: the child has nothing, and nothing comes of what it does
  image_replaced,     ///< by exec(): what it has sent is carried out; nobody reads the answers
  no_threads,
};

inline constexpr std::size_t fault_classes = static_cast<std::size_t>(Fault::no_threads) + 1;

/// How often each was injected.
using FaultCounts = std::array<std::uint64_t, fault_classes>;

std::string_view name_of(Fault fault) noexcept;
/// Nothing has that name: fault_classes.
std::size_t fault_named(std::string_view name) noexcept;

}  // namespace zklock::simulator
