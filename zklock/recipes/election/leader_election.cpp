// SPDX-License-Identifier: Apache-2.0
#include "zklock/leader_election.h"

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "zklock/client/port/mutex.h"
#include "zklock/client/threads/start_thread.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/session/process.h"
#include "zklock/engine/session/running_callbacks.h"
#include "zklock/recipes/election/candidate.h"

namespace zklock {

namespace detail {

/// A candidate whose leadership is a call of a function. The function runs on a thread that
/// requeue() starts and close_and_wait() joins.
///
/// Thread-safety: any thread may call the public members.
class ElectionCandidate final : public Candidate {
 public:
  ElectionCandidate(ClientCore& core, std::string path, LeaderElection::Function function,
                    const ElectionOptions& options)
      : Candidate(core, std::move(path),
                  {.again = options.auto_requeue,
                   .until_finished = true,
                   .retry_delay_min = options.retry_delay_min,
                   .retry_delay_max = options.retry_delay_max,
                   .lock_delay = options.lock_delay,
                   .label = options.label,
                   .note = options.note}),
        function_(std::move(function)) {
    if (!function_) {
      throw Error(Errc::invalid_option, "lead", this->path(), "the leader's function is empty");
    }
  }

  ~ElectionCandidate() override {
    if (thread_.joinable()) thread_.detach();  // this runs on that thread
  }

  bool requeue() {
    context().check_usable("lead", path());
    start_thread();
    return contend();
  }

  void close_and_wait() {
    close();
    std::thread ended;
    {
      EngineLock lock(entry());
      changed_.notify_all();
      if (thread_.get_id() == std::this_thread::get_id()) return;
      lock.wait(changed_, Deadline::never(), [this] { return !thread_.joinable() || returned_; });
      ended.swap(thread_);
    }
    if (ended.joinable()) ended.join();
  }

  std::exception_ptr last_failure() const {
    if (context().forked()) return nullptr;
    const EngineLock lock(entry());
    return last_failure_;
  }

 private:
  void on_began(const std::shared_ptr<LeadershipState>& leadership_state) noexcept override {
    next_ = leadership_state;
    changed_.notify_all();
  }
  void on_ended(const std::shared_ptr<LeadershipState>&) noexcept override {
    if (call_.hook.is_linked() && !call_.since) call_.since = context().scheduler().now();
  }

  /// Starts the thread if no call has started it, and it may still lead. The thread waits for the
  /// mutex. Throws std::system_error if the system provides no thread.
  void start_thread() {
    EngineLock lock(entry());
    lock.permit_exceptions();  // nothing has changed
    if (is_closed() || thread_.joinable()) return;
    auto self = std::static_pointer_cast<ElectionCandidate>(shared_from_this());
    thread_ = client::start_thread("zklock-leader", [self = std::move(self)] { self->work(); });
  }

  /// The life of the thread.
  void work() {
    while (const auto leadership_state = next()) {
      auto end = core::LeaderEnd::not_run;
      std::exception_ptr failure;
      if (!leadership_state->end_token().stop_requested()) {
        failure = lead(*leadership_state);
        end = failure ? core::LeaderEnd::threw : core::LeaderEnd::returned;
      }
      end_call(failure);
      finished(leadership_state->attempt(), end);
    }
    // Destroys what the function owns here, not on a thread that keeps sessions alive.
    function_ = nullptr;
    const EngineLock lock(entry());
    returned_ = true;
    changed_.notify_all();
  }

  /// Blocks until a leadership begins, and returns it. Returns null if the election is closed. From
  /// now on, the end of the leadership is recorded in call_.
  std::shared_ptr<LeadershipState> next() {
    EngineLock lock(entry());
    lock.wait(
        changed_, Deadline::never(), [this] { return next_ || is_closed(); },
        std::chrono::hours(1));
    if (!next_) return nullptr;
    call_.since.reset();
    context().records().callbacks.add(call_);
    return std::exchange(next_, nullptr);
  }

  /// Calls the function. Returns its exception, or null.
  std::exception_ptr lead(const LeadershipState& leadership_state) {
    std::exception_ptr failure;
    std::string what;
    try {
      Leadership leadership = leadership_state.leadership();
      function_(leadership);
      return nullptr;
    } catch (const std::exception& e) {
      failure = std::current_exception();
      what = std::string(": ") + e.what();
    } catch (...) {
      failure = std::current_exception();
    }
    warn("the leader's function threw an exception" + what);
    return failure;
  }

  void end_call(std::exception_ptr failure) {
    if (context().forked()) return;  // the function has called fork(), and returned in the child
    const EngineLock lock(entry());
    context().records().callbacks.remove(call_);
    // The previous exception is the user's, so it is destroyed after the lock.
    if (failure) std::swap(last_failure_, failure);
  }

  LeaderElection::Function function_;  // used only by the thread, once it runs
  client::Condition changed_;

  // under the engine mutex
  std::thread thread_;     ///< joinable from its start until close_and_wait() joins it
  bool returned_ = false;  ///< the thread is leaving work()
  std::shared_ptr<LeadershipState> next_;
  /// The call of the function; in the list of calls while it runs.
  RunningCallbacks::Call call_{"the leader's function of ", path()};
  std::exception_ptr last_failure_;
};

}  // namespace detail

LeaderElection::LeaderElection(Client& client, std::string path, const ElectionOptions& options,
                               Function take_leadership)
    : candidate_(std::make_shared<detail::ElectionCandidate>(
          *detail::ClientCore::of(client), std::move(path), std::move(take_leadership), options)) {}

LeaderElection::~LeaderElection() {
  close();
  if (candidate_->context().forked()) detail::keep_for_ever(std::move(candidate_));
}

bool LeaderElection::requeue() {
  return candidate_->requeue();
}

void LeaderElection::interrupt() noexcept {
  const auto candidate = candidate_;  // a stop callback may destroy this object meanwhile
  if (!candidate->context().forked()) candidate->interrupt();
}

void LeaderElection::withdraw() noexcept {
  const auto candidate = candidate_;
  if (!candidate->context().forked()) candidate->withdraw();
}

bool LeaderElection::has_leadership() const noexcept {
  return candidate_->leads();
}

std::optional<Participant> LeaderElection::leader(Deadline deadline) const {
  return candidate_->leader(deadline);
}

std::vector<Participant> LeaderElection::participants(Deadline deadline) const {
  return candidate_->participants(deadline);
}

std::exception_ptr LeaderElection::last_failure() const {
  return candidate_->last_failure();
}

std::optional<Error> LeaderElection::error() const {
  return candidate_->error();
}

void LeaderElection::close() noexcept {
  const auto candidate = candidate_;  // the function may destroy this object meanwhile
  if (!candidate->context().forked()) candidate->close_and_wait();
}

const std::string& LeaderElection::path() const noexcept {
  return candidate_->path();
}

}  // namespace zklock
