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

// A server drops the connection at 1 MiB, and the client would lose all its locks.
constexpr std::size_t kMaxRequestBytes = 1'000'000;
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

/// While it exists, the guards' locks are not handed off within this client: neither on their
/// znodes, nor before these are deleted. Otherwise the ensemble would execute the transaction
/// although another contender holds the lock.
class OnItsWay {
 public:
  explicit OnItsWay(std::vector<std::shared_ptr<Contender>> guards) : guards_(std::move(guards)) {
    for (const auto& guard : guards_) guard->grant().commit_begins();
  }
  ~OnItsWay() {
    for (const auto& guard : guards_) guard->grant().commit_ended();
  }
  OnItsWay(const OnItsWay&) = delete;
  OnItsWay& operator=(const OnItsWay&) = delete;

  /// The transaction may still be executed at any later time. So the locks are never handed off on
  /// these znodes.
  void stays() noexcept { guards_.clear(); }

 private:
  std::vector<std::shared_ptr<Contender>> guards_;
};

std::vector<std::string> nodes_of(const std::vector<std::shared_ptr<Contender>>& guards) {
  std::vector<std::string> nodes;
  for (const auto& guard : guards) nodes.push_back(guard->node_path());
  return nodes;
}

bool changes(const client::request::Write& w) {
  return !std::holds_alternative<write::CheckVersion>(w);
}

}  // namespace

std::shared_ptr<GuardedCommit> GuardedCommit::start(const GuardedWrites& writes, Deadline deadline,
                                                    Done done) {
  auto commit = make(writes, deadline, std::move(done));
  commit->begin();
  return commit;
}

std::shared_ptr<GuardedCommit> GuardedCommit::make(const GuardedWrites& writes, Deadline deadline,
                                                   Done done) {
  std::shared_ptr<GuardedCommit> commit(new GuardedCommit(writes, deadline, std::move(done)));
  commit->core().check_usable(writes.operation, commit->lock_path());
  return commit;
}

void GuardedCommit::begin() {
  if (auto error = refusal(what_)) return finish(std::move(error));
  for (const auto& guard : what_.guards) {
    on_loss_.emplace_back(guard->grant().loss_token(), OnLoss{shared_from_this()});
  }
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
  if (size > kMaxRequestBytes) {
    return Error(Errc::too_large, what.operation, what.lock_path(),
                 "the writes are larger than a ZooKeeper request can be");
  }
  for (const auto& guard : what.guards) {
    if (guard->grant().state() == HoldState::lost ||
        guard->grant().session() != what.guards.front()->grant().session()) {
      return Error(Errc::lock_lost, what.operation, guard->path_context().path().str(),
                   "the hold is lost; nothing was sent");
    }
  }
  return std::nullopt;
}

void GuardedCommit::assert_invariants() const noexcept {
  assert(over_ == !done_);
  assert(!guard_missing_ || request_ != client::RequestId{});
}

void GuardedCommit::submit() {
  const std::vector<std::string> nodes = nodes_of(what_.guards);
  client::request::Transaction transaction{.guard = nodes.front(), .writes = {}};
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    transaction.writes.emplace_back(write::CheckVersion{nodes[i]});
  }
  transaction.writes.insert(transaction.writes.end(), what_.writes.begin(), what_.writes.end());

  auto on_its_way = std::make_shared<OnItsWay>(what_.guards);
  // If a guard was released meanwhile, its znode may already belong to another contender.
  const bool all_hold =
      std::ranges::all_of(what_.guards, [](const auto& g) { return g->grant().check_held(); });
  const core::Instant now = core().scheduler().now();
  std::optional<Error> refused;
  {
    const EngineLock lock(entry());
    assert_invariants();
    guard_missing_ = false;
    if (given_up_) {
      refused.emplace(Errc::not_connected, what_.operation, lock_path(),
                      "the commit was abandoned; nothing was written");
    } else if (withdrawn_ || !all_hold) {
      refused.emplace(withdrawn_.value_or(Errc::lock_lost), what_.operation, lock_path(),
                      "the hold is lost; nothing was sent");
    } else if (deadline_.has_passed(now)) {
      refused.emplace(Errc::not_connected, what_.operation, lock_path(),
                      "the deadline has passed; nothing was sent");
    } else {
      if (!deadline_.is_never() && timer_ == client::TimerId{}) {
        timer_ = core().scheduler().at(deadline_.at(), [weak = weak_from_this()] {
          if (const auto alive = weak.lock()) alive->on_deadline();
        });
      }
      assert(!over_);
      request_ = core().coordinator().submit(
          {.operation = std::move(transaction), .session = what_.guards.front()->grant().session()},
          [self = shared_from_this(), nodes,
           way = std::move(on_its_way)](const auto& reply) mutable {
            if (core::sort_of(reply.status) == StatusSort::outcome_unknown) way->stays();
            way.reset();  // before the caller may release
            self->on_answered(reply, nodes);
          });
    }
  }
  if (refused) finish(std::move(refused));
}

// A downgrade renames the znode. A transaction that was refused for the old name has changed
// nothing, and is sent again.
void GuardedCommit::on_answered(const client::Reply& reply, const std::vector<std::string>& nodes) {
  const auto failed = static_cast<std::size_t>(reply.failed_operation);
  if (reply.status != Status::no_node || failed >= nodes.size()) return finish(verdict(reply));
  {
    const EngineLock lock(entry());
    guard_missing_ = true;
  }
  const auto& missing = what_.guards[failed];
  missing->when_name_settled([self = shared_from_this(), &missing, reply, node = nodes[failed]] {
    if (missing->node_path() == node) return self->finish(self->verdict(reply));
    self->submit();
  });
}

void GuardedCommit::on_deadline() {
  if (withdraw(Errc::not_connected)) return;
  finish(Error(
      Errc::outcome_unknown, what_.operation, lock_path(),
      "no reply before the deadline; the writes may have been executed, or be executed later"));
}

void GuardedCommit::withdraw() {
  {
    const EngineLock lock(entry());
    given_up_ = true;
  }
  withdraw(Errc::not_connected);
}

bool GuardedCommit::withdraw(Errc why) {
  {
    const EngineLock lock(entry());
    assert_invariants();
    if (over_ || withdrawn_) return true;
    const bool unsent = guard_missing_ || request_ == client::RequestId{} ||
                        core().coordinator().cancel_unsent(request_);
    if (unsent) withdrawn_ = why;
    if (!guard_missing_) return unsent;
  }
  // No request is outstanding, so no reply will end the commit.
  finish(Error(why, what_.operation, lock_path(),
               why == Errc::lock_lost ? "the hold is lost; nothing was written"
                                      : "the deadline has passed; nothing was written"));
  return true;
}

std::optional<Error> GuardedCommit::verdict(const client::Reply& reply) {
  if (reply.status == Status::ok) return std::nullopt;
  if (reply.failed_operation >= 0) return error_of_operation(reply);
  const auto error = [&](Errc code, std::string_view cause) {
    return Error(code, what_.operation, lock_path(), cause);
  };
  // If it was sent before its session ended, the writes may have been executed.
  const bool sent = reply.session != SessionId{};
  switch (core::sort_of(reply.status)) {
    case StatusSort::outcome_unknown: return error(Errc::outcome_unknown, {});
    case StatusSort::session:
      if (sent) return error(Errc::outcome_unknown, {});
      return error(Errc::lock_lost, "the session has ended; nothing was sent");
    case StatusSort::client_ended:
      if (sent) return error(Errc::outcome_unknown, {});
      break;
    case StatusSort::unsent: {
      const EngineLock lock(entry());
      if (withdrawn_ == Errc::lock_lost) {
        return error(Errc::lock_lost, "the hold was lost while disconnected; nothing was sent");
      }
      return error(Errc::not_connected, "disconnected until the deadline; nothing was sent");
    }
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
    const std::string& path = what_.guards[failed]->path_context().path().str();
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
  Done done;
  client::TimerId timer{};
  {
    const EngineLock lock(entry());
    if (std::exchange(over_, true)) return;
    done = std::exchange(done_, nullptr);
    timer = timer_;
  }
  core().scheduler().cancel(timer);
  on_loss_.clear();
  done(std::move(error));
}

}  // namespace zklock::detail
