// SPDX-License-Identifier: Apache-2.0
// The error texts of PathLock.
#include "zklock/engine/path_lock.h"

namespace zklock::detail {

namespace {

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
