// SPDX-License-Identifier: Apache-2.0
#include "zklock/evict.h"

#include <utility>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/status.h"
#include "zklock/core/znode_data.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/blocking_requests.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/time_limit.h"

namespace zklock {

namespace {

using core::Status;
using core::StatusSort;
namespace request = client::request;

constexpr const char* kEvict = "evict a contender of";

/// Returns whether the reply to a Get shows the znode of `contender`.
bool is_znode_of(const Participant& contender, const client::Reply& reply) {
  if (reply.ephemeral_owner.value != contender.session_id) return false;
  // A contender at a gate has no token yet, and its session has no second one at the same time.
  if (contender.token == FencingToken{}) return true;
  return core::queue_zxid(core::ZnodeData::parse(reply.data), reply.token) == contender.token;
}

/// Returns the reply to a Get that is as new as the call.
client::Reply look(detail::BlockingRequests& requests, const std::string& node) {
  for (;;) {
    // The server has executed all earlier transactions when it executes the Check. The server of
    // another session may not have executed them.
    auto replies = requests.run({request::Check{node}, request::Get{node}});
    client::Reply& checked = replies.front();
    client::Reply& seen = replies.back();
    if (checked.status == Status::no_node) return std::move(checked);
    const bool is_temporary = core::is_temporary_failure(checked.status) ||
                              core::is_temporary_failure(seen.status) ||
                              checked.session != seen.session;
    if (!is_temporary) return std::move(checked.status == Status::ok ? seen : checked);
    detail::BlockingRequests::pause();
  }
}

}  // namespace

bool evict(Client& client, std::string path, const Participant& contender, Deadline deadline) {
  const auto& core = detail::ClientCore::of(client);
  const auto path_lock = core->usable_path_lock(kEvict, std::move(path));
  detail::BlockingRequests requests(path_lock->context(), path_lock->path(), kEvict,
                                    detail::TimeLimit(deadline, core->scheduler().now()));
  if (!core::ZnodeName::parse(contender.node)) {
    requests.fail(Errc::invalid_option,
                  "no contender has the znode \"" + core::printable(contender.node, 128) + "\"");
  }
  const std::string node = path_lock->path().child(contender.node);
  for (;;) {
    const client::Reply seen = look(requests, node);
    if (seen.status == Status::no_node) return true;
    if (seen.status != Status::ok) requests.fail(seen);
    if (!is_znode_of(contender, seen)) return false;
    // Now or never: later, the znode of that name can be another contender's.
    const client::Reply deleted = requests.run_now(
        seen.session, request::Transaction{{}, {request::write::Remove{node, seen.version}}});
    switch (core::sort_of(deleted.status)) {
      case StatusSort::done: return true;
      case StatusSort::tree_conflict:
        if (deleted.status == Status::no_node) return true;
        break;  // its contender has written it
      case StatusSort::outcome_unknown:
      case StatusSort::retry_later:
      case StatusSort::session:
      case StatusSort::unsent: break;
      case StatusSort::client_ended:
      case StatusSort::refused: requests.fail(deleted);
    }
    detail::BlockingRequests::pause();
  }
}

}  // namespace zklock
