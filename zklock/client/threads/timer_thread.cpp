// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/timer_thread.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <ctime>
#include <functional>
#include <map>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "zklock/client/port/boot_time.h"
#include "zklock/client/port/mutex.h"
#include "zklock/client/threads/start_thread.h"

namespace zklock::client {
namespace {

using core::Instant;

constexpr Instant kNever = Instant::max();
constexpr Instant kAwake = Instant::min();
constexpr Instant kLastThatFires = Instant(Instant::max().time_since_epoch() / 2);

class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  FileDescriptor(int fd, const char* what) : fd_(fd) {
    if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
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

class TimerThread::Timers {
 public:
  TimerId add(Instant when, std::function<void()> task, const std::shared_ptr<Timers>& self);
  void cancel(TimerId timer) noexcept;
  void stop() noexcept;
  /// Detaches the thread, if it was not joined.
  void abandon() noexcept;
  bool is_timer_thread() noexcept;

 private:
  struct Key {
    Instant when;
    std::uint64_t id = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Queue = std::map<Key, std::function<void()>>;

  void assert_invariants() const noexcept ZKLOCK_REQUIRES(mutex_) {
    // add() can throw between its two insertions.
    assert(queue_.size() == when_.size() || queue_.size() + 1 == when_.size());
    assert(queue_.empty() || (!stopping_ && armed_for_ <= queue_.begin()->first.when));
  }
  void start(const std::shared_ptr<Timers>& self) ZKLOCK_REQUIRES(mutex_);
  void arm(Instant when) noexcept ZKLOCK_REQUIRES(mutex_);
  std::thread take_thread() noexcept;
  void run() noexcept;
  void run_due() noexcept ZKLOCK_REQUIRES(mutex_);

  Mutex mutex_;
  Queue queue_ ZKLOCK_GUARDED_BY(mutex_);
  // The time of each queued timer, by id.
  std::unordered_map<std::uint64_t, Instant> when_ ZKLOCK_GUARDED_BY(mutex_);
  std::uint64_t last_id_ ZKLOCK_GUARDED_BY(mutex_) = 0;
  Instant armed_for_ ZKLOCK_GUARDED_BY(mutex_) = kAwake;
  bool stopping_ ZKLOCK_GUARDED_BY(mutex_) = false;
  std::thread thread_ ZKLOCK_GUARDED_BY(mutex_);  // moved out to be joined

  // Written under mutex_ before the thread starts, and constant from then on:
  FileDescriptor timer_;
  FileDescriptor stop_;
  std::thread::id thread_id_;

  // Held while the thread is joined. Acquired before mutex_, and never by the thread itself.
  Mutex join_mutex_;
};

TimerId TimerThread::Timers::add(Instant when, std::function<void()> task,
                                 const std::shared_ptr<Timers>& self) {
  if (when > kLastThatFires) return TimerId(0);
  const MutexLock lock(mutex_);
  if (stopping_) return TimerId(0);
  start(self);
  const std::uint64_t id = last_id_ + 1;
  when_.insert_or_assign(id, when);  // an earlier call may have set it, and then have thrown
  queue_.emplace(Key{when, id}, std::move(task));
  last_id_ = id;
  // Arming the timer descriptor does not wake the thread, which sleeps until a timer is due. Before
  // it sleeps, the thread itself arms the descriptor for the earliest timer.
  if (when < armed_for_) arm(when);
  assert_invariants();
  return TimerId(id);
}

void TimerThread::Timers::start(const std::shared_ptr<Timers>& self) {
  if (thread_id_ != std::thread::id()) return;
  timer_ = FileDescriptor(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
                          "timerfd_create");
  stop_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
  thread_ = start_thread("zklock-timer", [self] { self->run(); });
  thread_id_ = thread_.get_id();
}

void TimerThread::Timers::arm(Instant when) noexcept {
  armed_for_ = when;
  const itimerspec spec = expiry(when);
  // This also clears a pending expiry, so the descriptor need not be read.
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void TimerThread::Timers::cancel(TimerId timer) noexcept {
  Queue::node_type cancelled;  // destroyed unlocked: a task may own any object
  const MutexLock lock(mutex_);
  const auto found = when_.find(static_cast<std::uint64_t>(timer));
  if (found == when_.end()) return;
  // The descriptor stays armed: one needless wake-up is cheaper than a system call here.
  cancelled = queue_.extract(Key{found->second, found->first});
  when_.erase(found);
}

void TimerThread::Timers::run() noexcept {
  MutexLock lock(mutex_);
  while (!stopping_) {
    run_due();
    if (stopping_) return;
    arm(queue_.empty() ? kNever : queue_.begin()->first.when);
    assert_invariants();
    lock.unlock();
    std::array<pollfd, 2> fds{pollfd{timer_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), -1);
    lock.lock();
    armed_for_ = kAwake;
  }
}

void TimerThread::Timers::run_due() noexcept {
  while (!stopping_ && !queue_.empty() && queue_.begin()->first.when <= boot_time()) {
    auto due = queue_.extract(queue_.begin());
    when_.erase(due.key().id);
    const MutexUnlock released(mutex_);
    due.mapped()();
    due = {};  // destroyed unlocked, see cancel()
  }
}

void TimerThread::Timers::stop() noexcept {
  Queue dropped;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
    when_.clear();
    if (thread_id_ == std::thread::id()) return;
    ::eventfd_write(stop_.get(), 1);
    if (thread_id_ == std::this_thread::get_id()) return;
  }
  const MutexLock join(join_mutex_);
  if (std::thread ended = take_thread(); ended.joinable()) ended.join();
}

std::thread TimerThread::Timers::take_thread() noexcept {
  const MutexLock lock(mutex_);
  return std::move(thread_);
}

bool TimerThread::Timers::is_timer_thread() noexcept {
  const MutexLock lock(mutex_);
  return thread_id_ == std::this_thread::get_id();
}

void TimerThread::Timers::abandon() noexcept {
  if (std::thread running = take_thread(); running.joinable()) running.detach();
}

TimerThread::TimerThread() : timers_(std::make_shared<Timers>()) {}

TimerThread::~TimerThread() {
  stop();
  timers_->abandon();  // effective only if a task runs this destructor
}

Instant TimerThread::now() const noexcept {
  return boot_time();
}

TimerId TimerThread::at(Instant when, std::function<void()> task) {
  return timers_->add(when, std::move(task), timers_);
}

void TimerThread::cancel(TimerId timer) noexcept {
  if (timer != TimerId{}) timers_->cancel(timer);
}

bool TimerThread::is_timer_thread() const noexcept {
  return timers_->is_timer_thread();
}

void TimerThread::stop() noexcept {
  timers_->stop();
}

}  // namespace zklock::client
