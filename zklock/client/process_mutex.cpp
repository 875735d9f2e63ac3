// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/process_mutex.h"

#include <array>
#include <cstddef>

#include <pthread.h>

namespace zklock::client {
namespace {

using Mutexes = std::array<std::mutex, static_cast<std::size_t>(ProcessMutex::requests) + 1>;

Mutexes& mutexes() noexcept {
  static auto* const all = new Mutexes;
  return *all;
}

void before_fork() noexcept {
  for (std::mutex& each : mutexes()) each.lock();
}

void after_fork() noexcept {
  for (std::mutex& each : mutexes()) each.unlock();
}

}  // namespace

std::mutex& process_mutex(ProcessMutex which) noexcept {
  static const int registered = ::pthread_atfork(&before_fork, &after_fork, &after_fork);
  static_cast<void>(registered);
  return mutexes()[static_cast<std::size_t>(which)];
}

}  // namespace zklock::client
