// SPDX-License-Identifier: Apache-2.0
#include "chaos/worker.h"

#include <cerrno>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr auto kDeadline = 8s;
// The pause after an error, so that no busy loop runs without a server.
constexpr auto kBreath = 50ms;
constexpr unsigned kChildTimeout = 20;  // seconds

struct Dropped : std::runtime_error {
  Dropped() : std::runtime_error("dropped under the lock") {}
};

// Returns whether faults can cause this error. Any other error is a fault of the library.
bool expected(Errc code) {
  switch (code) {
    case Errc::not_connected:
    case Errc::read_only:
    case Errc::server_error: return true;
    default: return false;
  }
}

}  // namespace

Worker::Worker(Client& client, Locks& locks, const std::string& socket_path, unsigned number,
               unsigned life, unsigned thread, std::uint64_t seed)
    : quiet_(is_quiet(number, thread)),
      client_(client),
      locks_(locks),
      hold_exerciser_(client, socket_path, number, life, thread),
      random_(seed * 31 + thread) {}

template <class Action>
bool Worker::survives(Action action) {
  try {
    action();
    hold_exerciser_.come_late();
    return true;
  } catch (const Dropped&) {
    count("dropped");
    return true;
  } catch (const Error& error) {
    if (error.errc() == Errc::closed) return false;
    count("error_" + std::to_string(static_cast<int>(error.errc())));
    if (!expected(error.errc())) complain(std::string("an error: ") + error.what());
  } catch (const std::exception& error) {
    complain(std::string("an exception: ") + error.what());
  }
  std::this_thread::sleep_for(kBreath);
  return true;
}

void Worker::run(std::stop_token ending) {
  ending_ = std::move(ending);
  while (!ending_.stop_requested() && survives([this] { use_a_lock(); })) {
  }
  for (const auto& [name, number] : tally_) {
    hold_exerciser_.send_line("T " + name + ' ' + std::to_string(number));
  }
}

void Worker::run_for_leadership(std::stop_token ending) {
  ending_ = std::move(ending);
  constexpr std::size_t kLeader = kWorkload.size() - 1;
  static_assert(kWorkload[kLeader].kind == Kind::latch);
  while (!ending_.stop_requested() &&
         survives([this] { below(2) == 0 ? lead_by_latch(kLeader) : be_elected(kLeader); })) {
  }
}

std::size_t Worker::choose_lock() {
  const auto share_of = [this](const Site& site) {
    return site.quiet == quiet_ ? static_cast<unsigned>(site.share) : 0U;
  };
  unsigned shares = 0;
  for (const Site& site : kWorkload) shares += share_of(site);
  unsigned share = below(shares);
  std::size_t lock = 0;
  while (share >= share_of(kWorkload.at(lock))) share -= share_of(kWorkload.at(lock++));
  return lock;
}

void Worker::use_a_lock() {
  const std::size_t lock = choose_lock();
  switch (kWorkload.at(lock).kind) {
    case Kind::mutex:
    case Kind::idle_lock:
    case Kind::cohort: use_mutex(lock); return;
    case Kind::shared: use_shared(lock); return;
    case Kind::semaphore: use_semaphore(lock); return;
    case Kind::priority: use_priority(lock); return;
    case Kind::latch: return;
  }
}

void Worker::use_mutex(std::size_t lock) {
  ReentrantMutex& mutex = locks_.mutex(lock);
  const Nanos call = now();
  const unsigned manner = below(1000);
  if (manner < 400) {
    hold(mutex.acquire(in_time()), lock, call);
  } else if (manner < 650) {
    lock_and_nest(mutex, lock);
  } else if (manner < 750) {
    hold(mutex.acquire({.deadline = milliseconds(1 + below(40))}), lock, call);
  } else if (manner < 830) {
    hold(mutex.acquire({.deadline = Deadline::passed()}), lock, call);
  } else if (manner < 910) {
    hold(cancel_early(mutex), lock, call);
  } else if (manner < 950) {
    hold(mutex.async_acquire(in_time()).get(), lock, call);
  } else if (manner < 997) {
    throw_under_lock(mutex, lock);
  } else {
    fork_under_lock(mutex, lock);
  }
}

void Worker::use_shared(std::size_t lock) {
  SharedMutex& mutex = locks_.shared(lock);
  const Nanos call = now();
  const unsigned manner = below(10);
  if (manner < 6) {
    hold(mutex.acquire_shared(in_time()), lock, call);
  } else if (manner < 9) {
    hold(mutex.acquire(in_time()), lock, call, kAll);
  } else {
    downgrade(mutex, lock);
  }
}

void Worker::use_semaphore(std::size_t lock) {
  const int permits = 1 + static_cast<int>(below(3));
  const Nanos call = now();
  hold(locks_.semaphore(lock).acquire(in_time(), permits), lock, call, permits);
}

void Worker::use_priority(std::size_t lock) {
  const Nanos call = now();
  hold(locks_.priority(lock).acquire(in_time(), 1 + static_cast<int>(below(10))), lock, call);
}

void Worker::lead_by_latch(std::size_t lock) {
  const Owner owner = Owner::unique();
  LeaderLatch latch(client_, kWorkload.at(lock).path);
  const Nanos call = now();
  latch.start();
  if (latch.wait_until_leader(kDeadline, ending_)) lead(latch.leadership(), owner, lock, call);
}

void Worker::be_elected(std::size_t lock) {
  const Owner owner = Owner::unique();
  std::promise<void> done;
  const Nanos call = now();
  bool led = false;
  LeaderElection election(client_, kWorkload.at(lock).path, {.auto_requeue = false},
                          [&](Leadership& leadership) {
                            lead(leadership, owner, lock, call);
                            if (!std::exchange(led, true)) done.set_value();
                          });
  election.start();
  // Without a server the election contends on. The worker stops waiting at this deadline.
  const auto until = std::chrono::steady_clock::now() + kDeadline;
  auto over = done.get_future();
  while (over.wait_for(20ms) != std::future_status::ready && !ending_.stop_requested() &&
         std::chrono::steady_clock::now() < until) {
  }
  election.close();
}

// Nests several calls and checks the counts of the object.
void Worker::lock_and_nest(ReentrantMutex& mutex, std::size_t lock) {
  const Nanos call = now();
  const bool locked =
      below(3) == 0 ? mutex.lock(ending_) : mutex.try_lock_until(in_time().deadline.at());
  if (!locked) {
    count("not_granted");
    return;
  }
  const std::unique_lock guard(mutex, std::adopt_lock);
  try {
    const Hold nested = mutex.acquire();
    expect_count(mutex, nested, 2);
    hold(nested, lock, call);
    expect_count(mutex, nested, 2);
  } catch (const Error& error) {
    if (error.errc() != Errc::lock_lost) throw;
    count("lost_before_nesting");
  }
}

Hold Worker::cancel_early(ReentrantMutex& mutex) {
  std::stop_source stop;
  auto acquiring = mutex.async_acquire({.deadline = kDeadline, .stop = stop.get_token()});
  (void)acquiring.wait_for(microseconds(below(8000)));
  stop.request_stop();
  return acquiring.get();
}

void Worker::throw_under_lock(ReentrantMutex& mutex, std::size_t lock) {
  const Nanos call = now();
  const Hold held = mutex.acquire(in_time());
  if (hold(held, lock, call)) throw Dropped();
}

void Worker::fork_under_lock(ReentrantMutex& mutex, std::size_t lock) {
  const Nanos call = now();
  const Hold held = mutex.acquire(in_time());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kChildTimeout);
    try {
      (void)mutex.try_lock();
    } catch (const Error& error) {
      ::_exit(error.errc() == Errc::forked && mutex.hold_count() == 0 ? 0 : 1);
    }
    ::_exit(2);
  }
  hold(held, lock, call);
  if (child < 0) return;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) complain("a forked child ended with " + std::to_string(status));
  count("forked");
}

// The owner continues to read with the token of its write lock.
void Worker::downgrade(SharedMutex& mutex, std::size_t lock) {
  const Nanos call = now();
  Hold writing = mutex.acquire(in_time());
  if (!hold(writing, lock, call, kAll)) return;
  try {
    const Hold reading = mutex.acquire_shared({.owner = writing.owner()});
    writing.release();
    hold(reading, lock, call);
  } catch (const Error& error) {
    if (error.errc() != Errc::lock_lost) throw;
    count("lost_before_downgrade");
  }
}

bool Worker::hold(const Hold& hold, std::size_t lock, Nanos call, int weight) {
  if (!hold) {
    count("not_granted");
    return false;
  }
  const Kind kind = kWorkload.at(lock).kind;
  Standing standing{.lock = lock,
                    .weight = weight,
                    .call = call,
                    .token = hold.token(),
                    .owner = hold.owner(),
                    .state = [&hold] { return hold.state(); },
                    .lost = hold.loss_token(),
                    .reading = kind == Kind::shared && weight < kAll,
                    .fenced = kind != Kind::semaphore};
  // A downgraded grant has one token for both holds, so its loss is reported once.
  if (kind != Kind::shared) {
    standing.loss_received = [this, lock, owner = standing.owner, token = standing.token] {
      return locks_.loss_received(lock, owner, token);
    };
  }
  return hold_exerciser_.exercise(standing, some_time());
}

bool Worker::lead(const Leadership& leadership, const Owner& owner, std::size_t lock, Nanos call) {
  // A leadership that has already ended has no token.
  if (leadership.token() == FencingToken{}) return false;
  const Standing standing{.lock = lock,
                          .call = call,
                          .token = leadership.token(),
                          .owner = owner,
                          .state = [&leadership] { return leadership.state(); },
                          .lost = leadership.end_token()};
  return hold_exerciser_.exercise(standing, some_time() + 20ms);
}

void Worker::expect_count(const ReentrantMutex& mutex, const Hold& hold, int expected_count) {
  const bool before = hold.state() != HoldState::lost;
  const int count = mutex.hold_count();
  const bool after = hold.state() != HoldState::lost;
  if (before && after && count != expected_count) {
    complain("held, and a count of " + std::to_string(count) + " on " + mutex.path());
  }
  if (!before && count != 0) {
    complain("lost, and a count of " + std::to_string(count) + " on " + mutex.path());
  }
}

// Usually a short deadline: a dead contender ahead blocks the queue.
AcquireOptions Worker::in_time() {
  if (below(3) == 0) return {.deadline = kDeadline, .stop = ending_};
  return {.deadline = milliseconds(100 + below(900)), .stop = ending_};
}

microseconds Worker::some_time() {
  const unsigned kind = below(1000);
  if (kind < (quiet_ ? 970 : 850)) return microseconds(below(1000));
  if (kind < 900 || quiet_) return milliseconds(2 + below(25));
  return milliseconds(200 + below(600));
}

unsigned Worker::below(unsigned limit) {
  return static_cast<unsigned>(random_() % limit);
}

void Worker::complain(const std::string& what) {
  hold_exerciser_.send_line("V " + what);
}

}  // namespace zklock::chaos
