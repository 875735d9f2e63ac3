// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/lying_servers.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>

#include "tests/fuzz/children.h"
#include "zklock/core/znode_data.h"

namespace zklock::fuzz {

using namespace client;
namespace ops = client::request;

namespace {

constexpr std::size_t kMostChildren = 5;

/// Returns the event handler of a request with a watch, or an empty one.
ops::OnWatchEvent watch_in(const Operation& operation) {
  if (const auto* get = std::get_if<ops::GetAndWatch>(&operation)) return get->on_event;
  if (const auto* list = std::get_if<ops::ListAndWatch>(&operation)) return list->on_event;
  if (const auto* exists = std::get_if<ops::ExistsAndWatch>(&operation)) return exists->on_event;
  return {};
}

/// Returns whether the leader must answer this request.
bool is_by_quorum(const Operation& operation) {
  return std::holds_alternative<ops::CreateContender>(operation) ||
         std::holds_alternative<ops::CreateParents>(operation) ||
         std::holds_alternative<ops::Check>(operation) ||
         std::holds_alternative<ops::Delete>(operation) ||
         std::holds_alternative<ops::AnnounceAndDelete>(operation) ||
         std::holds_alternative<ops::Transaction>(operation);
}

/// Returns a reply that no server has sent.
Reply unsent(Status status) {
  Reply reply;
  reply.status = status;
  reply.detail = "the request was not sent";
  return reply;
}

/// Returns the data of the contender that the request creates.
std::string data_of_contender(const Operation& operation) {
  if (const auto* create = std::get_if<ops::CreateContender>(&operation)) return create->data;
  const auto* all = std::get_if<ops::Transaction>(&operation);
  if (!all) return {};
  for (const auto& write : all->writes) {
    const auto* create = std::get_if<ops::write::Create>(&write);
    if (create && create->leaves_room) return create->data;
  }
  return {};
}

std::string prefix_in(const Operation& operation) {
  if (const auto* create = std::get_if<ops::CreateContender>(&operation)) return create->prefix;
  return std::string(core::kLockPrefix);
}

}  // namespace

RequestId LyingServers::submit(Request request, ReplyHandler handler) {
  const RequestId id{++last_id_};
  pending_.push_back({id, std::move(request), std::move(handler), clock_.now()});
  return id;
}

bool LyingServers::cancel_unsent(RequestId request) noexcept {
  const auto found = std::ranges::find(pending_, request, &Pending::id);
  if (found == pending_.end() || connected_) return false;  // the request was sent
  abandoned_.push_back(std::move(*found));
  pending_.erase(found);
  return true;
}

void LyingServers::connect() {
  if (connected_ || closed_) return;
  connected_ = true;
  const bool is_new = session_ == SessionId{};
  if (is_new) session_ = {++last_session_};
  for (Pending& each : pending_) each.sent = clock_.now();
  observer_->on_connected(
      {.id = session_, .timeout = kTimeout, .attempt_began = clock_.now(), .is_new = is_new});
}

void LyingServers::disconnect() {
  if (!connected_) return;
  connected_ = false;
  observer_->on_suspended(session_);
}

void LyingServers::end_session() {
  if (session_ == SessionId{}) return;
  connected_ = false;
  const SessionId ended = std::exchange(session_, SessionId{});
  watches_.clear();
  observer_->on_ended(ended, Status::session_ended);
}

/// Returns the status of an answer that the coordinator itself must give.
std::optional<Status> LyingServers::own_answer(const Pending& pending) const {
  if (closed_) return Status::closed;
  const SessionId bound = pending.request.session;
  if (bound != SessionId{} && bound != session_) return Status::session_ended;
  if (connected_) return std::nullopt;
  if (pending.request.fail_if_disconnected) return Status::not_sent;
  return bound == SessionId{} ? Status::not_connected : Status::unknown;
}

Status LyingServers::server_answer() {
  constexpr Status kAll[] = {Status::unknown,          Status::throttled,   Status::no_node,
                             Status::node_exists,      Status::not_empty,   Status::bad_version,
                             Status::no_auth,          Status::invalid_acl, Status::quota_exceeded,
                             Status::read_only,        Status::unknown,     Status::too_many_nodes,
                             Status::too_many_watches, Status::server_error};
  const unsigned which = choices_.byte();
  if (which >= 72) return Status::ok;
  return kAll[which % std::size(kAll)];
}

std::string LyingServers::data() {
  const unsigned which = choices_.byte();
  if (which >= 248) return std::string(choices_.text());
  if (which >= 224) return std::to_string(which % 6);
  core::ZnodeData said;
  said.attempt = (which & 1U) != 0 ? attempt_ : "another.1";
  said.announces = (which & 2U) != 0;
  if ((which & 4U) != 0) said.token = choices_.byte();
  return said.encode();
}

Reply LyingServers::make_reply(Status status, const Operation& operation) {
  Reply reply;
  reply.status = status;
  reply.session = session_;
  reply.detail = "said";
  if (status != Status::ok) {
    reply.failed_operation = static_cast<int>(choices_.below(3)) - 1;
    return reply;
  }
  reply.token = {static_cast<std::int64_t>(choices_.below(24)) + 1};
  reply.child_count = static_cast<std::int32_t>(choices_.below(3)) + 1;
  // Often a value that shows no other contender.
  reply.pzxid = choices_.one_in(4) ? FencingToken{static_cast<std::int64_t>(choices_.below(24))}
                                   : last_contender_;
  if (!data_of_contender(operation).empty()) last_contender_ = reply.token;
  reply.name = choices_.one_in(4)
                   ? choose_child(choices_)
                   : core::ZnodeName::make(prefix_in(operation), choose_sequence(choices_)).text;
  reply.children = choose_children(choices_, kMostChildren);
  reply.next_sequence = choose_sequence(choices_);
  reply.data = data();
  reply.ephemeral_owner = choices_.one_in(4) ? SessionId{-5} : session_;
  reply.created_ms = choices_.byte();
  reply.version = static_cast<std::int32_t>(choices_.below(3));
  return reply;
}

void LyingServers::notify_observer(const Pending& pending, Status status) {
  if (status == Status::unknown) return;
  const bool of_tree = status == Status::ok ||
                       core::sort_of(status) == core::StatusSort::tree_conflict ||
                       status == Status::no_auth;
  const bool by_quorum = of_tree && is_by_quorum(pending.request.operation);
  if (by_quorum) {
    auto& last = quorum_[session_];
    last = std::max(last, pending.sent);
  }
  const bool is_sync = std::holds_alternative<ops::Sync>(pending.request.operation);
  observer_->on_answered(session_, pending.sent,
                         by_quorum            ? core::AnsweredBy::quorum
                         : of_tree && is_sync ? core::AnsweredBy::leader
                                              : core::AnsweredBy::server);
}

void LyingServers::reply(Pending pending, Reply reply) {
  const auto on_event = watch_in(pending.request.operation);
  const bool exists = std::holds_alternative<ops::ExistsAndWatch>(pending.request.operation);
  const bool arms = reply.status == Status::ok || (exists && reply.status == Status::no_node);
  const auto handler = std::move(pending.handler);
  reply.sent_at = pending.sent;
  if (on_event && arms) watches_[pending.id] = on_event;
  handler(std::move(reply));
}

void LyingServers::answer() {
  if (!abandoned_.empty()) {
    Pending pending = std::move(abandoned_.front());
    abandoned_.pop_front();
    return reply(std::move(pending), unsent(Status::not_sent));
  }
  if (pending_.empty()) return;
  Pending pending = std::move(pending_.front());
  pending_.pop_front();
  const Operation operation = pending.request.operation;
  if (const auto own = own_answer(pending)) {
    return reply(std::move(pending), unsent(*own));
  }
  if (const auto contender = core::ZnodeData::parse(data_of_contender(operation))) {
    attempt_ = contender->attempt;
  }
  const Status status = server_answer();
  notify_observer(pending, status);
  Reply answer = make_reply(status, operation);
  const auto* const create = std::get_if<ops::CreateContender>(&operation);
  if (create && create->counts) {
    answer.parent = std::make_shared<Reply>(make_reply(server_answer(), ops::Exists{}));
  }
  if (status == Status::ok) named_.insert(answer.token);
  reply(std::move(pending), std::move(answer));
}

void LyingServers::fire() {
  if (watches_.empty() || !connected_) return;
  auto which = watches_.begin();
  std::advance(which, static_cast<std::ptrdiff_t>(choices_.below(watches_.size())));
  const auto on_event = std::move(which->second);
  watches_.erase(which);
  constexpr ops::WatchEvent kEvents[] = {ops::WatchEvent::created, ops::WatchEvent::changed,
                                         ops::WatchEvent::children, ops::WatchEvent::deleted};
  on_event(session_, kEvents[choices_.below(std::size(kEvents))]);
}

void LyingServers::close() {
  if (!std::exchange(closed_, true) && session_ != SessionId{}) {
    connected_ = false;
    const SessionId ended = std::exchange(session_, SessionId{});
    watches_.clear();
    observer_->on_ended(ended, Status::closed);
  }
  while (!pending_.empty() || !abandoned_.empty()) answer();
}

std::optional<core::Instant> LyingServers::last_contact_of_quorum(SessionId session) const {
  const auto found = quorum_.find(session);
  if (found == quorum_.end()) return std::nullopt;
  return found->second;
}

}  // namespace zklock::fuzz
