// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/node_deleter.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <utility>

#include "zklock/client/port/submit_then_get.h"
#include "zklock/client/port/transaction.h"
#include "zklock/core/proclamation.h"
#include "zklock/core/znode_data.h"

namespace zklock::detail {

namespace {

namespace request = client::request;
using client::as_transaction;
using client::submit_then_get;
using core::Status;
using core::StatusSort;

constexpr std::chrono::milliseconds retry_delay{250};

}  // namespace

struct NodeDeleter::Ports {
  client::Coordinator& coordinator;
  client::Scheduler& scheduler;
  std::function<void(const std::string&, Status)> complain;
};

struct NodeDeleter::Removal {
  enum class Step { announcing, looking, deleting };
  std::shared_ptr<Ports> ports;
  SessionId session;
  Node node;
  Step step;
  Done done;
  bool alone = false;                     ///< deletes the siblings; the znode is deleted
  std::vector<SiblingNode> missing = {};  ///< siblings that the transaction did not find

  static Step first_step(Manner manner) noexcept {
    switch (manner) {
      case Manner::plainly: return Step::deleting;
      case Manner::announced: return Step::announcing;
      case Manner::with_care: return Step::looking;
    }
    return Step::looking;
  }

  /// Returns whether a Get of the path, which replied `there`, found the znode to be deleted.
  bool is_it(const client::Reply& there) const {
    const bool of_session = there.ephemeral_owner == session;
    if (node.token == FencingToken{}) return of_session || there.ephemeral_owner == SessionId{};
    if (alone) {
      // A sibling without a proclamation is deleted if it belongs to this session. If another
      // holder was about to write it, that holder creates it again.
      const auto said = core::Proclamation::parse(there.data);
      return said ? said->leader == node.token : of_session;
    }
    if (there.token == node.token) return true;
    return of_session && core::came_by(core::ZnodeData::parse(there.data), {}) == node.token;
  }

  /// Returns `request` as an operation that also deletes the siblings. Their deletes come first:
  /// see drops_sibling().
  template <class R>
  client::Operation with_siblings(R request) const {
    if (alone || node.siblings.empty()) return request;
    request::Transaction all;
    for (const SiblingNode& sibling : node.siblings) {
      all.writes.emplace_back(request::write::Remove{sibling.path});
    }
    std::ranges::move(as_transaction(std::move(request)).writes, std::back_inserter(all.writes));
    return all;
  }
};

NodeDeleter::NodeDeleter(client::Coordinator& coordinator, client::Scheduler& scheduler,
                         std::function<void(const std::string&, Status)> complain)
    : ports_(std::make_shared<Ports>(Ports{coordinator, scheduler, std::move(complain)})) {}

void NodeDeleter::remove(SessionId session, Node node, Manner manner, Done done) {
  submit(std::make_shared<Removal>(
      Removal{ports_, session, std::move(node), Removal::first_step(manner), std::move(done)}));
}

void NodeDeleter::submit(const std::shared_ptr<Removal>& removal) {
  const std::string& path = removal->node.path;
  client::Request request{.operation = {}, .session = removal->session, .at_once = true};
  switch (removal->step) {
    case Removal::Step::announcing:
      request.operation = removal->with_siblings(request::AnnounceAndDelete{path});
      break;
    case Removal::Step::looking: return look(removal);
    case Removal::Step::deleting:
      request.operation = removal->with_siblings(request::Delete{path});
      break;
  }
  removal->ports->coordinator.submit(
      std::move(request), [removal](const client::Reply& reply) { answered(removal, reply); });
}

// The Check goes through the quorum. Without it, a server that lags behind would still show a znode
// that is deleted.
void NodeDeleter::look(const std::shared_ptr<Removal>& removal) {
  const std::string& path = removal->node.path;
  submit_then_get(removal->ports->coordinator, request::Check{path}, path, removal->session,
                  [removal](const client::Reply& check, const client::Reply& node) {
                    answered(removal, check.status == Status::ok ? node : check);
                  });
}

/// Drops the sibling that made the transaction fail, because it does not exist or cannot be
/// deleted. Returns false, without effect, if the reply is no such failure.
bool NodeDeleter::drops_sibling(Removal& removal, const client::Reply& reply) {
  auto& siblings = removal.node.siblings;
  const auto lock_node = static_cast<std::size_t>(reply.failed_operation);
  if (removal.alone || removal.step == Removal::Step::looking) return false;
  if (reply.failed_operation < 0 || lock_node >= siblings.size()) return false;
  const StatusSort sort = core::sort_of(reply.status);
  if (sort != StatusSort::tree && sort != StatusSort::refused) return false;
  if (reply.status == Status::no_node) {
    removal.missing.push_back(siblings[lock_node]);
  } else {
    removal.ports->complain(siblings[lock_node].path, reply.status);
  }
  siblings.erase(siblings.begin() + reply.failed_operation);
  return true;
}

void NodeDeleter::deleted(const std::shared_ptr<Removal>& removal) {
  if (!removal->alone) removal->node.siblings.clear();  // deleted by the same transaction
  gone(removal);
}

/// The znode no longer exists. Continues with the next sibling, or ends.
void NodeDeleter::gone(const std::shared_ptr<Removal>& removal) {
  auto& siblings = removal->node.siblings;
  std::ranges::move(std::exchange(removal->missing, {}), std::back_inserter(siblings));
  removal->alone = true;
  if (siblings.empty()) return removal->done(End::gone, {});
  removal->node.path = std::move(siblings.back().path);
  removal->node.token = siblings.back().said_by;
  siblings.pop_back();
  const bool may_be_anothers = removal->node.token != FencingToken{};
  removal->step = may_be_anothers ? Removal::Step::looking : Removal::Step::deleting;
  submit(removal);
}

void NodeDeleter::answered(const std::shared_ptr<Removal>& removal, const client::Reply& reply) {
  if (drops_sibling(*removal, reply)) return submit(removal);
  switch (core::sort_of(reply.status)) {
    case StatusSort::done:
      if (removal->step != Removal::Step::looking) return deleted(removal);
      if (!removal->is_it(reply)) return gone(removal);
      removal->step = Removal::Step::deleting;
      return submit(removal);
    case StatusSort::session:
    case StatusSort::over:
      return removal->done(removal->alone ? End::gone : End::session_ended, {});
    case StatusSort::doubtful:
    case StatusSort::unsent:  // another znode may have the name when the connection is back
      removal->step = Removal::Step::looking;
      return submit(removal);
    case StatusSort::tree:
      if (reply.status == Status::no_node) return gone(removal);
      break;
    case StatusSort::refused:
      if (reply.status != Status::no_auth && reply.status != Status::invalid_acl) break;
      return refused(removal, reply.status);
    case StatusSort::later: break;
  }
  removal->step = Removal::Step::looking;
  client::Scheduler& scheduler = removal->ports->scheduler;
  scheduler.at(scheduler.now() + retry_delay, [removal] { submit(removal); });
}

void NodeDeleter::refused(const std::shared_ptr<Removal>& removal, Status status) {
  if (removal->alone) {
    removal->ports->complain(removal->node.path, status);
    return gone(removal);
  }
  switch (removal->step) {
    case Removal::Step::announcing: removal->step = Removal::Step::looking; break;
    case Removal::Step::looking: removal->step = Removal::Step::deleting; break;
    case Removal::Step::deleting: return removal->done(End::refused, std::move(removal->node));
  }
  submit(removal);
}

}  // namespace zklock::detail
