// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/contender.h"

#include <utility>

#include "zklock/mutex.h"
#include "zklock/priority_mutex.h"
#include "zklock/semaphore.h"
#include "zklock/shared_mutex.h"

namespace zklock::cli {

namespace {

AcquireOptions options_of(const LockChoice& choice, Deadline deadline, std::stop_token stop) {
  AcquireOptions options;
  options.deadline = deadline;
  options.stop = std::move(stop);
  options.max_hold = choice.max_hold;
  options.note = choice.note;
  return options;
}

AcquireFunction make_semaphore(Client& client, const std::string& path, const LockChoice& choice) {
  const int permits = *choice.permits;
  auto lock = choice.of ? std::make_shared<Semaphore>(client, path, *choice.of)
                        : std::make_shared<Semaphore>(client, path, SharedCount{permits});
  return [lock = std::move(lock), choice, permits](Deadline deadline, std::stop_token stop,
                                                   AcquireHandler handler) {
    lock->async_acquire(options_of(choice, deadline, std::move(stop)), permits, std::move(handler));
  };
}

}  // namespace

AcquireFunction make_contender(Client& client, const std::string& path, const LockChoice& choice) {
  if (choice.permits) return make_semaphore(client, path, choice);
  if (choice.shared) {
    return [lock = std::make_shared<SharedMutex>(client, path), choice](
               Deadline deadline, std::stop_token stop, AcquireHandler handler) {
      lock->async_acquire_shared(options_of(choice, deadline, std::move(stop)), std::move(handler));
    };
  }
  if (choice.weight) {
    PriorityOptions options;
    options.weight = *choice.weight;
    options.lock_delay = choice.lock_delay;
    return [lock = std::make_shared<PriorityMutex>(client, path, options), choice](
               Deadline deadline, std::stop_token stop, AcquireHandler handler) {
      lock->async_acquire(options_of(choice, deadline, std::move(stop)), choice.weight,
                          std::move(handler));
    };
  }
  CohortOptions options;
  options.lock_delay = choice.lock_delay;
  return [lock = std::make_shared<Mutex>(client, path, options), choice](
             Deadline deadline, std::stop_token stop, AcquireHandler handler) {
    lock->async_acquire(options_of(choice, deadline, std::move(stop)), std::move(handler));
  };
}

const char* kind_of(const LockChoice& choice) noexcept {
  if (choice.permits) return "permits";
  if (choice.shared) return "shared";
  return choice.weight ? "priority" : "mutex";
}

}  // namespace zklock::cli
