// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/callback_threads.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <deque>
#include <list>
#include <system_error>
#include <utility>

#include "zklock/client/port/mutex.h"
#include "zklock/client/threads/owned_thread.h"

namespace zklock::client {
namespace {

constexpr std::chrono::hours kLongestWait{24 * 365};   // the sum with a time does not overflow
constexpr std::chrono::milliseconds kThreadRetry{50};  // after the system provided no thread

}  // namespace

class CallbackThreads::Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(std::function<void(std::exception_ptr)> on_exception, CallbackThreadsOptions options)
      : on_exception_(std::move(on_exception)), options_(std::move(options)) {
    // Two threads would pass tasks to the executor out of order.
    if (options_.executor) options_.max_threads = 1;
  }

  void start();
  bool post(std::function<void()> task);
  Backlog backlog() const;
  bool drain_for(core::Duration longest) noexcept;
  void orphan() noexcept;
  bool runs_here() const noexcept { return current_ == this; }
  std::size_t thread_count() const noexcept;

 private:
  using Threads = std::list<OwnedThread>;
  using Task = std::function<void()>;
  struct QueuedTask {
    Task task;
    core::Instant since;
  };
  class ExecutorTask;

  bool begin_on_substitute(const std::shared_ptr<Task>& task);
  void add_thread() ZKLOCK_REQUIRES(mutex_);
  bool claims_wake() noexcept ZKLOCK_REQUIRES(mutex_);
  core::Instant now() const;
  void check_backlog_after(core::Duration wait) noexcept;
  void check_backlog();
  void work(Threads::iterator self) noexcept;
  bool wait_for_task() ZKLOCK_REQUIRES(mutex_);
  Threads leave(Threads::iterator self) noexcept ZKLOCK_REQUIRES(mutex_);
  void begin(Task task) noexcept;
  void pass_to_executor(Task task) noexcept;
  void run(Task& task) noexcept;
  void report() noexcept;
  void task_ended() noexcept;
  static void join(Threads threads) noexcept;

  const std::function<void(std::exception_ptr)> on_exception_;
  CallbackThreadsOptions options_;  // constant after construction
  const Scheduling scheduling_ = Scheduling::of_this_thread();

  /// The pool of the task that the calling thread runs, or null.
  static constinit thread_local const Pool* current_;

  mutable Mutex mutex_;
  Condition work_;      // the queue is not empty, or draining_ was set
  Condition progress_;  // the condition of drain_for() may have become true
  std::deque<QueuedTask> queue_ ZKLOCK_GUARDED_BY(mutex_);
  Threads threads_ ZKLOCK_GUARDED_BY(mutex_);
  Threads ended_ ZKLOCK_GUARDED_BY(mutex_);           // to be joined: they run no further task
  std::size_t idle_ ZKLOCK_GUARDED_BY(mutex_) = 0;    // count of threads that wait for a task
  bool is_waking_ ZKLOCK_GUARDED_BY(mutex_) = false;  // a thread was woken, and does not run yet
  // Count of tasks begun and not ended, on any thread.
  std::size_t running_ ZKLOCK_GUARDED_BY(mutex_) = 0;
  // Count of running tasks that are in drain_for().
  std::size_t draining_inside_ ZKLOCK_GUARDED_BY(mutex_) = 0;
  bool draining_ ZKLOCK_GUARDED_BY(mutex_) = false;
  core::Duration reported_wait_ ZKLOCK_GUARDED_BY(mutex_){};  // at the last on_backlog()
  bool is_watched_ ZKLOCK_GUARDED_BY(mutex_) = false;         // a timer calls check_backlog()
  // The owner is destroyed: each thread detaches itself.
  bool orphaned_ ZKLOCK_GUARDED_BY(mutex_) = false;
};

constinit thread_local const CallbackThreads::Pool* CallbackThreads::Pool::current_ = nullptr;

/// A task passed to the user's executor. The executor may copy it, drop it, or run it and throw.
class CallbackThreads::Pool::ExecutorTask {
 public:
  ExecutorTask(std::shared_ptr<Pool> pool, Task task)
      : pool_(std::move(pool)), task_(std::move(task)) {}
  ExecutorTask(const ExecutorTask&) = delete;
  ExecutorTask& operator=(const ExecutorTask&) = delete;
  ~ExecutorTask() {
    if (begun_.load()) return;
    task_ = nullptr;
    pool_->task_ended();
  }
  void run() noexcept {
    if (begun_.exchange(true)) return;
    pool_->run(task_);
  }

 private:
  const std::shared_ptr<Pool> pool_;
  std::atomic<bool> begun_ = false;
  Task task_;
};

void CallbackThreads::Pool::start() {
  const MutexLock guard(mutex_);
  if (options_.keeps_one) add_thread();
}

bool CallbackThreads::Pool::post(Task task) {
  const core::Instant now = this->now();
  MutexLock lock(mutex_);
  if (draining_ && current_ != this) return false;
  queue_.push_back({std::move(task), now});
  if (queue_.size() <= idle_) {
    const bool wakes = claims_wake();
    lock.unlock();  // otherwise the notified thread would wait for the lock
    if (wakes) work_.notify_one();
    return true;
  }
  const bool lacks_thread = threads_.size() < options_.max_threads;
  if (lacks_thread) {
    try {
      add_thread();
      return true;
    } catch (...) {  // if there is a thread, it will run the task
      if (threads_.empty()) {
        const auto unserved = std::make_shared<Task>(std::move(queue_.back().task));
        queue_.pop_back();
        if (draining_) return false;
        if (!options_.substitute) throw;
        ++running_;
        lock.unlock();
        return begin_on_substitute(unserved);
      }
    }
  }
  if (options_.on_backlog && !std::exchange(is_watched_, true)) {
    lock.unlock();
    check_backlog_after(lacks_thread ? core::Duration(kThreadRetry) : kBacklogLimit);
  }
  return true;
}

/// Returns whether the caller must wake an idle thread. One is woken at a time: it wakes the next
/// one when it has taken a task. So thousands of short tasks do not each wake a thread.
bool CallbackThreads::Pool::claims_wake() noexcept {
  return !queue_.empty() && idle_ > 0 && !std::exchange(is_waking_, true);
}

bool CallbackThreads::Pool::begin_on_substitute(const std::shared_ptr<Task>& task) {
  if (options_.substitute->post(
          [pool = shared_from_this(), task] { pool->begin(std::move(*task)); })) {
    return true;
  }
  task_ended();
  return false;
}

core::Instant CallbackThreads::Pool::now() const {
  const auto scheduler = options_.scheduler.lock();
  return scheduler ? scheduler->now() : core::Instant();
}

Backlog CallbackThreads::Pool::backlog() const {
  const core::Instant now = this->now();
  const MutexLock guard(mutex_);
  if (queue_.size() <= idle_) return {.running = running_};
  const core::Duration wait = now - queue_.front().since;
  return {running_, queue_.size() - idle_, std::max(wait, core::Duration())};
}

void CallbackThreads::Pool::check_backlog_after(core::Duration wait) noexcept {
  const auto scheduler = options_.scheduler.lock();
  if (!scheduler) return;
  scheduler->at(scheduler->now() + wait, [pool = weak_from_this()] {
    if (const auto alive = pool.lock()) alive->check_backlog();
  });
}

void CallbackThreads::Pool::check_backlog() {
  const Backlog present = backlog();
  bool is_due = false;
  bool lacks_thread = false;
  {
    const MutexLock guard(mutex_);
    is_watched_ = queue_.size() > idle_;
    lacks_thread = is_watched_ && threads_.size() < options_.max_threads;
    if (lacks_thread) {
      try {
        add_thread();
      } catch (const std::system_error&) {  // still none
      }
    }
    if (!is_watched_ || present.oldest < kBacklogLimit)
      reported_wait_ = {};  // that blockage is over
    if (!is_watched_) return;
    is_due = present.oldest >= std::max<core::Duration>(kBacklogLimit, 2 * reported_wait_);
    if (is_due) reported_wait_ = present.oldest;
  }
  if (is_due) options_.on_backlog(present);
  if (lacks_thread) return check_backlog_after(kThreadRetry);
  const bool is_short = present.oldest < kBacklogLimit;
  check_backlog_after(is_short ? kBacklogLimit - present.oldest : kBacklogLimit);
}

void CallbackThreads::Pool::add_thread() {
  assert(threads_.size() < options_.max_threads);
  const auto self = threads_.emplace(threads_.end());
  try {
    self->start(options_.name, [pool = shared_from_this(), self] {
      pool->scheduling_.take_on();  // instead of the policy of the posting thread
      pool->work(self);
    });
  } catch (...) {
    threads_.erase(self);
    throw;
  }
}

void CallbackThreads::Pool::work(Threads::iterator self) noexcept {
  MutexLock lock(mutex_);
  while (wait_for_task()) {
    Task task = std::move(queue_.front().task);
    queue_.pop_front();
    ++running_;
    const bool wakes = claims_wake();
    lock.unlock();
    if (wakes) work_.notify_one();
    begin(std::move(task));
    lock.lock();
  }
  Threads others = leave(self);
  lock.unlock();
  join(std::move(others));
}

/// Blocks until there is a task. Returns false if the thread must end. That is so after
/// drain_for(), and after idle_time without a task, except for the kept thread.
bool CallbackThreads::Pool::wait_for_task() {
  const auto until = std::chrono::steady_clock::now() + options_.idle_time;
  ++idle_;
  while (queue_.empty() && !draining_) {
    const bool is_kept = options_.keeps_one && threads_.size() == 1;
    if (!is_kept && std::chrono::steady_clock::now() >= until) break;
    is_kept ? work_.wait(mutex_) : work_.wait_until(mutex_, until);
    is_waking_ = false;  // even if another thread has taken the task meanwhile
  }
  --idle_;
  return !queue_.empty();
}

/// Ends the calling thread. Returns the threads that it must join without the mutex.
CallbackThreads::Pool::Threads CallbackThreads::Pool::leave(Threads::iterator self) noexcept {
  Threads others;
  if (orphaned_) {
    threads_.erase(self);  // detaches it
  } else {
    // Each thread that ends joins those that ended before, so at most one remains to be joined.
    others.swap(ended_);
    ended_.splice(ended_.end(), threads_, self);
  }
  progress_.notify_all();
  return others;
}

// The pool may be destroyed by a thread_local object of one of its threads, which is then detached.
void CallbackThreads::Pool::join(Threads threads) noexcept {
  for (OwnedThread& thread : threads) thread.join();
}

void CallbackThreads::Pool::begin(Task task) noexcept {
  if (options_.executor) {
    pass_to_executor(std::move(task));
  } else {
    run(task);
  }
}

void CallbackThreads::Pool::pass_to_executor(Task task) noexcept {
  assert(may_block_here());
  const auto handed = std::make_shared<ExecutorTask>(shared_from_this(), std::move(task));
  try {
    options_.executor([handed] { handed->run(); });
  } catch (...) {
    report();
    handed->run();  // no effect if the executor has begun it
  }
}

void CallbackThreads::Pool::run(Task& task) noexcept {
  assert(may_block_here());
  // Restored, not cleared: an executor may run a task of one pool within a task of another.
  const Pool* const before = std::exchange(current_, this);
  try {
    task();
  } catch (...) {
    report();
  }
  task = nullptr;  // its captures are destroyed before a drain ends
  current_ = before;
  task_ended();
}

void CallbackThreads::Pool::report() noexcept {
  if (on_exception_) on_exception_(std::current_exception());
}

void CallbackThreads::Pool::task_ended() noexcept {
  const MutexLock lock(mutex_);
  assert(running_ > 0);
  --running_;
  progress_.notify_all();
}

bool CallbackThreads::Pool::drain_for(core::Duration longest) noexcept {
  const auto wait = std::clamp<core::Duration>(longest, core::Duration(0), kLongestWait);
  const auto until = std::chrono::steady_clock::now() + wait;
  const bool inside = current_ == this;
  MutexLock lock(mutex_);
  draining_ = true;
  work_.notify_all();
  if (inside) {
    ++draining_inside_;
    progress_.notify_all();
  }
  // Tasks that call drain_for() do not wait for each other.
  const bool drained = progress_.wait_until(mutex_, until, [&]() ZKLOCK_REQUIRES(mutex_) {
    const std::size_t excepted = inside ? draining_inside_ : 0;
    return queue_.empty() && running_ <= excepted && threads_.size() <= excepted;
  });
  if (inside) --draining_inside_;
  Threads ended = std::exchange(ended_, {});
  lock.unlock();
  join(std::move(ended));
  return drained;
}

void CallbackThreads::Pool::orphan() noexcept {
  MutexLock lock(mutex_);
  orphaned_ = true;
  Threads ended = std::exchange(ended_, {});
  lock.unlock();
  join(std::move(ended));
}

std::size_t CallbackThreads::Pool::thread_count() const noexcept {
  const MutexLock lock(mutex_);
  return threads_.size();
}

CallbackThreads::CallbackThreads(std::function<void(std::exception_ptr)> on_exception,
                                 CallbackThreadsOptions options)
    : pool_(std::make_shared<Pool>(std::move(on_exception), std::move(options))) {
  pool_->start();
}

CallbackThreads::~CallbackThreads() {
  drain_for(core::Duration(0));
  pool_->orphan();
}

bool CallbackThreads::post(std::function<void()> task) {
  return pool_->post(std::move(task));
}

Backlog CallbackThreads::backlog() const {
  return pool_->backlog();
}

bool CallbackThreads::drain_for(core::Duration longest) noexcept {
  return pool_->drain_for(longest);
}

bool CallbackThreads::runs_here() const noexcept {
  return pool_->runs_here();
}

std::size_t CallbackThreads::thread_count() const noexcept {
  return pool_->thread_count();
}

}  // namespace zklock::client
