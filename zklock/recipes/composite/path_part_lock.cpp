// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/composite/path_part_lock.h"

#include <cstdint>
#include <utility>

#include "zklock/engine/client_core.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/queue_reader.h"
#include "zklock/engine/session/fork_guard.h"
#include "zklock/recipes/locks/shared_permit_count.h"

namespace zklock::detail {

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
  if (core().forked()) {
    keep_for_ever(path_lock_);
    keep_for_ever(event_sink_.listener);
  } else {
    path_lock_->detach();
  }
}

std::shared_ptr<PendingAcquire> PathPartLock::acquire(Request request) {
  return PendingAcquire::start(path_lock_,
                               {.owner = request.owner,
                                .rule = rule_,
                                .time_limit = request.time_limit,
                                .kind = count_kind(request.kind),
                                .queue_again = request.queue_again,
                                .limit = request.limit,
                                .event_sink = event_sink_,
                                .lock_delay = lock_delay_,
                                .bound = request.bound,
                                .metrics = {&metrics_},
                                .texts = std::move(request.texts),
                                .done = std::move(request.done)},
                               {});
}

core::CountKind PathPartLock::count_kind(core::CountKind kind) const noexcept {
  return is_reader() ? core::as_shared(kind) : kind;
}

bool PathPartLock::unlock(const Owner& owner) {
  // ReentryCounter has only exclusive counts.
  const bool may_nest = !is_reader() && owner == Owner::this_thread();
  if (may_nest && path_lock_->unlock_nested()) return true;
  return path_lock_->unlock(owner, count_kind(core::CountKind::lock), rule_.access);
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
    if (!core().keeper().has_contact()) return false;
  }
  return !path_lock_->node_of(owner).empty();
}

}  // namespace zklock::detail
