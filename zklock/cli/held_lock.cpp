// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/held_lock.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include <unistd.h>

#include "zklock/acquire_options.h"
#include "zklock/error.h"
#include "zklock/leader_election.h"
#include "zklock/mutex.h"
#include "zklock/priority_mutex.h"
#include "zklock/semaphore.h"
#include "zklock/shared_mutex.h"

namespace zklock::cli {

namespace {

using std::chrono::milliseconds;

/// Returns a function that calls `acquire` with the lock, the options and a handler.
template <class Lock, class Acquire>
LockFunction lock_function(std::shared_ptr<Lock> lock, const LockChoice& choice, Acquire acquire) {
  AcquireOptions options;
  if (choice.max_hold)
    options.max_hold = std::chrono::duration_cast<milliseconds>(*choice.max_hold);
  options.note = choice.note;
  return [=](Deadline deadline, std::stop_token stop, LockHandler handler) {
    AcquireOptions once = options;
    once.deadline = deadline;
    once.stop = std::move(stop);
    acquire(*lock, once, [handler = std::move(handler)](Hold hold, std::exception_ptr error) {
      handler(HeldLock(std::move(hold)), std::move(error));
    });
  };
}

/// How often it looks for an error that ends the candidacy. No callback reports that.
constexpr milliseconds kBetweenLooks{500};

/// One candidacy. The leader's function runs until end(), so the lock is released after the last
/// process of the command has ended. After a loss, the election does not stand again.
///
/// The candidacy is answered once: by the leader's function, by a withdrawal, or by an error.
///
/// Thread-safety: any thread.
class Candidacy {
 public:
  Candidacy(Client& client, const std::string& path, const std::string& note,
            std::function<void(const Leadership&)> on_leading)
      : on_leading_(std::move(on_leading)),
        election_(client, path, {.note = note, .auto_requeue = false},
                  [this](const Leadership& leadership) { lead(leadership); }) {}
  Candidacy(const Candidacy&) = delete;
  Candidacy& operator=(const Candidacy&) = delete;
  ~Candidacy() { end(); }

  void stand(std::stop_token stop, LockHandler answer) {
    answer_ = std::move(answer);
    election_.start();
    watch_ = std::jthread([this](const std::stop_token& ended) { watch_for_error(ended); });
    on_stop_.emplace(std::move(stop), [this] { withdraw(); });
  }

 private:
  using Withdraw = std::function<void()>;

  bool is_first_answer() {
    const std::lock_guard guard(mutex_);
    const bool is_first = !std::exchange(is_answered_, true);
    changed_.notify_all();
    return is_first;
  }

  void lead(const Leadership& leadership) {
    if (!is_first_answer()) return;
    on_leading_(leadership);
    answer_(HeldLock(leadership, [this] { end(); }), nullptr);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_ended_; });
  }

  void withdraw() {
    const bool is_first = is_first_answer();
    end();
    if (is_first) answer_(HeldLock(), nullptr);
  }

  void watch_for_error(const std::stop_token& ended) {
    std::unique_lock lock(mutex_);
    while (!is_answered_ && !ended.stop_requested()) {
      if (const auto error = election_.error()) {
        is_answered_ = true;
        return answer_(HeldLock(), std::make_exception_ptr(*error));
      }
      changed_.wait_for(lock, ended, kBetweenLooks, [this] { return is_answered_; });
    }
  }

  /// Leaves the queue, or ends the leadership. Blocks until the leader's function has returned.
  void end() {
    {
      const std::lock_guard guard(mutex_);
      is_ended_ = true;
      changed_.notify_all();
    }
    election_.close();
  }

  const std::function<void(const Leadership&)> on_leading_;
  LockHandler answer_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_answered_ = false;
  bool is_ended_ = false;
  LeaderElection election_;
  std::jthread watch_;
  std::optional<std::stop_callback<Withdraw>> on_stop_;
};

}  // namespace

LockFunction make_contender(Client& client, const std::string& path, const LockChoice& choice) {
  const auto lock_delay =
      std::chrono::duration_cast<milliseconds>(choice.lock_delay.value_or(Duration{}));
  if (choice.permits) {
    const int permits = *choice.permits;
    auto lock = choice.of ? std::make_shared<Semaphore>(client, path, *choice.of)
                          : std::make_shared<Semaphore>(client, path, SharedCount{permits});
    return lock_function(std::move(lock), choice,
                         [permits](Semaphore& semaphore, const auto& options, auto handler) {
                           semaphore.async_acquire(options, permits, std::move(handler));
                         });
  }
  if (choice.shared) {
    return lock_function(std::make_shared<SharedMutex>(client, path), choice,
                         [](SharedMutex& mutex, const auto& options, auto handler) {
                           mutex.async_acquire_shared(options, std::move(handler));
                         });
  }
  if (choice.weight) {
    PriorityOptions priority;
    priority.weight = *choice.weight;
    priority.lock_delay = lock_delay;
    return lock_function(
        std::make_shared<PriorityMutex>(client, path, priority), choice,
        [weight = choice.weight](PriorityMutex& mutex, const auto& options, auto handler) {
          mutex.async_acquire(options, weight, std::move(handler));
        });
  }
  CohortOptions cohort;
  cohort.lock_delay = lock_delay;
  return lock_function(std::make_shared<Mutex>(client, path, cohort), choice,
                       [](Mutex& mutex, const auto& options, auto handler) {
                         mutex.async_acquire(options, std::move(handler));
                       });
}

const char* kind_of(const LockChoice& choice) noexcept {
  if (choice.permits) return "permits";
  if (choice.shared) return "shared";
  return choice.weight ? "priority" : "mutex";
}

LockFunction make_candidacy(Client& client, const std::string& path, const std::string& note,
                            std::function<void(const Leadership&)> on_leading) {
  return [candidacy = std::make_shared<Candidacy>(client, path, note, std::move(on_leading))](
             Deadline, std::stop_token stop, LockHandler answer) {
    candidacy->stand(std::move(stop), std::move(answer));
  };
}

bool is_settled(Client& client, Deadline deadline) {
  try {
    return client.is_connected() && client.flush(deadline);
  } catch (const Error&) {
    return false;
  }
}

int end_with(Client& client, int exit_code) {
  if (!is_settled(client, std::chrono::seconds(1))) ::_exit(exit_code);
  return exit_code;
}

}  // namespace zklock::cli
