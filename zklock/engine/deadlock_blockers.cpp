// SPDX-License-Identifier: Apache-2.0
// Which contenders of one client block each other on a path, for the DeadlockDetector.
#include "zklock/engine/contender.h"
#include "zklock/engine/lock_node.h"
#include "zklock/engine/path_lock.h"

namespace zklock::detail {

namespace {

Access access_of(const Contender& contender) {
  return contender.lock_node().machine().policy().rule.access;
}

/// Returns whether `holder` holds, and `waiter` cannot be granted before that hold ends. Reads the
/// clock: a hold whose lease has expired blocks none. Returns false for permits, because a
/// semaphore has several.
bool blocks(const Contender& holder, const Contender& waiter) {
  if (!holder.holds()) return false;
  const Access ours = access_of(holder);
  const Access theirs = access_of(waiter);
  if (ours == Access::permits || theirs == Access::permits) return false;
  const bool only_reads = ours == Access::shared || holder.ownership().exclusive_count() == 0;
  if (only_reads && theirs == Access::shared) return false;
  return holder.hold_record().check_held();  // last: it reads the clock
}

/// Returns whether `writer` waits ahead of the reader `reader`, or may do so: before both znodes
/// exist, the order is not known. Contenders at a gate, and those that share a znode, are left out.
bool waits_ahead(const Contender& writer, const Contender& reader) {
  if (writer.ownership().state() != core::Ownership::State::waiting) return false;
  if (access_of(reader) != Access::shared || access_of(writer) != Access::exclusive) return false;
  const core::AcquireFsm& theirs = writer.lock_node().machine();
  const core::AcquireFsm& ours = reader.lock_node().machine();
  if (theirs.policy().gate || writer.count_ahead() > 0) return false;
  if (!theirs.node().exists() || !ours.node().exists()) return true;
  return theirs.node().sequence() < ours.node().sequence();
}

/// Returns whether only unlock() by the owner's thread, or a loss, ends the hold.
bool is_thread_bound(const Contender& holder) {
  const core::Ownership& ownership = holder.ownership();
  return !holder.hold_record().is_limited() && ownership.count(core::CountKind::hold) == 0 &&
         ownership.count(core::CountKind::shared_hold) == 0;
}

}  // namespace

BlockedContender PathLock::blockers_of(const Owner& key) {
  BlockedContender blocked;
  const auto waiter = find(key);
  if (!waiter || waiter->ownership().state() != core::Ownership::State::waiting) return blocked;
  blocked.contender = waiter.get();
  blocked.has_node = waiter->lock_node().machine().node().exists();
  for (const auto& [owner, other] : contenders_) {
    const bool waits = waits_ahead(*other, *waiter);
    if (!waits && !blocks(*other, *waiter)) continue;
    blocked.blockers.push_back({.owner = other->owner(),
                                .contender = other.get(),
                                .is_thread_bound = waits || is_thread_bound(*other),
                                .waits = waits});
  }
  return blocked;
}

}  // namespace zklock::detail
