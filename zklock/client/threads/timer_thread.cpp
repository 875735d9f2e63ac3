// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/timer_thread.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <ctime>
#include <functional>
#include <map>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "zklock/client/port/mutex.h"
#include "zklock/client/port/scheduler.h"

namespace zklock::client {
namespace {

using core::Instant;

constexpr Instant kNever = Instant::max();
constexpr Instant kAwake = Instant::min();
constexpr Instant kLastThatFires = Instant(Instant::max().time_since_epoch() / 2);

class TimerDescriptor {
 public:
  TimerDescriptor() : fd_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  }
  TimerDescriptor(const TimerDescriptor&) = delete;
  TimerDescriptor& operator=(const TimerDescriptor&) = delete;
  ~TimerDescriptor() { ::close(fd_); }
  int get() const noexcept { return fd_; }

 private:
  const int fd_;
};

/// Returns `when` in the form of timerfd_settime. For `never` it is all zeros, which disarm the
/// timer.
itimerspec expiry(Instant when) noexcept {
  itimerspec spec{};
  if (when == kNever) return spec;
  // A time before the epoch of the clock is due at once. 1 ns is the earliest time that arms the
  // timer.
  const auto nanos = std::max<LeaseClock::rep>(when.time_since_epoch().count(), 1);
  spec.it_value.tv_sec = static_cast<std::time_t>(nanos / 1'000'000'000);
  spec.it_value.tv_nsec = static_cast<long>(nanos % 1'000'000'000);
  return spec;
}

}  // namespace

struct TimerThread::State {
  struct Key {
    Instant when;
    std::uint64_t id = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Queue = std::map<Key, std::function<void()>>;

  void arm(Instant at) noexcept ZKLOCK_REQUIRES(mutex);
  bool has_due() const noexcept ZKLOCK_REQUIRES(mutex) {
    return !queue.empty() && queue.begin()->first.when <= boot_time();
  }
  void run_due() noexcept ZKLOCK_REQUIRES(mutex);
  // The body of the thread.
  void run() noexcept;
  void assert_invariants() const noexcept ZKLOCK_REQUIRES(mutex) {
    assert(queue.size() == when.size());
    assert(queue.empty() || (!is_stopping && armed_for <= queue.begin()->first.when));
  }

  const TimerDescriptor timer;
  Mutex mutex;
  Condition idle;  // is_running or has_due() may have become false
  Queue queue ZKLOCK_GUARDED_BY(mutex);
  // The time of each queued timer, by id.
  std::unordered_map<std::uint64_t, Instant> when ZKLOCK_GUARDED_BY(mutex);
  std::uint64_t last_id ZKLOCK_GUARDED_BY(mutex) = 0;
  Instant armed_for ZKLOCK_GUARDED_BY(mutex) = kAwake;
  bool is_running ZKLOCK_GUARDED_BY(mutex) = false;  // a task
  bool is_stopping ZKLOCK_GUARDED_BY(mutex) = false;
};

void TimerThread::State::arm(Instant at) noexcept {
  armed_for = at;
  const itimerspec spec = expiry(at);
  // This also clears a pending expiry, so the descriptor need not be read.
  ::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void TimerThread::State::run() noexcept {
  MutexLock lock(mutex);
  while (!is_stopping) {
    is_running = true;
    run_due();
    is_running = false;
    idle.notify_all();
    if (is_stopping) return;
    arm(queue.empty() ? kNever : queue.begin()->first.when);
    assert_invariants();
    lock.unlock();
    pollfd fd{timer.get(), POLLIN, 0};
    ::poll(&fd, 1, -1);
    lock.lock();
    armed_for = kAwake;
  }
}

void TimerThread::State::run_due() noexcept {
  while (!is_stopping && has_due()) {
    auto due = queue.extract(queue.begin());
    when.erase(due.key().id);
    const MutexUnlock released(mutex);
    due.mapped()();
    due = {};  // destroyed unlocked, see cancel()
  }
}

TimerThread::TimerThread(const char* name) : state_(std::make_shared<State>()) {
  thread_.start(name, [state = state_] { state->run(); });
}

TimerThread::~TimerThread() {
  stop();
}

Instant TimerThread::now() const noexcept {
  return boot_time();
}

TimerId TimerThread::at(Instant when, std::function<void()> task) {
  if (when > kLastThatFires) return TimerId(0);
  const MutexLock lock(state_->mutex);
  if (state_->is_stopping) return TimerId(0);
  const std::uint64_t id = ++state_->last_id;
  state_->when.emplace(id, when);
  state_->queue.emplace(State::Key{when, id}, std::move(task));
  // Arming the timer descriptor does not wake the thread, which sleeps until a timer is due. Before
  // it sleeps, the thread itself arms the descriptor for the earliest timer.
  if (when < state_->armed_for) state_->arm(when);
  state_->assert_invariants();
  return TimerId(id);
}

void TimerThread::cancel(TimerId timer) noexcept {
  if (timer == TimerId{}) return;
  State::Queue::node_type cancelled;  // destroyed unlocked: a task may own any object
  const MutexLock lock(state_->mutex);
  const auto found = state_->when.find(static_cast<std::uint64_t>(timer));
  if (found == state_->when.end()) return;
  // The descriptor stays armed: one needless wake-up is cheaper than a system call here.
  cancelled = state_->queue.extract(State::Key{found->second, found->first});
  state_->when.erase(found);
}

bool TimerThread::is_timer_thread() const noexcept {
  return thread_.runs_here();
}

void TimerThread::wait_idle() {
  const MutexLock lock(state_->mutex);
  if (is_timer_thread()) return state_->run_due();
  while (state_->is_running || state_->has_due()) state_->idle.wait(state_->mutex);
}

void TimerThread::stop() noexcept {
  State::Queue dropped;  // destroyed unlocked, see cancel()
  {
    const MutexLock lock(state_->mutex);
    state_->is_stopping = true;
    dropped.swap(state_->queue);
    state_->when.clear();
    state_->arm(kAwake);  // wakes the thread
    state_->idle.notify_all();
  }
  thread_.join();
}

}  // namespace zklock::client
