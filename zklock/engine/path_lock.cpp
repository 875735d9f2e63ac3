// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/path_lock.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <optional>

#include "zklock/engine/contender.h"
#include "zklock/engine/lock_node.h"
#include "zklock/engine/pending_acquire.h"

namespace zklock::detail {

namespace {

Caller caller_of(const AcquireRequest& request) {
  return {.owner = request.on_behalf_of.value_or(request.owner),
          .texts = request.texts,
          .bound = request.bound,
          .is_candidate = request.metrics.leads};
}

/// Returns how an owner that cannot release a count of `kind` holds; empty if it does not hold.
std::string_view other_count(const core::Ownership& own, core::CountKind kind) {
  using core::CountKind;
  if (kind == CountKind::lock && own.count(CountKind::shared_lock) > 0) {
    return "this thread holds a read lock, not a write lock; call unlock_shared()";
  }
  if (kind == CountKind::shared_lock && own.count(CountKind::lock) > 0) {
    return "this thread holds a write lock, not a read lock; call unlock()";
  }
  if (own.count() > 0) {
    return "this thread holds the lock by a Hold, not by lock(); release the Hold";
  }
  return {};
}

}  // namespace

PathLock::PathLock(std::shared_ptr<EngineContext> context, core::LockPath path, bool counter_ended)
    : context_(std::move(context)), path_(std::move(path)), knowledge_(*this, counter_ended) {}

// Checks some contenders only: a path can have thousands.
void PathLock::assert_invariants() const noexcept {
  for (const auto& node : shared_nodes()) node->assert_invariants();
  int unchecked = 8;
  for (const auto& [owner, contender] : contenders_) {
    if (unchecked-- == 0) return;
    assert(contender->key() == owner);
    assert((contender->oldest_call() != nullptr) ==
           (contender->ownership().state() == core::Ownership::State::waiting));
    contender->assert_invariants();
  }
}

void PathLock::check_clocks() {
  const EngineLock lock(entry());
  for (const auto& [owner, contender] : by_owner()) {
    contender->check_clock();  // its timer may fire a moment later
  }
}

void PathLock::drop_ended_calls(const Owner& owner) noexcept {
  if (const auto contender = find(owner)) contender->drop_ended_calls();
}

std::optional<Error> PathLock::refusal(const AcquireRequest& request) const {
  if (context().closed()) return Error(Errc::closed, "lock", path().str());
  const bool destroyed = request.object && *request.object;
  if (!destroyed) return std::nullopt;
  return Error(Errc::closed, "lock", path().str(), "the mutex was destroyed meanwhile");
}

std::optional<Error> PathLock::acquire(const std::shared_ptr<PendingAcquire>& call,
                                       AcquireRequest request) {
  // Made without the mutex: a system call and several allocations, which are rarely wasted. A
  // retained or shared lock znode needs no thread name.
  Caller caller = caller_of(request);
  if (!request.cohort_policy.shares()) caller.record_thread_name();
  const auto contender =
      std::make_shared<Contender>(shared_from_this(), request.owner, caller,
                                  request.time_limit.waits(), request.event_sink, request.metrics);
  const EngineLock lock(entry());
  if (call->has_ended()) return std::nullopt;
  if (auto refused = refusal(request)) {
    call->refuse();
    return refused;
  }
  if (const auto present = find(request.owner)) {
    present->join(call, request.rule);
    return std::nullopt;
  }
  if (auto refused = context().cleaner().retry_and_report(path())) {
    call->complete({.error = std::move(refused)});
    return std::nullopt;
  }
  core::AcquireFsm::Policy policy{.rule = request.rule,
                                  .gate = request.gate,
                                  .wait = contender->waits(),
                                  .queue_again = request.queue_again,
                                  .always_list = static_cast<bool>(request.event_sink),
                                  .count_children = !omits_count(),
                                  .lock_delay = request.lock_delay};
  contender->set_lock_node(
      LockNode::for_contender(shared_from_this(), caller, policy, request.cohort_policy));
  enlist(contender);
  if (contenders_.size() > 1) call->set_had_local_rival();
  contender->join(call, policy.rule);
  contender->start(caller);
  return std::nullopt;
}

void PathLock::enlist(const std::shared_ptr<Contender>& contender) {
  contenders_[contender->key()] = contender;
}

bool PathLock::anyone_waits() const {
  return std::ranges::any_of(contenders_, [](const auto& entry) {
    return entry.second->ownership().state() == core::Ownership::State::waiting;
  });
}

std::shared_ptr<Contender> PathLock::find(const Owner& owner) const {
  assert_held();
  const auto found = contenders_.find(owner);
  return found == contenders_.end() ? nullptr : found->second;
}

std::map<Owner, std::shared_ptr<Contender>> PathLock::by_owner() const {
  return {contenders_.begin(), contenders_.end()};
}

void PathLock::dismiss(const Contender& contender) noexcept {
  const auto found = contenders_.find(contender.key());
  if (found != contenders_.end() && found->second.get() == &contender) contenders_.erase(found);
}

void PathLock::cancel_all(const void* object) {
  const EngineLock lock(entry());
  for (const auto& [owner, contender] : by_owner()) contender->cancel_calls(object);
}

void PathLock::fail_waiting(Errc code, const std::string& cause) {
  const EngineLock lock(entry());
  const auto contenders = contenders_;
  for (const auto& [owner, contender] : contenders) contender->fail(code, cause);
}

bool PathLock::includes(Access access, const Contender& contender) {
  return access == Access::permits ||
         contender.lock_node().machine().policy().rule.access != Access::permits;
}

bool PathLock::unlock(const Owner& owner, core::CountKind kind, Access access) {
  const bool by_lock = kind == core::CountKind::lock && owner == Owner::this_thread();
  std::shared_ptr<Contender> contender;  // destroyed without the mutex
  const EngineLock lock(entry());
  contender = find(owner);
  if (!contender || !includes(access, *contender)) return false;
  if (by_lock && contender->ownership().count(kind) == 1) reentry_counter_.end();
  return contender->drop(kind) != core::Ownership::Dropped::refused;
}

core::Ownership PathLock::ownership(const Owner& owner, Access access) {
  const EngineLock lock(entry());
  const auto contender = find(owner);
  if (!contender) return {};
  contender->check_validity();
  if (!contender->holds() || !includes(access, *contender)) return {};
  core::Ownership all = contender->ownership();
  const int more = owner == Owner::this_thread() ? reentry_counter_.count() : 0;
  for (int i = 0; i < more; ++i) all.add(core::CountKind::lock);
  return all;
}

void PathLock::attach() {
  const EngineLock lock(entry());
  ++objects_;
}

void PathLock::detach() {
  const EngineLock lock(entry());
  if (--objects_ > 0) return;
  sequence_hint_.end();
  const auto shared = shared_nodes();  // a copy: a lock node that is deleted is removed
  for (const auto& node : shared) node->end_idling();
  if (context().closed()) return end_all();  // perhaps before its own close()
  const auto is_locked = [](const auto& entry) {
    const core::Ownership& ownership = entry.second->ownership();
    return ownership.count(core::CountKind::lock) > 0 ||
           ownership.count(core::CountKind::shared_lock) > 0;
  };
  if (std::ranges::any_of(contenders_, is_locked)) warn("the mutex is destroyed while locked");
}

void PathLock::on_path_recreated() {
  for (const auto& [owner, contender] : by_owner()) contender->on_path_recreated();
  const auto shared = shared_nodes();  // a copy: a lock node that is lost is removed
  for (const auto& node : shared) {
    if (node->is_idle()) node->on_path_recreated();
  }
}

std::shared_ptr<Contender> PathLock::first_on_behalf_of(const Owner& owner) const {
  std::shared_ptr<Contender> first;
  for (const auto& [key, contender] : contenders_) {
    if (contender->owner() == owner && (!first || key < first->key())) first = contender;
  }
  return first;
}

PathLock::Standing PathLock::standing_of(const Owner& owner) {
  const EngineLock lock(entry());
  auto contender = find(owner);
  if (!contender) contender = first_on_behalf_of(owner);
  if (!contender) return {};
  return {contender->lock_node().own_name(), contender->count_ahead()};
}

std::vector<std::string> PathLock::nodes() const {
  const EngineLock lock(entry());
  return own_node_names();
}

std::vector<std::string> PathLock::own_node_names() const {
  std::vector<std::string> names;
  for (const auto& [owner, contender] : contenders_) {
    std::ranges::move(contender->lock_node().own_names(), std::back_inserter(names));
  }
  for (const auto& node : shared_nodes()) {
    if (node->is_idle()) names.push_back(node->own_name());
  }
  return names;
}

void PathLock::end_all() {
  create_limiter_.close();
  session_handoff_.clear();
  const auto shared = shared_nodes();  // a copy: close() removes it
  for (const auto& node : shared) node->close();
  for (const auto& [owner, contender] : by_owner()) {
    contender->close();
    if (contender->ownership().count() == 0) dismiss(*contender);
  }
  if (objects_ > 0) return;
  reentry_counter_.clear();  // without a public object, there is no unlock()
  // The contenders may hold the last references to parts of this path lock.
  after_unlock([dropped = std::exchange(contenders_, {})] {});
}

void PathLock::close() {
  const EngineLock lock(entry());
  end_all();
}

// ---- slow waits ---------------------------------------------------------------------------------

void PathLock::on_tick(std::uint64_t tick) {
  const std::uint64_t last = std::exchange(last_tick_, tick);
  if (last == tick || !context().logs(LogLevel::info)) return;
  if (last + 1 != tick) slow_wait_ = {};  // no contender has waited in between
  const auto oldest = oldest_waiter();
  std::optional<core::Duration> waited;
  if (oldest) waited = context().scheduler().now() - oldest->call->began();
  if (slow_wait_.is_due(waited) && context().describe_wait(path()))
    slow_wait_.on_described(*waited);
}

std::optional<PathLock::Waiter> PathLock::oldest_waiter() const {
  std::optional<Waiter> oldest;
  for (const auto& [owner, contender] : contenders_) {
    const PendingAcquire* const call = contender->oldest_call();
    if (call != nullptr && (!oldest || call->began() < oldest->call->began())) {
      oldest = Waiter{contender->owner(), call};
    }
  }
  return oldest;
}

void PathLock::log_wait(const std::string& what) {
  const EngineLock lock(entry());
  const auto oldest = oldest_waiter();
  if (!oldest) return;
  const Caller caller{.owner = oldest->owner, .texts = oldest->call->texts()};
  LockEventReporter(context(), path(), caller, {})
      .log(LogLevel::info, LogKind::slow_acquire, "not acquired yet: " + what,
           {.waited = context().scheduler().now() - oldest->call->began()});
}

void PathLock::thread_exits(Owner owner) noexcept {
  if (context().forked()) return;
  bool dropped = false;
  {
    const EngineLock lock(entry());
    reentry_counter_.end();
    const auto contender = find(owner);
    if (!contender) return;
    // Exclusive counts are last: nothing is downgraded.
    for (const auto kind : {core::CountKind::shared_lock, core::CountKind::lock}) {
      while (contender->drop(kind, true) != core::Ownership::Dropped::refused) dropped = true;
    }
  }
  if (dropped) warn("a thread ended without unlocking it");
}

// ---- facts for the metrics and error texts ------------------------------------------------------

std::size_t PathLock::add_to(LabelStates& states) const {
  assert_held();
  assert((assert_invariants(), true));
  const core::Instant now = context().scheduler().now();
  for (const auto& [owner, contender] : contenders_) contender->add_to(states, now);
  return contenders_.size();
}

void PathLock::refuse_unlock(const Owner& owner, core::CountKind kind, const char* operation) {
  throw Error(Errc::not_owner, operation, path().str(), not_owner_text(owner, kind));
}

std::string PathLock::not_owner_text(const Owner& owner, core::CountKind kind) {
  std::string text = "this thread does not hold the lock";
  const EngineLock lock(entry());
  if (const auto own = find(owner)) {
    if (own->ownership().count() > 0 && !includes(Access::exclusive, *own)) {
      return "this thread holds permits of the path, not the lock; unlock the MultiMutex";
    }
    const auto how = other_count(own->ownership(), kind);
    if (!how.empty()) return std::string(how);
  }
  for (const auto& [key, contender] : by_owner()) {
    contender->check_validity();
    if (key == owner || !contender->holds()) continue;
    const Caller& caller = contender->lock_node().caller();
    text += "; the owner " + contender->owner().to_string();
    // The caller of a shared lock node can be another one.
    if (caller.owner == contender->owner()) {
      text.append(" (thread \"").append(caller.thread.data()).append("\")");
    }
    return text + " of this client does";
  }
  return text + ", and no other owner of this client does";
}

}  // namespace zklock::detail
