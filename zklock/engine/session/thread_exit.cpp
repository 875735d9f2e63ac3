// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/thread_exit.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <system_error>

#include <pthread.h>

#include "zklock/engine/session/process.h"

namespace zklock::detail {
namespace {

/// The listeners of one thread. Used by that thread only.
class ExitListeners {
 public:
  bool is_of_this_process() const noexcept { return !fork_guard_.forked(); }

  void add(const std::weak_ptr<ThreadExitListener>& listener) {
    if (!listeners_.insert(listener).second || listeners_.size() < prune_at_) return;
    std::erase_if(listeners_, [](const auto& l) { return l.expired(); });
    prune_at_ = std::max(kFirstPruneAt, 2 * listeners_.size());
  }

  void call_all(Owner owner) const noexcept {
    for (const auto& weak : listeners_) {
      if (const auto listener = weak.lock()) listener->thread_exits(owner);
    }
  }

 private:
  static constexpr std::size_t kFirstPruneAt = 16;

  // Ordered by control block: its address is not reused while a weak_ptr to it exists.
  std::set<std::weak_ptr<ThreadExitListener>, std::owner_less<>> listeners_;
  std::size_t prune_at_ = kFirstPruneAt;
  ForkGuard fork_guard_;
};

void thread_ends(void* listeners) {
  // The key's value is already null: a listener that is registered from now on is called in another
  // round.
  const std::unique_ptr<const ExitListeners> mine(static_cast<const ExitListeners*>(listeners));
  if (mine->is_of_this_process()) mine->call_all(Owner::this_thread());
}

/// A POSIX key rather than a thread_local object. Keys are destroyed after all thread_local
/// objects, so a thread_local guard that unlocks in its destructor still finds its lock.
class Key {
 public:
  Key() {
    if (const int error = ::pthread_key_create(&key_, &thread_ends); error != 0) {
      throw std::system_error(error, std::generic_category(), "pthread_key_create");
    }
  }
  ExitListeners* get() const noexcept {
    return static_cast<ExitListeners*>(::pthread_getspecific(key_));
  }
  void set(ExitListeners* listeners) const {
    if (const int error = ::pthread_setspecific(key_, listeners); error != 0) {
      throw std::system_error(error, std::generic_category(), "pthread_setspecific");
    }
  }

 private:
  pthread_key_t key_{};
};

const Key& key() {
  // Never destroyed: threads may end after the static objects.
  static const Key& instance = *new Key;
  return instance;
}

}  // namespace

void call_at_thread_exit(const std::weak_ptr<ThreadExitListener>& listener) {
  ExitListeners* listeners = key().get();
  if (listeners == nullptr || !listeners->is_of_this_process()) {
    auto fresh = std::make_unique<ExitListeners>();
    key().set(fresh.get());
    const std::unique_ptr<ExitListeners> stale(listeners);
    listeners = fresh.release();
  }
  listeners->add(listener);
}

}  // namespace zklock::detail
