// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/cleaner.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <iterator>
#include <utility>

#include "zklock/client/port/request.h"
#include "zklock/client/port/submit_then_get.h"
#include "zklock/client/port/znode_path.h"
#include "zklock/core/cause_texts.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/log_line.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {

namespace {

namespace request = client::request;
using core::Status;
using core::StatusSort;

/// After a failed attempt, the next one begins after this time.
constexpr std::chrono::milliseconds kDeleteRetryDelay{250};

std::string_view parent_of(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

std::string no_permission(const std::string& node, std::string_view parent, std::string_view user) {
  return core::no_permission("DELETE", std::string(parent), user) + ", so this client's znode " +
         node + " stays; permit DELETE, or close the client";
}

}  // namespace

/// One znode that is being deleted.
struct Cleaner::Deletion {
  /// Returns whether `there`, the reply to a Get of the path, shows the znode to delete.
  bool is_target(const client::Reply& there) const;
  /// Returns `request` as an operation that also deletes the siblings. Their deletes come first:
  /// see drops_sibling().
  template <class R>
  client::Operation with_siblings(R request) const;
  const std::weak_ptr<EngineContext> context;
  const SessionId session;
  Node node;  ///< what remains to be deleted
  Step step;
  std::function<void()> on_deleted;
  const BackgroundWork::Id work;
  bool is_node_deleted = false;  ///< only siblings remain to be deleted
  bool is_refused = false;
  /// Siblings that the transaction did not find, and those that may be missing.
  std::vector<Sibling> missing = {};
};

bool Cleaner::Deletion::is_target(const client::Reply& there) const {
  const bool of_session = there.ephemeral_owner == session;
  if (node.token == FencingToken{}) {
    // Another client can reuse the name of a release request, but not that of a marker.
    if (there.is_without_stat()) {
      return core::kind_of(client::name_of(node.path)) != core::ChildKind::release_request;
    }
    return of_session || there.ephemeral_owner == SessionId{};
  }
  // The names in one path do not repeat. So it is another znode only if the path was recreated.
  if (there.is_without_stat()) return there.parent && there.parent->token < node.token;
  if (is_node_deleted) {
    // A sibling without a proclamation is deleted if it belongs to this session. If another
    // holder was about to write it, that holder creates it again.
    const auto said = core::Proclamation::parse(there.data);
    return said ? said->leader == node.token : of_session;
  }
  if (there.token == node.token) return true;
  if (!node.is_downgraded) return false;
  // If the reader's znode is unreadable, only its session is known.
  const bool is_named = core::queue_zxid(core::ZnodeData::parse(there.data), {}) == node.token;
  return of_session && (there.unreadable || is_named);
}

template <class R>
client::Operation Cleaner::Deletion::with_siblings(R request) const {
  if (is_node_deleted || node.siblings.empty()) return request;
  request::Transaction all;
  for (const Sibling& sibling : node.siblings) {
    all.writes.emplace_back(request::write::Remove{sibling.path});
  }
  std::ranges::move(client::as_transaction(std::move(request)).writes,
                    std::back_inserter(all.writes));
  return all;
}

// ---- one deletion -------------------------------------------------------------------------------

void Cleaner::remove(SessionId session, Node node, Step first, std::function<void()> on_deleted,
                     BackgroundWork::Id work) {
  context_.mutex().assert_held();
  if (context_.closed() || session == SessionId{}) return;
  const auto deletion = std::make_shared<Deletion>(
      Deletion{context_.weak_from_this(), session, std::move(node), first, std::move(on_deleted),
               context_.work().begin(work)});
  auto& siblings = deletion->node.siblings;
  // Not a range algorithm: clang 14 does not compile a std::ranges::subrange of libstdc++.
  const auto first_missing =
      std::partition(siblings.begin(), siblings.end(),
                     [](const Sibling& sibling) { return !sibling.may_be_missing; });
  std::move(first_missing, siblings.end(), std::back_inserter(deletion->missing));
  siblings.erase(first_missing, siblings.end());
  submit(deletion);
}

template <auto kStep>
auto Cleaner::under_lock(const Shared& deletion) {
  return [deletion](const auto&... arguments) {
    const auto context = deletion->context.lock();
    if (!context) return;
    const EngineLock lock(context->entry());
    (context->cleaner().*kStep)(deletion, arguments...);
  };
}

void Cleaner::submit(const Shared& deletion) {
  const std::string& path = deletion->node.path;
  client::Request request{
      .operation = {}, .session = deletion->session, .fail_if_disconnected = true};
  switch (deletion->step) {
    case Step::announcing:
      request.operation = deletion->with_siblings(request::AnnounceAndDelete{path});
      break;
    case Step::looking:
      client::get_by_quorum(context_.coordinator(), path, deletion->session,
                            under_lock<&Cleaner::on_answered>(deletion));
      return;
    case Step::deleting: request.operation = deletion->with_siblings(request::Delete{path}); break;
  }
  context_.coordinator().submit(std::move(request), under_lock<&Cleaner::on_answered>(deletion));
}

void Cleaner::on_answered(const Shared& deletion, const client::Reply& reply) {
  if (drops_sibling(*deletion, reply)) return submit(deletion);
  switch (core::sort_of(reply.status)) {
    case StatusSort::done:
      if (deletion->step == Step::looking && deletion->is_target(reply)) {
        deletion->step = Step::deleting;
        return submit(deletion);
      }
      // The transaction has deleted the siblings too.
      if (deletion->step != Step::looking && !deletion->is_node_deleted) {
        deletion->node.siblings.clear();
      }
      return delete_next_sibling(deletion);
    case StatusSort::session:
    case StatusSort::client_ended: return end(deletion);
    case StatusSort::outcome_unknown:
    case StatusSort::unsent:  // another znode may have the name when the connection is back
      deletion->step = Step::looking;
      return submit(deletion);
    case StatusSort::tree_conflict:
      if (reply.status == Status::no_node) return delete_next_sibling(deletion);
      break;
    case StatusSort::refused:
      if (reply.status != Status::no_auth && reply.status != Status::invalid_acl) break;
      return on_not_permitted(deletion, reply.status);
    case StatusSort::retry_later: break;
  }
  deletion->step = Step::looking;
  context_.scheduler().at(context_.scheduler().now() + kDeleteRetryDelay,
                          under_lock<&Cleaner::submit>(deletion));
}

/// Drops the sibling that made the transaction fail, because it does not exist or cannot be
/// deleted. Returns false, without effect, if the reply is no such failure.
bool Cleaner::drops_sibling(Deletion& deletion, const client::Reply& reply) {
  auto& siblings = deletion.node.siblings;
  const auto failed = static_cast<std::size_t>(reply.failed_operation);
  if (deletion.is_node_deleted || deletion.step == Step::looking) return false;
  if (reply.failed_operation < 0 || failed >= siblings.size()) return false;
  const StatusSort sort = core::sort_of(reply.status);
  if (sort != StatusSort::tree_conflict && sort != StatusSort::refused) return false;
  if (reply.status == Status::no_node) {
    deletion.missing.push_back(siblings[failed]);
  } else {
    warn_of_sibling(siblings[failed].path, reply.status);
  }
  siblings.erase(siblings.begin() + reply.failed_operation);
  return true;
}

/// The znode no longer exists. Continues with the next sibling, or ends.
void Cleaner::delete_next_sibling(const Shared& deletion) {
  auto& siblings = deletion->node.siblings;
  std::ranges::move(std::exchange(deletion->missing, {}), std::back_inserter(siblings));
  if (!std::exchange(deletion->is_node_deleted, true)) std::erase(refused_, deletion);
  if (siblings.empty()) return end(deletion);
  deletion->node.path = std::move(siblings.back().path);
  deletion->node.token = siblings.back().proclaimed_by;
  siblings.pop_back();
  const bool may_be_anothers = deletion->node.token != FencingToken{};
  deletion->step = may_be_anothers ? Step::looking : Step::deleting;
  submit(deletion);
}

void Cleaner::on_not_permitted(const Shared& deletion, Status status) {
  if (deletion->is_node_deleted) {
    warn_of_sibling(deletion->node.path, status);
    return delete_next_sibling(deletion);
  }
  if (deletion->step != Step::announcing) return on_refused(deletion);
  deletion->step = Step::looking;
  submit(deletion);
}

void Cleaner::end(const Shared& deletion) {
  assert(!deletion->is_refused);
  if (!deletion->is_node_deleted) std::erase(refused_, deletion);
  context_.work().end(deletion->work);
  if (deletion->is_node_deleted && deletion->on_deleted) deletion->on_deleted();
}

void Cleaner::warn_of_sibling(const std::string& path, Status why) {
  context_.warn(core::log_line("delete", path,
                               "the servers refused (" + std::string(to_string(why)) +
                                   "); delete this znode by hand, or give this client DELETE on "
                                   "its parent",
                               {}));
}

// ---- refused deletions --------------------------------------------------------------------------

void Cleaner::on_refused(const Shared& deletion) {
  if (context_.closed() || context_.keeper().session() != deletion->session) return end(deletion);
  assert(!deletion->is_refused);
  const std::string& path = deletion->node.path;
  const std::string parent(parent_of(path));
  const bool is_new = std::ranges::find(refused_, deletion) == refused_.end();
  const bool is_first = std::ranges::none_of(
      refused_, [&](const Shared& each) { return parent_of(each->node.path) == parent; });
  if (is_new) refused_.push_back(deletion);
  deletion->is_refused = true;
  context_.work().stall(deletion->work);
  if (!is_first) return;
  context_.mutex().after_unlock([context = context_.shared_from_this(), parent, path,
                                 cause = no_permission(path, parent, context_.settings().user)] {
    context->deletion_refused(parent, path, cause);
  });
}

Cleaner::Shared Cleaner::retry(std::string_view parent) {
  context_.mutex().assert_held();
  Shared last;
  for (const Shared& deletion : refused_) {
    if (!parent.empty() && parent_of(deletion->node.path) != parent) continue;
    last = deletion;
    if (!std::exchange(deletion->is_refused, false)) continue;
    context_.work().resume(deletion->work);
    deletion->step = Step::looking;
    submit(deletion);
  }
  return last;
}

std::optional<Error> Cleaner::retry_and_report(const core::LockPath& path) {
  const Shared deletion = retry(path.str());
  if (!deletion) return std::nullopt;
  return Error(Errc::no_auth, "lock", path.str(),
               no_permission(deletion->node.path, path.str(), context_.settings().user));
}

// A delete that is in flight again is not ended here, but by its own reply.
void Cleaner::session_ended(SessionId session) noexcept {
  context_.mutex().assert_held();
  std::erase_if(refused_, [&](const Shared& deletion) {
    if (deletion->session != session || !deletion->is_refused) return false;
    context_.work().resume(deletion->work);
    context_.work().end(deletion->work);
    return true;
  });
}

}  // namespace zklock::detail
