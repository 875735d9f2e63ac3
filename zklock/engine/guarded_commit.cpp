// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/guarded_commit.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <string_view>
#include <utility>

#include "zklock/client/port/request.h"

namespace zklock::detail {

namespace {

using client::path_of;
using core::Status;
using core::StatusSort;
namespace write = client::request::write;

constexpr std::size_t kBytesAroundAWrite = 128;

std::string_view name_of(const client::request::Write& w) {
  struct Name {
    std::string_view operator()(const write::Create&) { return "create"; }
    std::string_view operator()(const write::Set&) { return "set"; }
    std::string_view operator()(const write::Remove&) { return "remove"; }
    std::string_view operator()(const write::CheckVersion&) { return "check"; }
  };
  return std::visit(Name(), w);
}

std::size_t size_of(const client::request::Write& w) {
  return std::visit(
      [](const auto& some) {
        std::size_t size = some.path.size() + kBytesAroundAWrite;
        if constexpr (requires { some.data; }) size += some.data.size();
        return size;
      },
      w);
}

std::vector<std::string> nodes_of(const std::vector<std::shared_ptr<Contender>>& guards) {
  std::vector<std::string> nodes;
  for (const auto& guard : guards) {
    nodes.push_back(guard->path_lock().child(guard->lock_node().own_name()));
  }
  return nodes;
}

bool changes(const client::request::Write& w) {
  return !std::holds_alternative<write::CheckVersion>(w);
}

}  // namespace

std::shared_ptr<GuardedCommit> GuardedCommit::start(const GuardedWrites& writes, Deadline deadline,
                                                    Done done) {
  auto commit = std::make_shared<GuardedCommit>(writes, deadline, std::move(done));
  commit->context().check_usable(writes.operation, commit->lock_path());
  const EngineLock lock(commit->entry());
  commit->begin();
  return commit;
}

void GuardedCommit::withdraw() {
  const EngineLock lock(entry());
  give_up();
}

void GuardedCommit::begin() {
  assert(state_ == State::created);
  if (auto refused = refusal(what_)) return finish(std::move(refused));
  for (const auto& guard : what_.guards) guard->hold_record().add(*this);
  submit();
}

std::optional<Error> GuardedCommit::refusal(const GuardedWrites& what) {
  const std::vector<std::string> own = nodes_of(what.guards);
  std::size_t size = 0;
  for (const auto& w : what.writes) {
    const std::string& path = path_of(w);
    if (changes(w) && std::ranges::find(own, path) != own.end()) {
      return Error(Errc::invalid_path, name_of(w), path, "the znode of the lock cannot be changed");
    }
    size += size_of(w);
  }
  if (size > kMaxRequestBytes) return too_large(what.operation, what.lock_path());
  for (const auto& guard : what.guards) {
    if (guard->hold_record().state() == HoldState::lost ||
        guard->hold_record().session() != what.guards.front()->hold_record().session()) {
      return Error(Errc::lock_lost, what.operation, guard->path_lock().path().str(),
                   "the hold is lost; nothing was sent");
    }
  }
  return std::nullopt;
}

Error GuardedCommit::too_large(const char* operation, const std::string& lock_path) {
  return Error(Errc::too_large, operation, lock_path,
               "the writes are larger than a ZooKeeper request can be");
}

std::optional<Error> GuardedCommit::obstacle() const {
  if (given_up_) return error(Errc::not_connected, "the commit was abandoned; nothing was written");
  // If a guard was released meanwhile, its znode may already belong to another contender.
  const bool all_hold = std::ranges::all_of(
      what_.guards, [](const auto& g) { return g->hold_record().check_held(); });
  if (!all_hold) return error(Errc::lock_lost, "the hold is lost; nothing was sent");
  if (!deadline_.has_passed(context().scheduler().now())) return std::nullopt;
  return error(Errc::not_connected, "the deadline has passed; nothing was sent");
}

void GuardedCommit::submit() {
  if (auto refused = obstacle()) return finish(std::move(refused));
  nodes_ = nodes_of(what_.guards);
  client::request::Transaction transaction{.guard = nodes_.front(), .writes = {}};
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    transaction.writes.emplace_back(write::CheckVersion{nodes_[i]});
  }
  transaction.writes.insert(transaction.writes.end(), what_.writes.begin(), what_.writes.end());
  if (!deadline_.is_never() && timer_ == client::TimerId{}) {
    timer_ = context().scheduler().at(deadline_.at(),
                                      under_lock(weak_from_this(), [this] { on_deadline(); }));
  }
  for (const auto& guard : what_.guards) guard->hold_record().commit_begins();
  state_ = State::submitted;
  request_ = context().coordinator().submit(
      {.operation = std::move(transaction),
       .session = what_.guards.front()->hold_record().session()},
      under_lock(shared_from_this(), [this](const client::Reply& reply) { on_answered(reply); }));
}

// A downgrade renames the znode. A transaction that was refused for the old name has changed
// nothing, and is sent again.
void GuardedCommit::on_answered(const client::Reply& reply) {
  // If the outcome is unknown, it may be executed later. So the locks are never handed off on these
  // znodes.
  if (core::sort_of(reply.status) != StatusSort::outcome_unknown) {
    for (const auto& guard : what_.guards) guard->hold_record().commit_ended();
  }
  if (state_ == State::over) return;
  const auto failed = static_cast<std::size_t>(reply.failed_operation);
  if (reply.status != Status::no_node || failed >= nodes_.size()) return finish(verdict(reply));
  state_ = State::missing;
  what_.guards[failed]->when_name_settled(
      under_lock(shared_from_this(), [this, failed, reply] { on_name_settled(failed, reply); }));
}

void GuardedCommit::on_name_settled(std::size_t guard, const client::Reply& refused) {
  if (state_ == State::over) return;
  const bool is_renamed = nodes_of(what_.guards)[guard] != nodes_[guard];
  is_renamed ? submit() : finish(verdict(refused));
}

void GuardedCommit::on_deadline() {
  if (cancel_unsent(Errc::not_connected)) return;
  finish(error(
      Errc::outcome_unknown,
      "no reply before the deadline; the writes may have been executed, or be executed later"));
}

void GuardedCommit::give_up() {
  given_up_ = true;
  cancel_unsent(Errc::not_connected);
}

bool GuardedCommit::cancel_unsent(Errc why) {
  switch (state_) {
    case State::created:
    case State::withdrawn:
    case State::over: return true;
    case State::submitted:
      if (!context().coordinator().cancel_unsent(request_)) return false;
      state_ = State::withdrawn;
      withdrawn_for_ = why;
      return true;
    case State::missing:  // no request is in flight, so no reply will end the commit
      finish(error(why, why == Errc::lock_lost ? "the hold is lost; nothing was written"
                                               : "the deadline has passed; nothing was written"));
      return true;
  }
  return true;
}

std::optional<Error> GuardedCommit::verdict(const client::Reply& reply) const {
  if (reply.status == Status::ok) return std::nullopt;
  if (reply.failed_operation >= 0) return error_of_operation(reply);
  // If it was sent before its session ended, the writes may have been executed.
  const bool sent = reply.session != SessionId{};
  switch (core::sort_of(reply.status)) {
    case StatusSort::outcome_unknown: return error(Errc::outcome_unknown);
    case StatusSort::session:
      if (sent) return error(Errc::outcome_unknown);
      return error(Errc::lock_lost, "the session has ended; nothing was sent");
    case StatusSort::client_ended:
      if (sent) return error(Errc::outcome_unknown);
      break;
    case StatusSort::unsent:
      if (withdrawn_for_ == Errc::lock_lost) {
        return error(Errc::lock_lost, "the hold was lost while disconnected; nothing was sent");
      }
      return error(Errc::not_connected, "disconnected until the deadline; nothing was sent");
    case StatusSort::done:
    case StatusSort::retry_later:
    case StatusSort::tree_conflict:
    case StatusSort::refused: break;
  }
  return error(core::error_of(reply.status), core::cause_of(reply.status, reply.detail));
}

std::optional<Error> GuardedCommit::error_of_operation(const client::Reply& reply) const {
  const Errc code = core::error_of(reply.status);
  // The other codes have a text of their own.
  std::string_view cause;
  if (code == Errc::server_error || code == Errc::no_auth) cause = reply.detail;
  auto failed = static_cast<std::size_t>(reply.failed_operation);
  if (failed < what_.guards.size()) {
    const std::string& path = what_.guards[failed]->path_lock().path().str();
    if (reply.status != Status::no_node) return Error(code, what_.operation, path, cause);
    return Error(Errc::lock_lost, what_.operation, path,
                 "the znode of the lock was deleted; nothing was written");
  }
  failed -= what_.guards.size();
  if (failed >= what_.writes.size()) return Error(code, what_.operation, lock_path(), cause);
  const auto& w = what_.writes[failed];
  if (reply.status == Status::no_node && std::holds_alternative<write::Create>(w)) {
    cause = "the parent does not exist";
  }
  return Error(code, name_of(w), path_of(w), cause);
}

void GuardedCommit::finish(std::optional<Error> error) {
  assert(state_ != State::over);
  state_ = State::over;
  context().scheduler().cancel(timer_);
  for (const auto& guard : what_.guards) guard->hold_record().remove(*this);
  context().mutex().after_unlock(
      [done = std::exchange(done_, nullptr), error = std::move(error)] { done(error); });
}

}  // namespace zklock::detail
