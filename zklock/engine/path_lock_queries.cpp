// SPDX-License-Identifier: Apache-2.0
// Facts about the contenders of a path: for DeadlockDetector, for the metrics, and in error texts.
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
  return holder.grant().check_held();  // last: it reads the clock
}

/// Returns whether `writer` waits ahead of the reader `reader`, or may do so: before both znodes
/// exist, the order is not known. Contenders at a gate, and those that share a znode, are left out.
bool waits_ahead(const Contender& writer, const Contender& reader) {
  if (writer.ownership().state() != core::Ownership::State::waiting) return false;
  if (access_of(reader) != Access::shared || access_of(writer) != Access::exclusive) return false;
  const core::AcquireFsm& theirs = writer.lock_node().machine();
  const core::AcquireFsm& ours = reader.lock_node().machine();
  if (theirs.policy().gate || writer.members_ahead() > 0) return false;
  if (!theirs.node().exists() || !ours.node().exists()) return true;
  return theirs.node().sequence() < ours.node().sequence();
}

/// Returns whether only unlock() by the owner's thread, or a loss, ends the hold.
bool is_thread_bound(const Contender& holder) {
  const core::Ownership& ownership = holder.ownership();
  return !holder.grant().is_limited() && ownership.count(core::CountKind::hold) == 0 &&
         ownership.count(core::CountKind::shared_hold) == 0;
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

std::size_t PathLock::add_to(LabelStates& states) const {
  assert_held();
  assert((assert_invariants(), true));
  const core::Instant now = context().scheduler().now();
  for (const auto& [owner, contender] : contenders_) contender->add_to(states, now);
  return contenders_.size();
}

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
