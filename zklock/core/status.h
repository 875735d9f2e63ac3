// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "zklock/error.h"

namespace zklock::core {

/// How a request ended, as far as the lock protocol needs to know.
///
/// | status          | was it executed?             | what to do                                |
/// |-----------------|------------------------------|-------------------------------------------|
/// | ok              | yes                          |                                           |
/// | unknown         | perhaps (reply lost)         | find out, or repeat idempotent requests   |
/// | session_ended   | no, if not sent before the   | begin again on another session            |
/// |                 | end; otherwise perhaps (1)   |                                           |
/// | not_sent        | no (abandoned before it was  |                                           |
/// |                 | sent)                        |                                           |
/// | not_connected   | no (no server in time)       | report to the caller                      |
/// | throttled       | no                           | repeat a little later                     |
/// | closed,         | as session_ended             | report to the caller                      |
/// | auth_failed     |                              |                                           |
/// | (all others)    | no                           | next step of the protocol, or report it   |
///
/// (1) Ephemeral znodes are deleted at the expiry. Other writes remain.
enum class Status : std::uint8_t {
  ok,
  unknown,
  session_ended,
  not_sent,
  not_connected,
  throttled,
  closed,
  no_node,
  node_exists,
  not_empty,
  bad_version,
  no_auth,
  auth_failed,
  invalid_acl,
  quota_exceeded,
  read_only,
  too_many_nodes,
  too_many_watches,
  server_error,
};

/// The meaning of a status for every kind of request.
///
/// | sort            | statuses               | meaning                                           |
/// |-----------------|------------------------|---------------------------------------------------|
/// | done            | ok                     |                                                   |
/// | outcome_unknown | unknown                | maybe executed: find out, or repeat if idempotent |
/// | retry_later     | throttled              | not now: repeat a little later                    |
/// | session         | session_ended          | it has ended: only another session can help       |
/// | unsent          | not_sent               | abandoned before it was sent                      |
/// | client_ended    | closed, auth_failed    | the session ends, and there will be no other      |
/// | tree_conflict   | no_node, node_exists,  | an existing or missing znode prevents it          |
/// |                 | not_empty, bad_version |                                                   |
/// | refused         | all others             | repeating it at once does not help                |
enum class StatusSort {
  done,
  outcome_unknown,
  retry_later,
  session,
  unsent,
  client_ended,
  tree_conflict,
  refused
};

struct StatusMeaning {
  std::string_view text;
  StatusSort sort;
  Errc error;  ///< see error_of()
};

constexpr StatusMeaning meaning_of(Status s) noexcept {
  using Sort = StatusSort;
  switch (s) {
    case Status::ok: return {"ok", Sort::done, Errc::server_error};
    case Status::unknown: return {"outcome unknown", Sort::outcome_unknown, Errc::outcome_unknown};
    case Status::session_ended: return {"session ended", Sort::session, Errc::server_error};
    case Status::not_sent: return {"not sent", Sort::unsent, Errc::server_error};
    case Status::not_connected: return {"not connected", Sort::refused, Errc::not_connected};
    case Status::throttled: return {"throttled", Sort::retry_later, Errc::server_error};
    case Status::closed: return {"closed", Sort::client_ended, Errc::closed};
    case Status::no_node: return {"no such node", Sort::tree_conflict, Errc::no_node};
    case Status::node_exists: return {"node exists", Sort::tree_conflict, Errc::node_exists};
    case Status::not_empty: return {"node has children", Sort::tree_conflict, Errc::not_empty};
    case Status::bad_version:
      return {"another version", Sort::tree_conflict, Errc::version_mismatch};
    case Status::no_auth: return {"not authorized", Sort::refused, Errc::no_auth};
    case Status::auth_failed:
      return {"authentication failed", Sort::client_ended, Errc::auth_failed};
    case Status::invalid_acl: return {"invalid ACL", Sort::refused, Errc::invalid_acl};
    case Status::quota_exceeded: return {"quota exceeded", Sort::refused, Errc::quota_exceeded};
    case Status::read_only: return {"server is read-only", Sort::refused, Errc::read_only};
    case Status::too_many_nodes:
      return {"too many nodes in the session", Sort::refused, Errc::too_many_nodes};
    case Status::too_many_watches:
      return {"too many watches in the session", Sort::refused, Errc::too_many_watches};
    case Status::server_error: return {"server error", Sort::refused, Errc::server_error};
  }
  return {"", Sort::refused, Errc::server_error};
}

constexpr std::string_view to_string(Status s) noexcept {
  return meaning_of(s).text;
}

constexpr StatusSort sort_of(Status s) noexcept {
  return meaning_of(s).sort;
}

/// Returns whether the request may succeed if it is repeated a little later.
constexpr bool is_temporary_failure(Status s) noexcept {
  const StatusSort sort = sort_of(s);
  return sort == StatusSort::outcome_unknown || sort == StatusSort::session ||
         sort == StatusSort::retry_later;
}

/// The servers that took part in the answer to a request. Each value includes the one before it.
enum class AnsweredBy : std::uint8_t {
  server,  ///< the client's server, perhaps alone
  leader,  ///< also the server's leader, perhaps without a majority
  quorum,  ///< the leader and a majority
};

/// Returns the error that the caller gets if this status ends its call. No call ends by one of ok,
/// session_ended, not_sent and throttled. The result for these is server_error.
constexpr Errc error_of(Status s) noexcept {
  return meaning_of(s).error;
}

/// Returns the cause for that error: `detail`, as Reply::detail has it. Without a detail, returns
/// the name of the status if the Errc is server_error, else nothing.
constexpr std::string_view cause_of(Status s, std::string_view detail) noexcept {
  const bool says_enough = !detail.empty() || error_of(s) != Errc::server_error;
  return says_enough ? detail : to_string(s);
}

}  // namespace zklock::core
