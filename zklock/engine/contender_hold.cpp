// SPDX-License-Identifier: Apache-2.0
// Members of Contender that are used from its grant to its release or loss.
#include <string>
#include <utility>

#include "zklock/core/slow_wait.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/session/process.h"

namespace zklock::detail {

using core::Ownership;

// ---- the grant ----------------------------------------------------------------------------------

void Contender::on_granted(core::Instant now) {
  path_->assert_held();
  const Calls calls = std::exchange(calls_, {});
  assert(!calls.empty());
  const core::HoldLimit limit = calls.front()->terms().limit;  // the oldest call decides it
  const std::uint64_t grant_index = node_->count_grant();
  record_ = std::make_unique<HoldRecord>(
      context(), reporter_,
      HoldRecord::Terms{.token = {node_->machine().node().token().zxid, grant_index},
                        .lease = node_->lease(),
                        .permits = policy().rule.wanted,
                        .limit = limit,
                        .since = now},
      limit.longest ? clock_reader() : nullptr);
  log_acquired(now - calls.front()->began());
  ownership_.on_granted();  // after record_ is set: check_validity() reads it
  for (const auto& call : calls) {
    give_count(*call);
    call->count_grant(now);
  }
  assert_invariants();
  // If the lease has lapsed since lease_for_grant(), its event came before this contender held.
  check_validity();
  downgrade_if_only_shared();
}

void Contender::log_acquired(core::Duration waited) const {
  const bool is_slow = waited >= core::SlowWait::kSlow;
  const LogLevel level = is_slow ? LogLevel::info : LogLevel::debug;
  if (!context().logs(level)) return;
  const bool logs_events = context().logs(LogLevel::debug);
  reporter_.log(level, logs_events ? LogKind::event : LogKind::slow_acquire, "acquired",
                {.token = record_->token(), .node = node_->own_name(), .waited = waited});
}

void Contender::give_count(PendingAcquire& call) {
  const auto self = shared_from_this();
  call.complete({.contender = self});
  ownership_.add(call.kind());
  const std::uint64_t thread = call.reentrant_thread();
  if (thread != 0) path_->on_locked(thread, {self, record_.get()});
}

void Contender::count_end(HoldEnd end, core::Instant now) const noexcept {
  if (metrics_ != nullptr) metrics_->add_hold(end, now - record_->since());
}

core::Instant Contender::check_validity() {
  path_->assert_held();
  if (!holds()) return {};
  const core::Instant now = context().scheduler().now();
  if (!record_->check_valid(now)) lose(record_->loss_reason().value());
  return now;
}

std::function<void()> Contender::clock_reader() {
  return under_lock(weak_from_this(), [this]() { check_clock(); });
}

void Contender::check_clock() {
  check_validity();
  if (holds()) record_->check_clock();
}

void Contender::on_suspended() {
  if (holds()) record_->on_suspended();
}

void Contender::on_resumed() {
  if (holds()) record_->on_resumed();
}

void Contender::on_release_requested(bool force) {
  check_validity();
  if (!holds()) return;
  if (force) return lose(LossReason::forced);
  post_after_unlock(
      path_, [source = record_->on_release_requested()]() mutable { source.request_stop(); });
}

// ---- a release ----------------------------------------------------------------------------------

Ownership::Dropped Contender::drop(core::CountKind kind, bool thread_ended) noexcept {
  path_->assert_held();
  // A hold that has lapsed is lost, not released.
  const core::Instant now = check_validity();
  const bool held = holds();
  const auto dropped = ownership_.drop(kind);
  const bool exclusive = dropped != Ownership::Dropped::refused && !core::is_shared(kind);
  if (thread_ended && exclusive) thread_ended_ = true;
  if (dropped == Ownership::Dropped::retained) downgrade_if_only_shared();
  if (dropped != Ownership::Dropped::last) return dropped;
  outlive_lock();
  path_->dismiss(*this);
  if (!held) return dropped;
  record_->release();
  count_end(HoldEnd::released, now);
  if (context().logs(LogLevel::debug)) {
    reporter_.log(LogLevel::debug, LogKind::event, "released",
                  {.token = record_->token(), .held = now - record_->since()});
  }
  thread_ended_ |= thread_ended;
  // A transaction in flight that checks the znode must end before the next grant.
  const bool may_grant = !thread_ended_ && !record_->has_open_commits();
  if (may_grant && node_->hand_off_or_retain()) return dropped;
  using Cause = LockNode::RemovalCause;
  const auto next = may_grant ? node_->session_successor() : nullptr;
  node_->remove(thread_ended_ ? Cause::unfinished_release
                : next        ? Cause::unannounced_release
                              : Cause::release);
  if (next) next->on_predecessor_released();
  assert_invariants();
  return dropped;
}

void Contender::downgrade_if_only_shared() {
  if (!holds() || ownership_.exclusive_count() > 0 || thread_ended_) return;
  node_->downgrade();
}

void Contender::close() {
  outlive_lock();
  for (const auto& call : std::exchange(calls_, {})) call->complete(closed());
  ownership_.withdraw();  // or it could still be granted, and no call would release it
  check_validity();       // a hold that was lost before is not lost by the close
  lose(LossReason::closed);
  node_->close();
}

// ---- used by Hold -------------------------------------------------------------------------------

void Contender::release(core::CountKind kind) noexcept {
  const auto self = shared_from_this();
  if (context().forked()) {
    keep_for_ever(self);
    return;
  }
  const EngineLock lock(path_->entry());
  drop(kind);
}

std::string Contender::node_path() const {
  // In a fork()ed child no mutex may be locked. There it is the path before a downgrade.
  if (context().forked()) return path_->child(node_->machine().node().name());
  const EngineLock lock(path_->entry());
  return path_->child(node_->own_name());
}

std::string Contender::expose_node() {
  path_->assert_held();
  node_->expose();
  return path_->child(node_->own_name());
}

void Contender::watch_node() {
  const EngineLock lock(path_->entry());
  if (holds()) node_->watch_own();
}

bool Contender::renew(std::optional<core::Duration> length) {
  if (context().forked()) return false;
  const EngineLock lock(path_->entry());
  check_validity();
  return holds() && record_->renew(length, clock_reader());
}

bool Contender::delete_with_node(std::string path) {
  check_validity();
  if (!holds()) return false;
  node_->delete_with_node(std::move(path));
  return true;
}

}  // namespace zklock::detail
