// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/node_deleter.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <utility>

#include "zklock/client/port/submit_then_get.h"
#include "zklock/client/port/transaction.h"
#include "zklock/client/port/znode_path.h"
#include "zklock/core/child_kind.h"
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

NodeDeleter::Deletion::Deletion(const NodeDeleter& deleter, SessionId session, Node node,
                                FirstStep first)
    : ports_(deleter.ports_), session_(session), node_(std::move(node)), step_(to_step(first)) {
  // Not a range algorithm: clang 14 does not compile a std::ranges::subrange of libstdc++.
  const auto first_missing =
      std::partition(node_.siblings.begin(), node_.siblings.end(),
                     [](const SiblingNode& sibling) { return !sibling.may_be_missing; });
  std::move(first_missing, node_.siblings.end(), std::back_inserter(missing_));
  node_.siblings.erase(first_missing, node_.siblings.end());
}

NodeDeleter::Deletion::Step NodeDeleter::Deletion::to_step(FirstStep first) noexcept {
  switch (first) {
    case FirstStep::delete_now: return Step::deleting;
    case FirstStep::announce: return Step::announcing;
    case FirstStep::look: return Step::looking;
  }
  return Step::looking;
}

/// Returns whether a Get of the path, which replied `there`, found the znode that is to be deleted.
bool NodeDeleter::Deletion::is_target(const client::Reply& there) const {
  const bool of_session = there.ephemeral_owner == session_;
  if (node_.token == FencingToken{}) {
    // Another client can reuse the name of a release request, but not that of a marker.
    if (there.is_without_stat()) {
      return core::kind_of(client::name_of(node_.path)) != core::ChildKind::release_request;
    }
    return of_session || there.ephemeral_owner == SessionId{};
  }
  // The names in one path do not repeat. So it is another znode only if the path was recreated.
  if (there.is_without_stat()) return there.parent && there.parent->token < node_.token;
  if (is_node_deleted_) {
    // A sibling without a proclamation is deleted if it belongs to this session. If another
    // holder was about to write it, that holder creates it again.
    const auto said = core::Proclamation::parse(there.data);
    return said ? said->leader == node_.token : of_session;
  }
  if (there.token == node_.token) return true;
  if (!node_.is_downgraded) return false;
  // If the reader's znode is unreadable, only its session is known.
  const bool is_named = core::queue_zxid(core::ZnodeData::parse(there.data), {}) == node_.token;
  return of_session && (there.unreadable || is_named);
}

/// Returns `request` as an operation that also deletes the siblings. Their deletes come first:
/// see drops_sibling().
template <class R>
client::Operation NodeDeleter::Deletion::with_siblings(R request) const {
  if (is_node_deleted_ || node_.siblings.empty()) return request;
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

void NodeDeleter::submit(const std::shared_ptr<Deletion>& deletion) {
  const std::string& path = deletion->node_.path;
  client::Request request{
      .operation = {}, .session = deletion->session_, .fail_if_disconnected = true};
  switch (deletion->step_) {
    case Deletion::Step::announcing:
      request.operation = deletion->with_siblings(request::AnnounceAndDelete{path});
      break;
    case Deletion::Step::looking: return look(deletion);
    case Deletion::Step::deleting:
      request.operation = deletion->with_siblings(request::Delete{path});
      break;
  }
  deletion->ports_->coordinator.submit(
      std::move(request), [deletion](const client::Reply& reply) { on_answered(deletion, reply); });
}

void NodeDeleter::look(const std::shared_ptr<Deletion>& deletion) {
  client::get_by_quorum(deletion->ports_->coordinator, deletion->node_.path, deletion->session_,
                        [deletion](const client::Reply& reply) { on_answered(deletion, reply); });
}

/// Drops the sibling that made the transaction fail, because it does not exist or cannot be
/// deleted. Returns false, without effect, if the reply is no such failure.
bool NodeDeleter::drops_sibling(Deletion& deletion, const client::Reply& reply) {
  auto& siblings = deletion.node_.siblings;
  const auto failed = static_cast<std::size_t>(reply.failed_operation);
  if (deletion.is_node_deleted_ || deletion.step_ == Deletion::Step::looking) return false;
  if (reply.failed_operation < 0 || failed >= siblings.size()) return false;
  const StatusSort sort = core::sort_of(reply.status);
  if (sort != StatusSort::tree_conflict && sort != StatusSort::refused) return false;
  if (reply.status == Status::no_node) {
    deletion.missing_.push_back(siblings[failed]);
  } else {
    deletion.ports_->complain(siblings[failed].path, reply.status);
  }
  siblings.erase(siblings.begin() + reply.failed_operation);
  return true;
}

void NodeDeleter::on_deleted(const std::shared_ptr<Deletion>& deletion) {
  if (!deletion->is_node_deleted_)
    deletion->node_.siblings.clear();  // deleted by the same transaction
  delete_next_sibling(deletion);
}

/// The znode no longer exists. Continues with the next sibling, or ends.
void NodeDeleter::delete_next_sibling(const std::shared_ptr<Deletion>& deletion) {
  auto& siblings = deletion->node_.siblings;
  std::ranges::move(std::exchange(deletion->missing_, {}), std::back_inserter(siblings));
  deletion->is_node_deleted_ = true;
  if (siblings.empty()) return deletion->on_ended(End::deleted);
  deletion->node_.path = std::move(siblings.back().path);
  deletion->node_.token = siblings.back().proclaimed_by;
  siblings.pop_back();
  const bool may_be_anothers = deletion->node_.token != FencingToken{};
  deletion->step_ = may_be_anothers ? Deletion::Step::looking : Deletion::Step::deleting;
  submit(deletion);
}

void NodeDeleter::on_answered(const std::shared_ptr<Deletion>& deletion,
                              const client::Reply& reply) {
  if (drops_sibling(*deletion, reply)) return submit(deletion);
  switch (core::sort_of(reply.status)) {
    case StatusSort::done:
      if (deletion->step_ != Deletion::Step::looking) return on_deleted(deletion);
      if (!deletion->is_target(reply)) return delete_next_sibling(deletion);
      deletion->step_ = Deletion::Step::deleting;
      return submit(deletion);
    case StatusSort::session:
    case StatusSort::client_ended:
      return deletion->on_ended(deletion->is_node_deleted_ ? End::deleted : End::session_ended);
    case StatusSort::outcome_unknown:
    case StatusSort::unsent:  // another znode may have the name when the connection is back
      deletion->step_ = Deletion::Step::looking;
      return submit(deletion);
    case StatusSort::tree_conflict:
      if (reply.status == Status::no_node) return delete_next_sibling(deletion);
      break;
    case StatusSort::refused:
      if (reply.status != Status::no_auth && reply.status != Status::invalid_acl) break;
      return on_refused(deletion, reply.status);
    case StatusSort::retry_later: break;
  }
  deletion->step_ = Deletion::Step::looking;
  client::Scheduler& scheduler = deletion->ports_->scheduler;
  scheduler.at(scheduler.now() + kDeleteRetryDelay, [deletion] { submit(deletion); });
}

void NodeDeleter::on_refused(const std::shared_ptr<Deletion>& deletion, Status status) {
  if (deletion->is_node_deleted_) {
    deletion->ports_->complain(deletion->node_.path, status);
    return delete_next_sibling(deletion);
  }
  switch (deletion->step_) {
    case Deletion::Step::announcing: deletion->step_ = Deletion::Step::looking; break;
    case Deletion::Step::looking:
    case Deletion::Step::deleting: return deletion->on_ended(End::refused);
  }
  submit(deletion);
}

}  // namespace zklock::detail
