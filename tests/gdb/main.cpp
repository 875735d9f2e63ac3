// SPDX-License-Identifier: Apache-2.0
// Locks and holds in all states, for printers_test.py: gdb stops this program in stop_here().
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/zklock.h"

namespace {

using namespace std::chrono_literals;

/// The printers show the locks and holds of this object.
struct Locks {
  zklock::testing::FakeEnsemble ensemble;
  std::unique_ptr<zklock::Client> client = ensemble.client();
  std::unique_ptr<zklock::Client> suspended_client = ensemble.client();
  std::unique_ptr<zklock::Client> cut_client = ensemble.client();
  zklock::ReentrantMutex mutex{*client, "/jobs/report"};
  zklock::Semaphore semaphore{*client, "/jobs/workers", 3};
  zklock::SharedMutex shared_mutex{*client, "/jobs/catalog"};
  zklock::Mutex suspended_mutex{*suspended_client, "/jobs/suspended"};
  zklock::ReentrantMutex lost_mutex{*cut_client, "/jobs/lost"};
  zklock::Client& connected = *client;
  zklock::Hold nested, permits, suspended, lost, empty;
  std::uintptr_t overwritten[8] = {8, 8};  // as a Hold, it has a pointer to invalid memory
};

/// The breakpoint. The build does not optimize.
void stop_here() {}

}  // namespace

int main() {
  Locks locks;
  // The client retains a weak pointer to this path.
  std::make_unique<zklock::ReentrantMutex>(*locks.client, "/jobs/destroyed").reset();
  locks.mutex.lock();
  locks.mutex.lock();
  locks.nested = locks.mutex.acquire();
  std::thread waiter([&locks] {
    locks.mutex.lock();
    locks.mutex.unlock();
  });
  locks.permits = locks.semaphore.acquire({.owner = zklock::Owner::unique("req-42")}, 2);
  locks.shared_mutex.lock();
  locks.shared_mutex.lock_shared();
  locks.shared_mutex.unlock();
  locks.suspended = locks.suspended_mutex.acquire();
  locks.lost = locks.lost_mutex.acquire();
  locks.ensemble.link(*locks.cut_client).cut();
  // Then the waiting thread is in the queue, and the lease of the cut client has ended.
  locks.ensemble.advance(1min);
  locks.ensemble.link(*locks.suspended_client).refuse();

  stop_here();

  locks.shared_mutex.unlock_shared();
  locks.nested.release();
  locks.mutex.unlock();
  locks.mutex.unlock();
  locks.ensemble.settle();
  waiter.join();
}
