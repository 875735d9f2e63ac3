// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/process_mutex.h"

#include <array>
#include <cstddef>
#include <memory>

#include <pthread.h>

namespace zklock::client {
namespace {

using Mutexes = std::array<Mutex, static_cast<std::size_t>(ProcessMutex::log) + 1>;

Mutexes& mutexes() noexcept {
  static auto* const kAll = new Mutexes;
  return *kAll;
}

Mutex& mutex(ProcessMutex which) noexcept {
  return mutexes()[static_cast<std::size_t>(which)];
}

// The mutexes are locked in one handler and unlocked in another.
void before_fork() noexcept ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  mutex(ProcessMutex::log).lock();
}

void after_fork() noexcept ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  mutex(ProcessMutex::log).unlock();
}

// `handles` is held while host names are resolved, so fork() does not wait for it. It guards no
// data: the child makes it anew.
void in_child() noexcept {
  after_fork();
  std::construct_at(&mutex(ProcessMutex::handles));
}

}  // namespace

Mutex& process_mutex(ProcessMutex which) noexcept {
  static const int kRegistered = ::pthread_atfork(&before_fork, &after_fork, &in_child);
  static_cast<void>(kRegistered);
  return mutex(which);
}

}  // namespace zklock::client
