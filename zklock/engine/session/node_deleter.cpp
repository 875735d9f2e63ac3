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
using core::Status;
using core::StatusSort;

constexpr std::chrono::milliseconds kDeleteRetryDelay{250};

}  // namespace

struct NodeDeleter::Ports {
  client::Coordinator& coordinator;
  client::Scheduler& scheduler;
  std::function<void(const std::string&, Status)> complain;
};

NodeDeleter::Removal::Removal(const NodeDeleter& deleter, SessionId session, Node node,
                              Manner manner)
    : ports_(deleter.ports_),
      session_(session),
      node_(std::move(node)),
      step_(first_step(manner)) {}

NodeDeleter::Removal::Step NodeDeleter::Removal::first_step(Manner manner) noexcept {
  switch (manner) {
    case Manner::plainly: return Step::deleting;
    case Manner::announced: return Step::announcing;
    case Manner::with_care: return Step::looking;
  }
  return Step::looking;
}

/// Returns whether a Get of the path, which replied `there`, found the znode to be deleted.
bool NodeDeleter::Removal::is_it(const client::Reply& there) const {
  const bool of_session = there.ephemeral_owner == session_;
  if (node_.token == FencingToken{}) return of_session || there.ephemeral_owner == SessionId{};
  if (alone_) {
    // A sibling without a proclamation is deleted if it belongs to this session. If another
    // holder was about to write it, that holder creates it again.
    const auto said = core::Proclamation::parse(there.data);
    return said ? said->leader == node_.token : of_session;
  }
  if (there.token == node_.token) return true;
  // A reader's znode, after a downgrade. If it is unreadable, only its session is known.
  const bool is_named = core::queue_zxid(core::ZnodeData::parse(there.data), {}) == node_.token;
  return of_session && (there.unreadable || is_named);
}

/// Returns `request` as an operation that also deletes the siblings. Their deletes come first:
/// see drops_sibling().
template <class R>
client::Operation NodeDeleter::Removal::with_siblings(R request) const {
  if (alone_ || node_.siblings.empty()) return request;
  request::Transaction all;
  for (const SiblingNode& sibling : node_.siblings) {
    all.writes.emplace_back(request::write::Remove{sibling.path});
  }
  std::ranges::move(as_transaction(std::move(request)).writes, std::back_inserter(all.writes));
  return all;
}

NodeDeleter::NodeDeleter(client::Coordinator& coordinator, client::Scheduler& scheduler,
                         std::function<void(const std::string&, Status)> complain)
    : ports_(std::make_shared<Ports>(Ports{coordinator, scheduler, std::move(complain)})) {}

void NodeDeleter::submit(const std::shared_ptr<Removal>& removal) {
  const std::string& path = removal->node_.path;
  client::Request request{.operation = {}, .session = removal->session_, .at_once = true};
  switch (removal->step_) {
    case Removal::Step::announcing:
      request.operation = removal->with_siblings(request::AnnounceAndDelete{path});
      break;
    case Removal::Step::looking: return look(removal);
    case Removal::Step::deleting:
      request.operation = removal->with_siblings(request::Delete{path});
      break;
  }
  removal->ports_->coordinator.submit(
      std::move(request), [removal](const client::Reply& reply) { answered(removal, reply); });
}

void NodeDeleter::look(const std::shared_ptr<Removal>& removal) {
  client::get_by_quorum(removal->ports_->coordinator, removal->node_.path, removal->session_,
                        [removal](const client::Reply& reply) {
                          if (reply.status == Status::no_auth) return look_at_stat(removal);
                          answered(removal, reply);
                        });
}

/// Looks without READ permission. An exists needs none. The sync before it replaces the Check.
void NodeDeleter::look_at_stat(const std::shared_ptr<Removal>& removal) {
  const std::string& path = removal->node_.path;
  client::Coordinator& coordinator = removal->ports_->coordinator;
  coordinator.submit({.operation = request::Sync{path}, .session = removal->session_},
                     [](const client::Reply&) {});
  coordinator.submit({.operation = request::CountChildren{path}, .session = removal->session_},
                     [removal](client::Reply stat) {
                       stat.unreadable = true;
                       answered(removal, stat);
                     });
}

/// Drops the sibling that made the transaction fail, because it does not exist or cannot be
/// deleted. Returns false, without effect, if the reply is no such failure.
bool NodeDeleter::drops_sibling(Removal& removal, const client::Reply& reply) {
  auto& siblings = removal.node_.siblings;
  const auto failed = static_cast<std::size_t>(reply.failed_operation);
  if (removal.alone_ || removal.step_ == Removal::Step::looking) return false;
  if (reply.failed_operation < 0 || failed >= siblings.size()) return false;
  const StatusSort sort = core::sort_of(reply.status);
  if (sort != StatusSort::tree_conflict && sort != StatusSort::refused) return false;
  if (reply.status == Status::no_node) {
    removal.missing_.push_back(siblings[failed]);
  } else {
    removal.ports_->complain(siblings[failed].path, reply.status);
  }
  siblings.erase(siblings.begin() + reply.failed_operation);
  return true;
}

void NodeDeleter::deleted(const std::shared_ptr<Removal>& removal) {
  if (!removal->alone_) removal->node_.siblings.clear();  // deleted by the same transaction
  gone(removal);
}

/// The znode no longer exists. Continues with the next sibling, or ends.
void NodeDeleter::gone(const std::shared_ptr<Removal>& removal) {
  auto& siblings = removal->node_.siblings;
  std::ranges::move(std::exchange(removal->missing_, {}), std::back_inserter(siblings));
  removal->alone_ = true;
  if (siblings.empty()) return removal->ended(End::gone);
  removal->node_.path = std::move(siblings.back().path);
  removal->node_.token = siblings.back().said_by;
  siblings.pop_back();
  const bool may_be_anothers = removal->node_.token != FencingToken{};
  removal->step_ = may_be_anothers ? Removal::Step::looking : Removal::Step::deleting;
  submit(removal);
}

void NodeDeleter::answered(const std::shared_ptr<Removal>& removal, const client::Reply& reply) {
  if (drops_sibling(*removal, reply)) return submit(removal);
  switch (core::sort_of(reply.status)) {
    case StatusSort::done:
      if (removal->step_ != Removal::Step::looking) return deleted(removal);
      if (!removal->is_it(reply)) return gone(removal);
      removal->step_ = Removal::Step::deleting;
      return submit(removal);
    case StatusSort::session:
    case StatusSort::over: return removal->ended(removal->alone_ ? End::gone : End::session_ended);
    case StatusSort::outcome_unknown:
    case StatusSort::unsent:  // another znode may have the name when the connection is back
      removal->step_ = Removal::Step::looking;
      return submit(removal);
    case StatusSort::tree_conflict:
      if (reply.status == Status::no_node) return gone(removal);
      break;
    case StatusSort::refused:
      if (reply.status != Status::no_auth && reply.status != Status::invalid_acl) break;
      return refused(removal, reply.status);
    case StatusSort::retry_later: break;
  }
  removal->step_ = Removal::Step::looking;
  client::Scheduler& scheduler = removal->ports_->scheduler;
  scheduler.at(scheduler.now() + kDeleteRetryDelay, [removal] { submit(removal); });
}

void NodeDeleter::refused(const std::shared_ptr<Removal>& removal, Status status) {
  if (removal->alone_) {
    removal->ports_->complain(removal->node_.path, status);
    return gone(removal);
  }
  switch (removal->step_) {
    case Removal::Step::announcing: removal->step_ = Removal::Step::looking; break;
    case Removal::Step::looking:
    case Removal::Step::deleting: return removal->ended(End::refused);
  }
  submit(removal);
}

}  // namespace zklock::detail
