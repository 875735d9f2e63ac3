// SPDX-License-Identifier: Apache-2.0
// Not part of a program. check_discarded.cmake compiles this file and expects a warning in each
// line with DISCARD: the result must not be ignored.
#include <chrono>

#include "zklock/zklock.h"

#define DISCARD(expression) expression

namespace zklock {

using namespace std::chrono_literals;

void discard(Client& client) {
  DISCARD(client.wait_until_connected(1s));
  DISCARD(client.flush());
  DISCARD(client.is_connected());
  DISCARD(client.add_listener({}));
  DISCARD(request_release(client, "/lock"));
  DISCARD(hold_lock(client, "/lock"));
  DISCARD(with_lock(client, "/lock", {}, [] {}));
  DISCARD(Deadline::never());
  DISCARD(Owner::unique());
}

template <class Mutex>
void discard_lock(Mutex& mutex, const std::stop_token& stop) {
  DISCARD(mutex.lock(stop));
  DISCARD(mutex.try_lock());
  DISCARD(mutex.try_lock_for(1s));
  DISCARD(mutex.try_lock_until(LeaseClock::now()));
  DISCARD(mutex.acquire());
  DISCARD(mutex.async_acquire());
  DISCARD(mutex.co_acquire(1s, stop));
}
template void discard_lock(ReentrantMutex&, const std::stop_token&);
template void discard_lock(Mutex&, const std::stop_token&);
template void discard_lock(SharedMutex&, const std::stop_token&);
template void discard_lock(PriorityMutex&, const std::stop_token&);
template void discard_lock(CompositeMutex&, const std::stop_token&);

void discard(SharedMutex& mutex, Semaphore& semaphore, const std::stop_token& stop) {
  DISCARD(mutex.lock_shared(stop));
  DISCARD(mutex.try_lock_shared());
  DISCARD(mutex.acquire_shared());
  DISCARD(mutex.async_acquire_shared());
  DISCARD(mutex.co_acquire_shared());
  DISCARD(mutex.participants());
  DISCARD(mutex.queue_position());
  DISCARD(semaphore.try_acquire());
  DISCARD(semaphore.acquire());
  DISCARD(semaphore.async_acquire());
  DISCARD(semaphore.async_acquire(2));
  DISCARD(semaphore.permits());
}

void discard(Hold& hold, CompositeHold& composite, GuardedTransaction& transaction) {
  DISCARD(hold.renew());
  DISCARD(hold.renew(1s));
  DISCARD(hold.state());
  DISCARD(hold.is_valid());
  DISCARD(hold.token());
  DISCARD(hold.loss_token());
  DISCARD(hold.expose_node());
  DISCARD(composite.renew());
  DISCARD(composite.is_valid());
  DISCARD(transaction.async_commit());
  DISCARD(transaction.co_commit());
}

void discard(Survey& survey) {
  DISCARD(survey.next());
  DISCARD(survey.is_complete());
  DISCARD(find_cycles({}));
}

void discard(LeaderLatch& latch, LeaderElection& election, const Leadership& leadership) {
  DISCARD(latch.wait_until_leader());
  DISCARD(latch.has_leadership());
  DISCARD(latch.add_listener({}, {}));
  DISCARD(election.requeue());
  DISCARD(election.error());
  DISCARD(leadership.is_valid());
  DISCARD(leadership.end_token());
  DISCARD(leadership.async_proclaim("value"));
  DISCARD(leadership.co_proclaim("value"));
}

}  // namespace zklock
