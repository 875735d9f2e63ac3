// SPDX-License-Identifier: Apache-2.0
#include "soak/cycles.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <boost/thread/thread.hpp>

#include "support/coroutines.h"
#include "zklock/zklock.h"

namespace zklock::soak {
namespace {

using namespace std::chrono_literals;

AcquireOptions with_new_owner() {
  return {.owner = Owner::unique(), .deadline = kCallTimeout};
}

// ---- locks --------------------------------------------------------------------------------------

void reentrant(Site& site) {
  ReentrantMutex mutex(site.client, site.path("reentrant"));
  const std::unique_lock lock(mutex, kCallTimeout);
  if (!lock) return;
  const std::unique_lock again(mutex);
  (void)mutex.hold_count();
}

void plain(Site& site) {
  Mutex mutex(site.client, site.path("plain"));
  const std::unique_lock lock(mutex, kCallTimeout);
}

void one_attempt(Site& site) {
  ReentrantMutex mutex(site.client, site.path("reentrant"));
  const std::unique_lock lock(mutex, std::try_to_lock);
}

void read(Site& site) {
  SharedMutex mutex(site.client, site.path("shared"));
  const std::shared_lock lock(mutex, kCallTimeout);
}

void write_and_read_on(Site& site) {
  SharedMutex mutex(site.client, site.path("shared"));
  AcquireOptions options = with_new_owner();
  Hold writing = mutex.acquire(options);
  if (!writing) return;
  const Hold reading = mutex.acquire_shared(options);
  writing.release();
}

void fixed_permits(Site& site) {
  Semaphore semaphore(site.client, site.path("fixed"), 5);
  const Permit permit = semaphore.acquire(with_new_owner(), 1 + static_cast<int>(site.below(3)));
  if (site.below(4) == 0) (void)semaphore.available_permits(kCallTimeout);
}

void shared_permits(Site& site) {
  Semaphore semaphore(site.client, site.path("counted"), SharedCount{4});
  if (site.below(8) == 0) semaphore.set_permits(3 + static_cast<int>(site.below(3)), kCallTimeout);
  const Permit permit = semaphore.acquire(with_new_owner(), 1 + static_cast<int>(site.below(3)));
}

void priority(Site& site) {
  PriorityMutex mutex(site.client, site.path("priority"));
  const Hold hold = mutex.acquire(with_new_owner(), 1 + static_cast<int>(site.below(10)));
}

void several(Site& site) {
  MultiMutex mutex(site.client,
                   {site.path("several/c"), site.path("several/a"), site.path("several/b")});
  const MultiHold hold = mutex.acquire(with_new_owner());
}

void one_line(Site& site) {
  (void)with_lock(site.client, site.path("reentrant"), with_new_owner(),
                  [](const Hold& hold) { GuardedTransaction(hold).commit(kCallTimeout); });
}

// ---- options ------------------------------------------------------------------------------------

void kept_and_shared(Site& site) {
  ReentrantMutex mutex(site.client, site.path("kept"),
                       {.max_local_handoffs = 4, .keep_idle_for = 20ms});
  for (int i = 0; i < 3; ++i) const Hold hold = mutex.acquire(with_new_owner());
}

void limited(Site& site) {
  ReentrantMutex mutex(site.client, site.path("limited"), {.max_hold = 30ms});
  const Hold hold = mutex.acquire(with_new_owner());
  if (site.below(4) != 0) return;
  while (hold.state() != HoldState::lost) std::this_thread::sleep_for(5ms);
}

void listened_to(Site& site) {
  std::atomic<int> events{0};
  ReentrantMutex mutex(site.client, site.path("listened"),
                       {.listener = [&](const LockEvent&) { ++events; }});
  const Hold hold = mutex.acquire(with_new_owner());
}

// ---- calls that end without a grant -------------------------------------------------------------

void timed_out(Site& site) {
  const std::string path = site.path("out");
  const Hold others = ReentrantMutex(site.rival, path).acquire(with_new_owner());
  ReentrantMutex mutex(site.client, path);
  const std::unique_lock lock(mutex, 1ms);
}

void cancelled(Site& site) {
  const std::string path = site.path("cancelled");
  const Hold others = ReentrantMutex(site.rival, path).acquire(with_new_owner());
  ReentrantMutex mutex(site.client, path);
  std::stop_source stop;
  AcquireOptions options = with_new_owner();
  options.stop = stop.get_token();
  auto waiting = mutex.async_acquire(options);
  auto behind = mutex.async_acquire(options);
  stop.request_stop();
  (void)waiting.get();
  (void)behind.get();
}

void interrupted(Site& site) {
  const std::string path = site.path("interrupted");
  const Hold others = ReentrantMutex(site.rival, path).acquire(with_new_owner());
  boost::thread waiting([&] {
    try {
      const Hold hold = ReentrantMutex(site.client, path).acquire(with_new_owner());
    } catch (const boost::thread_interrupted&) {
    } catch (const Error&) {
    }
  });
  waiting.interrupt();
  waiting.join();
}

void thrown(Site& site) {
  ReentrantMutex mutex(site.client, site.path("thrown"));
  try {
    const std::unique_lock lock(mutex, kCallTimeout);
    throw std::runtime_error("in the critical section");
  } catch (const std::runtime_error& error) {
    if (dynamic_cast<const Error*>(&error) != nullptr) throw;
  }
}

// A thread that ends without unlocking.
void forgotten(Site& site) {
  ReentrantMutex mutex(site.client, site.path("forgotten"));
  std::thread([&] {
    try {
      (void)mutex.try_lock_for(kCallTimeout);
    } catch (const Error&) {
    }
  }).join();
}

// ---- asynchronous -------------------------------------------------------------------------------

void callback(Site& site) {
  ReentrantMutex mutex(site.client, site.path("reentrant"));
  std::promise<void> called;
  mutex.async_acquire(with_new_owner(), [&](const Hold&, const std::exception_ptr& error) {
    error ? called.set_exception(error) : called.set_value();
  });
  called.get_future().get();
}

void dropped(Site& site) {
  ReentrantMutex mutex(site.client, site.path("dropped"));
  auto one = mutex.async_acquire(with_new_owner());
  { auto two = mutex.async_acquire(with_new_owner()); }
  (void)one.get();
}

testing::Detached lock_in_coroutine(ReentrantMutex& mutex,
                                    std::promise<testing::AcquireOutcome>& result) {
  testing::AcquireOutcome outcome;
  try {
    const AcquireOptions options = with_new_owner();
    const Hold hold = co_await mutex.co_acquire(options);
  } catch (const Error& error) {
    outcome = error.errc();
  }
  result.set_value(outcome);
}

void awaited(Site& site) {
  ReentrantMutex mutex(site.client, site.path("reentrant"));
  std::promise<testing::AcquireOutcome> result;
  lock_in_coroutine(mutex, result);
  const testing::AcquireOutcome error = result.get_future().get();
  if (error) throw Error(*error, "lock", mutex.path());
}

// ---- leaders and observers ----------------------------------------------------------------------

void latch(Site& site) {
  LeaderLatch latch(site.client, site.path("latch"));
  const auto listening = latch.add_listener([](const Leadership&) {}, [](const Leadership&) {});
  latch.start();
  if (!latch.wait_until_leader(kCallTimeout)) return;
  if (site.below(2) == 0) latch.leadership().proclaim("10.0.0.1:80", kCallTimeout);
  latch.close(site.below(2) == 0 ? CloseMode::silent : CloseMode::notify);
}

void election(Site& site) {
  std::mutex mutex;
  std::condition_variable changed;
  bool led = false;
  LeaderElection election(site.client, site.path("election"), {.auto_requeue = false},
                          [&](Leadership&) {
                            const std::lock_guard guard(mutex);
                            led = true;
                            changed.notify_all();
                          });
  election.start();
  std::unique_lock lock(mutex);
  changed.wait_for(lock, kCallTimeout, [&] { return led; });
  lock.unlock();
  election.close();
}

void observed(Site& site) {
  const std::string path = site.path("observed");
  std::atomic<int> notified{0};
  LockObserver observer(site.rival, path);
  const auto listening = observer.add_listener([&](const LockState&) { ++notified; });
  const Hold hold = ReentrantMutex(site.client, path).acquire(with_new_owner());
  (void)observer.state(kCallTimeout);
}

void requested(Site& site) {
  ReentrantMutex mutex(site.client, site.path("queried"));
  Hold hold = mutex.acquire(with_new_owner());
  (void)request_release(site.rival, mutex.path(), {.deadline = Deadline::passed()});
  (void)mutex.participants(kCallTimeout);
}

void connection_listener(Site& site) {
  const auto listening = site.client.add_listener([](ConnectionState) {});
  const Hold hold = ReentrantMutex(site.client, site.path("listened")).acquire(with_new_owner());
}

// A client with its own session. It is destroyed with a hold, a waiter, or neither.
void client(Site& site) {
  Client brief(site.options);
  if (!brief.wait_until_connected(kCallTimeout)) return;
  ReentrantMutex mutex(brief, site.path("brief"));
  auto hold = mutex.async_acquire(with_new_owner());
  auto waiting = mutex.async_acquire(with_new_owner());
  if (site.below(2) == 0) (void)hold.get();
}

constexpr Kind kKinds[] = {
    {"reentrant", 40, reentrant},
    {"plain", 40, plain},
    {"one attempt", 40, one_attempt},
    {"read", 40, read},
    {"write, read on", 40, write_and_read_on},
    {"fixed permits", 40, fixed_permits},
    {"shared permits", 40, shared_permits},
    {"priority", 40, priority},
    {"several", 20, several},
    {"one line, guarded", 20, one_line},
    {"kept and shared", 40, kept_and_shared},
    {"limited", 10, limited},
    {"listened to", 40, listened_to},
    {"timed out", 40, timed_out},
    {"cancelled", 40, cancelled},
    {"interrupted", 10, interrupted},
    {"thrown", 20, thrown},
    {"forgotten", 10, forgotten},
    {"callback", 40, callback},
    {"dropped", 20, dropped},
    {"awaited", 40, awaited},
    {"latch", 20, latch},
    {"election", 20, election},
    {"observed", 20, observed},
    {"requested", 20, requested},
    {"connection listener", 20, connection_listener},
    {"client", 1, client},
};

}  // namespace

std::string Site::path(const char* kind) {
  constexpr unsigned kShared = 4;
  const std::string parent = std::string("/soak/") + kind + "/";
  if (below(16) != 0) return parent + std::to_string(below(kShared));
  return parent + "once-" + std::to_string(number_) + "-" + std::to_string(++names_);
}

std::span<const Kind> all_kinds() {
  return kKinds;
}

}  // namespace zklock::soak
