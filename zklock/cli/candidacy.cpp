// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/candidacy.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "zklock/error.h"
#include "zklock/leader_election.h"

namespace zklock::cli {

namespace {

/// How often it looks for an error that ends the candidacy. No callback reports that.
constexpr std::chrono::milliseconds kBetweenLooks{500};

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

LockFunction make_candidacy(Client& client, const std::string& path, const std::string& note,
                            std::function<void(const Leadership&)> on_leading) {
  return [candidacy = std::make_shared<Candidacy>(client, path, note, std::move(on_leading))](
             Deadline, std::stop_token stop, LockHandler answer) {
    candidacy->stand(std::move(stop), std::move(answer));
  };
}

}  // namespace zklock::cli
