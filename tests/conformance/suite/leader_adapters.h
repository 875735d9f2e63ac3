// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/suite/lock_adapters.h"
#include "zklock/client/port/test_seam.h"

namespace zklock::testing {

// Whether a candidate still waits: neither elected nor closed.
struct Waiting {
  std::atomic<bool> waits{true};
};

// One candidate of a LeaderLatch. An acquire is start() and wait_until_leader(); a release is
// close().
class LatchCandidate : public Waiting {
 public:
  LatchCandidate(Client& client, const std::string& path, const CohortOptions& options)
      : latch_(client, path, latch_options(options)) {
    if (!options.listener) return;
    const auto report = [path, listener = options.listener](LockEvent::Kind kind) {
      return [path, listener, kind](const Leadership& leadership) {
        listener({.kind = kind,
                  .path = path,
                  .owner = Owner::this_thread(),
                  .token = leadership.token()});
      };
    };
    subscription_.emplace(
        latch_.add_listener(report(LockEvent::Kind::acquired), report(LockEvent::Kind::lost)));
  }
  void start() { latch_.start(); }
  bool wait_until_leader(Deadline deadline, const std::stop_token& stop) {
    return latch_.wait_until_leader(deadline, stop);
  }
  Leadership leadership() { return latch_.leadership(); }
  std::vector<Participant> participants() const { return latch_.participants(); }
  void close() { latch_.close(CloseMode::notify); }

 private:
  static LatchOptions latch_options(const CohortOptions& options) {
    LatchOptions same;
    same.label = options.label;
    same.lock_delay = options.lock_delay;
    return same;
  }

  LeaderLatch latch_;
  std::optional<Subscription> subscription_;
};

// One candidate of a LeaderElection. An acquire waits for the election; the function leads until
// the leadership ends.
class ElectionCandidate : public Waiting {
 public:
  ElectionCandidate(Client& client, const std::string& path, const CohortOptions& options)
      : path_(path),
        listener_(options.listener),
        election_(client, path,
                  {.label = options.label, .auto_requeue = false, .lock_delay = options.lock_delay},
                  [this](const Leadership& leadership) { lead(leadership); }) {}
  void start() { election_.start(); }
  // LeaderElection has no wait_until_leader(). The function and close() notify the waiting thread.
  // No event reports that the client was closed.
  bool wait_until_leader(Deadline deadline, const std::stop_token& stop) {
    const client::VirtualAlarm alarm(deadline, changed_);
    const auto has_passed = [&] { return deadline.has_passed(LeaseClock::now()); };
    std::unique_lock lock(mutex_);
    while (!elected_) {
      if (const auto error = election_.error()) throw *error;
      if (stop.stop_requested() || has_passed()) return false;
      changed_.wait_for(
          lock, stop,
          zklock::client::slice_before(deadline, LeaseClock::now(), std::chrono::milliseconds(500)),
          [&] { return elected_ || closed_ || has_passed(); });
    }
    return true;
  }
  Leadership leadership() {
    const std::lock_guard guard(mutex_);
    return elected_.value_or(Leadership());
  }
  std::vector<Participant> participants() const { return election_.participants(); }
  void close() {
    election_.close();
    const std::lock_guard guard(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  void lead(const Leadership& leadership) {
    std::unique_lock lock(mutex_);
    elected_ = leadership;
    changed_.notify_all();
    report(LockEvent::Kind::acquired, leadership);
    changed_.wait(lock, leadership.end_token(), [] { return false; });
    report(LockEvent::Kind::lost, leadership);
  }
  void report(LockEvent::Kind kind, const Leadership& leadership) const {
    if (!listener_) return;
    listener_(
        {.kind = kind, .path = path_, .owner = Owner::this_thread(), .token = leadership.token()});
  }

  const std::string path_;
  const LockListener listener_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  // guarded by mutex_
  std::optional<Leadership> elected_;
  bool closed_ = false;

  LeaderElection election_;  // last: its function uses the other members
};

// One leadership and its candidate.
template <class TestCandidate>
class LeaderGrant {
 public:
  LeaderGrant() = default;
  explicit LeaderGrant(std::shared_ptr<TestCandidate> candidate)
      : candidate_(std::move(candidate)), leadership_(candidate_->leadership()) {}
  LeaderGrant(LeaderGrant&&) noexcept = default;
  LeaderGrant& operator=(LeaderGrant&& other) noexcept {
    LeaderGrant old(std::move(*this));
    candidate_ = std::move(other.candidate_);
    leadership_ = std::move(other.leadership_);
    return *this;
  }
  ~LeaderGrant() { release(); }

  explicit operator bool() const { return candidate_ != nullptr; }
  FencingToken token() const { return leadership_.token(); }
  std::string node() const { return leadership_.node(); }
  HoldState state() const { return leadership_.state(); }
  std::stop_token loss_token() const { return leadership_.end_token(); }
  std::optional<LossReason> loss_reason() const { return leadership_.loss_reason(); }
  std::stop_token release_request_token() const { return leadership_.release_request_token(); }
  LeaseClock::time_point valid_until() const { return leadership_.valid_until(); }
  GuardedTransaction guarded() const { return GuardedTransaction(leadership_); }
  void proclaim(const std::string& value) const { leadership_.proclaim(value); }
  void release() {
    if (const auto candidate = std::exchange(candidate_, nullptr)) candidate->close();
  }

 private:
  std::shared_ptr<TestCandidate> candidate_;
  Leadership leadership_;
};

// The lock object of a leader class. Each call that acquires creates a new candidate.
template <class TestCandidate>
class Candidates {
 public:
  using Grant = LeaderGrant<TestCandidate>;
  using Handler = Callback<Grant, std::exception_ptr>;

  Candidates(Client& client, std::string path, CohortOptions options)
      : client_(client),
        path_(std::move(path)),
        options_(std::move(options)),
        reader_(client_, path_, {}) {}
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;
  // Closes the candidates that still wait; their calls end with `closed`.
  ~Candidates() {
    {
      const std::lock_guard guard(mutex_);
      for (const auto& waiting : waiting_) {
        const auto candidate = waiting.lock();
        if (candidate && candidate->waits) candidate->close();
      }
    }
    for (std::thread& thread : threads_) thread.join();
  }

  Grant acquire(const AcquireOptions& options) { return wait_until_leader(begin(), options); }
  // Runs the blocking call in a thread.
  std::future<Grant> async_acquire(AcquireOptions options) {
    std::packaged_task<Grant()> task([options = std::move(options), candidate = try_begin()] {
      return wait_until_leader(candidate(), options);
    });
    auto future = task.get_future();
    run(std::move(task));
    return future;
  }
  void async_acquire(AcquireOptions options, Handler handler) {
    run([options = std::move(options), handler = std::move(handler), candidate = begin()] {
      Grant grant;
      std::exception_ptr error;
      try {
        grant = wait_until_leader(candidate, options);
      } catch (...) {
        error = std::current_exception();
      }
      handler(std::move(grant), error);
    });
  }
  std::vector<Participant> participants() const { return reader_.participants(); }

 private:
  std::shared_ptr<TestCandidate> begin() {
    auto candidate = std::make_shared<TestCandidate>(client_, path_, options_);
    candidate->start();
    const std::lock_guard guard(mutex_);
    std::erase_if(waiting_, [](const auto& each) { return each.expired(); });
    waiting_.push_back(candidate);
    // A destroyed candidate is not notified, even of events in flight. So candidates with a
    // listener are retained.
    if (options_.listener) listening_.push_back(candidate);
    return candidate;
  }
  // Returns a function that returns the new candidate, or throws the exception of begin().
  std::function<std::shared_ptr<TestCandidate>()> try_begin() {
    try {
      return [candidate = begin()] { return candidate; };
    } catch (...) {
      return [error = std::current_exception()]() -> std::shared_ptr<TestCandidate> {
        std::rethrow_exception(error);
      };
    }
  }
  static Grant wait_until_leader(const std::shared_ptr<TestCandidate>& candidate,
                                 const AcquireOptions& options) {
    try {
      if (candidate->wait_until_leader(options.deadline, options.stop)) {
        candidate->waits = false;
        return Grant(candidate);
      }
    } catch (...) {
      candidate->close();
      throw;
    }
    candidate->close();
    return Grant();
  }
  template <class Task>
  void run(Task task) {
    const std::lock_guard guard(mutex_);
    threads_.emplace_back(std::move(task));
  }

  Client& client_;
  const std::string path_;
  const CohortOptions options_;
  TestCandidate reader_;
  std::mutex mutex_;
  // guarded by mutex_
  std::vector<std::weak_ptr<TestCandidate>> waiting_;
  std::vector<std::shared_ptr<TestCandidate>> listening_;
  std::vector<std::thread> threads_;
};

template <class TestCandidate>
struct LeaderAdapter : CommonTraits {
  using Lock = Candidates<TestCandidate>;
  using Grant = typename Lock::Grant;
  static constexpr bool kNests = false;  // each candidate is a new owner
  static constexpr bool kShares = false;
  static constexpr bool kNamed = false;  // a candidate takes no owner
  // A candidate contends until it is closed, and retries after every transient error. Deadline,
  // stop token and single attempt apply to wait_until_leader() only.
  static constexpr bool kCalls = false;
  static constexpr bool kFailsByPolicy = false;
  static constexpr bool kLeads = true;
  // The listeners of a latch and the function of an election learn only of begin and end.
  static constexpr DeliveredEvents kDelivered = DeliveredEvents::begin_and_end;

  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    const CohortOptions& options = {}) {
    return std::make_unique<Lock>(client, path, options);
  }
  static Grant acquire(Lock& lock, const AcquireOptions& options) { return lock.acquire(options); }
  static std::future<Grant> async_acquire(Lock& lock, AcquireOptions options) {
    return lock.async_acquire(std::move(options));
  }
  static void async_acquire(Lock& lock, AcquireOptions options, typename Lock::Handler handler) {
    lock.async_acquire(std::move(options), std::move(handler));
  }
  static std::vector<Participant> participants(const Lock& lock) { return lock.participants(); }
};

struct LeaderLatchAdapter : LeaderAdapter<LatchCandidate> {
  using Rival = LeaderLatchAdapter;
  static constexpr const char* kName = "LeaderLatch";
  // The latch contends again at once until it is closed, and may be the next leader.
  static constexpr bool kFreesAllByLoss = false;
};

struct LeaderElectionAdapter : LeaderAdapter<ElectionCandidate> {
  using Rival = LeaderElectionAdapter;
  static constexpr const char* kName = "LeaderElection";
  // The election waits in its own thread, so none of its calls does.
  static constexpr bool kInterrupts = false;
};

}  // namespace zklock::testing
