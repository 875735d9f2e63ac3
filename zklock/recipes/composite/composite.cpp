// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/composite/composite.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "zklock/core/status.h"
#include "zklock/engine/callback/post_or_run.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/queue_reader.h"
#include "zklock/engine/session/process.h"
#include "zklock/error.h"
#include "zklock/recipes/locks/shared_permit_count.h"

namespace zklock::detail {

namespace {

std::string join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// Returns whether the reply to the quorum request clears the mark of an unreachable part. It does
/// if the servers have answered. It also does if the request was never sent, because no later reply
/// can clear the mark. After any other reply, only a new connection clears the mark.
bool clears_mark(core::Status status) noexcept {
  switch (core::sort_of(status)) {
    case core::StatusSort::done:
    case core::StatusSort::retry_later:
    case core::StatusSort::unsent:
    case core::StatusSort::tree_conflict: return true;
    case core::StatusSort::refused: return status != core::Status::not_connected;
    case core::StatusSort::outcome_unknown:
    case core::StatusSort::session:
    case core::StatusSort::client_ended: return false;
  }
  return false;
}

}  // namespace

// ---- PathPartLock -------------------------------------------------------------------------------

PathPartLock::PathPartLock(ClientCore& core, const core::LockPath& path, core::QueueRule rule,
                           std::chrono::milliseconds lock_delay, LockEventSink event_sink,
                           std::string_view label)
    : path_lock_(core.path_lock(path)),
      rule_(rule),
      lock_delay_(lock_delay),
      event_sink_(std::move(event_sink)),
      metrics_(core.metrics_of(label)) {
  path_lock_->attach();
}

PathPartLock::~PathPartLock() {
  if (context().forked()) {
    keep_for_ever(path_lock_);
    keep_for_ever(event_sink_.listener);
  } else {
    path_lock_->detach();
  }
}

std::shared_ptr<PendingAcquire> PathPartLock::acquire(AcquireRequest request) {
  request.rule = rule_;
  request.kind = rule_.count_kind(request.kind);
  request.event_sink = event_sink_;
  request.lock_delay = lock_delay_;
  request.metrics = {&metrics_};
  return PendingAcquire::start(path_lock_, std::move(request), {});
}

bool PathPartLock::unlock(const Owner& owner) {
  // ReentryCounter has only exclusive counts.
  const bool may_nest = !is_reader() && owner == Owner::this_thread();
  if (may_nest && path_lock_->unlock_nested()) return true;
  return path_lock_->unlock(owner, rule_.count_kind(core::CountKind::lock), rule_.access);
}

int PathPartLock::count(const Owner& owner) const {
  const core::Ownership all = ownership(owner);
  return is_reader() ? all.count() - all.exclusive_count() : all.exclusive_count();
}

std::vector<Participant> PathPartLock::participants(const TimeLimit& limit) const {
  const std::int32_t total =
      rule_.shares_count() ? read_permit_count(*path_lock_, rule_.total, limit) : 0;
  return read_participants(path_lock_, limit, total);
}

bool PathPartLock::has_contact(const Owner& owner) {
  {
    const EngineLock lock(path_lock_->entry());
    if (!context().keeper().has_contact()) return false;
  }
  return !path_lock_->node_of(owner).empty();
}

// ---- Composite ----------------------------------------------------------------------------------

Composite::Composite(std::vector<Part> parts, const Rule& rule)
    : parts_(std::move(parts)), rule_(rule), unreachable_(parts_.size()) {}

std::string Composite::paths() const {
  std::set<std::string> names;
  for (const Part& part : parts_) names.insert(part->path());
  return join(names);
}

bool Composite::forked() const noexcept {
  return std::ranges::any_of(parts_, [](const Part& p) { return p->context().forked(); });
}

void Composite::check_usable(const char* operation) const {
  if (forked()) throw Error(Errc::forked, operation, paths());
  const auto closed =
      std::ranges::count_if(parts_, [](const Part& p) { return p->context().closed(); });
  if (static_cast<std::size_t>(closed) > parts_.size() - rule_.needed) {
    throw Error(Errc::closed, operation, paths());
  }
}

void Composite::unlock_at_thread_exit() {
  if (!all_needed()) call_at_thread_exit(shared_from_this());
  for (const Part& part : parts_) part->unlock_at_thread_exit();
}

void Composite::locked(const Owner& owner, std::vector<std::size_t> taken) {
  if (all_needed()) return;
  const client::MutexLock guard(mutex_);
  const auto found = locked_.find(owner);
  if (found != locked_.end()) return found->second.push_back(std::move(taken));
  locked_.emplace(owner, std::vector<std::vector<std::size_t>>{std::move(taken)});
}

std::vector<std::size_t> Composite::take_locked(const Owner& owner) {
  std::vector<std::size_t> all(parts_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (all_needed()) return all;
  const client::MutexLock guard(mutex_);
  const auto found = locked_.find(owner);
  if (found == locked_.end()) throw Error(Errc::not_owner, "unlock", paths());
  auto last = std::move(found->second.back());
  found->second.pop_back();
  if (found->second.empty()) locked_.erase(found);
  return last;
}

void Composite::unlock(const Owner& owner) {
  if (forked()) throw Error(Errc::forked, "unlock", paths());
  auto taken = take_locked(owner);
  std::set<std::string> refused;
  std::size_t refusals = 0;
  std::ranges::reverse(taken);
  for (const std::size_t i : taken) {
    if (part(i).unlock(owner)) continue;
    refused.insert(part(i).path());
    ++refusals;
  }
  if (refusals == taken.size()) throw Error(Errc::not_owner, "unlock", join(refused));
  if (refusals > 0) {
    throw Error(Errc::not_owner, "unlock", join(refused),
                "the owner does not hold these locks; the other locks were unlocked");
  }
}

int Composite::count(const Owner& owner) const {
  std::vector<int> counts;
  for (const Part& part : parts_) counts.push_back(part->count(owner));
  const auto weakest = counts.begin() + static_cast<std::ptrdiff_t>(rule_.needed - 1);
  std::ranges::nth_element(counts, weakest, std::ranges::greater());
  return *weakest;
}

void Composite::set_unreachable(std::size_t i) {
  EngineContext& context = part(i).context();
  const std::uint64_t mark = 1 + context.keeper().connection();
  if (unreachable_.at(i).exchange(mark) == mark || !context.keeper().is_connected()) return;
  context.coordinator().submit(
      {.operation = client::request::Check{"/"}, .fail_if_disconnected = true},
      [composite = weak_from_this(), i, mark](const client::Reply& reply) {
        const auto alive = composite.lock();
        std::uint64_t expected = mark;
        if (alive && clears_mark(reply.status)) {
          alive->unreachable_.at(i).compare_exchange_strong(expected, 0);
        }
      });
}

bool Composite::is_unreachable(std::size_t i) const {
  const std::uint64_t mark = unreachable_.at(i);
  if (mark == 0) return false;
  LeaseKeeper& keeper = part(i).context().keeper();
  return !keeper.is_connected() || 1 + keeper.connection() == mark;
}

bool Composite::enough_reachable() const {
  std::size_t reachable = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) reachable += is_unreachable(i) ? 0 : 1;
  return reachable >= rule_.needed;
}

void Composite::post(std::function<void()> task) {
  const auto open =
      std::ranges::find_if(parts_, [](const Part& p) { return !p->context().closed(); });
  auto& context = (open != parts_.end() ? *open : parts_.front())->context();
  post_or_run(context.shared_from_this(), context.dispatcher(), std::move(task));
}

std::stop_token Composite::closing() {
  const client::MutexLock guard(mutex_);
  return closing_.get_token();
}

void Composite::close() {
  std::stop_source closing;
  {
    const client::MutexLock guard(mutex_);
    std::swap(closing, closing_);
  }
  closing.request_stop();
  if (rule_.listener) rule_.listener->remove();
}

// The parts release the locks of the thread. Only the record of them is deleted here.
void Composite::thread_exits(Owner owner) noexcept {
  if (forked()) return;
  const client::MutexLock guard(mutex_);
  locked_.erase(owner);
}

}  // namespace zklock::detail
