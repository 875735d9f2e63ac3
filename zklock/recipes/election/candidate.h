// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "zklock/client/threads/backoff.h"
#include "zklock/core/election_fsm.h"
#include "zklock/deadline.h"
#include "zklock/engine/callback/interruptible_condition.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/engine/session/label_metrics.h"
#include "zklock/error.h"
#include "zklock/participant.h"
#include "zklock/recipes/election/leadership_state.h"

namespace zklock::detail {

class ClientCore;

/// One candidate for the leadership at one path. Contends through the path's PathLock, driven
/// by core::ElectionFsm, and owns the LeadershipState that a grant begins. Derived classes define
/// what a leadership does.
///
/// Thread-safety: any thread may call the public members. REQUIRES for the protected ones, except
/// entry(): the engine mutex is held. REQUIRES: made by std::make_shared.
class Candidate : public EngineLock::State, public std::enable_shared_from_this<Candidate> {
 public:
  struct Settings {
    bool again = true;  ///< contends again after each leadership
    /// Whether a leadership that was lost or withdrawn is over only when finished() is called. If
    /// false, it is over at once.
    bool until_finished = false;
    std::chrono::milliseconds retry_delay_min{};
    std::chrono::milliseconds retry_delay_max{};
    std::chrono::milliseconds lock_delay{};
    std::string label = {};
    std::string note = {};
  };

  /// Throws Error(invalid_path | invalid_option | closed | forked).
  Candidate(ClientCore& core, std::string path, Settings settings);
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;
  virtual ~Candidate() { metrics_.candidate_ended(); }

  /// Begins to contend if it is idle or has failed. If it leads, it will contend again afterwards.
  /// Returns false, without an effect, if it contends already, or will do so without this call.
  /// Throws Error(closed | forked); then nothing has changed.
  bool contend();
  /// See LeaderElection::interrupt() and withdraw().
  void interrupt();
  void withdraw();
  /// Reports how the call of the leader's function ended, which ends the leadership of `attempt`.
  void finished(LeadershipState::Attempt attempt, core::LeaderEnd end);
  /// Begins no further attempt, and ends the leadership. With `until_finished`, the lock is
  /// released when finished() is called.
  void close();

  /// See LeaderLatch::wait_until_leader().
  bool wait_until_leader(Deadline deadline, const std::stop_token& stop);
  bool leads() const;
  /// Returns the current leadership, or null.
  std::shared_ptr<LeadershipState> leadership_state() const;
  /// Returns why it does not contend any more, or nullopt.
  std::optional<Error> error() const;
  std::vector<Participant> participants(Deadline deadline) const;
  std::optional<Participant> leader(Deadline deadline) const;

  EngineContext& context() const noexcept { return path_lock_->context(); }
  const std::string& path() const noexcept { return path_lock_->path().str(); }
  void warn(const std::string& text) const noexcept;

 protected:
  /// Returns what an EngineLock enters for this candidate.
  EngineLock::Entry entry() const noexcept { return {context(), this}; }
  /// Called when a leadership begins, and when it is over. They do not block and run no user code.
  virtual void on_began(const std::shared_ptr<LeadershipState>& leadership_state) noexcept = 0;
  virtual void on_ended(const std::shared_ptr<LeadershipState>& leadership_state) noexcept = 0;

  const std::shared_ptr<LeadershipState>& current() const noexcept { return leadership_state_; }
  bool is_closed() const noexcept;

 private:
  using Fsm = core::ElectionFsm;
  /// Cause of the end of a leadership. It decides on which thread the user's stop callbacks run.
  enum class By { caller, loss };

  /// Calls `input` with the engine mutex held, and carries out the effects that it returns. Then
  /// runs the tasks of later() without the mutex. They run stop callbacks of the user. So they are
  /// no tasks of the outbox: a callback that blocks on a call would wait for a later task.
  void feed(const std::function<core::ElectionEffects()>& input, By by = By::caller);
  /// Begins the acquire of an attempt.
  void request_lock(Fsm::Attempt attempt, const std::stop_token& stop) noexcept;
  void on_answered(Fsm::Attempt attempt, const AcquireOutcome& outcome);
  void lost(LeadershipState::Attempt attempt);

  // REQUIRES: the engine mutex is held.
  void assert_invariants() const noexcept override;
  void run(const core::ElectionEffects& effects, By by);
  void carry_out(core::ElectionEffect effect, By by);
  void later(std::function<void()> task) { tasks_.push_back(std::move(task)); }
  void begin(const std::shared_ptr<Contender>& leader, Hold hold);
  void end(By by);
  void pause();
  bool is_leader() const noexcept;
  std::optional<Error> reason() const;

  const std::shared_ptr<PathLock> path_lock_;
  const Settings settings_;
  const std::shared_ptr<const CallTexts> texts_;  ///< null without a label and a note
  LabelMetrics& metrics_;

  InterruptibleCondition changed_;

  // under the engine mutex
  Fsm fsm_;
  client::Backoff backoff_;
  std::stop_source stop_;  ///< stops the current attempt
  std::shared_ptr<LeadershipState> leadership_state_;
  /// After a loss, delays the delete of the lock znode until the release. Null if none is due.
  std::shared_ptr<void> delete_delay_;
  std::optional<Error> error_;
  std::vector<std::function<void()>> tasks_;  ///< of the present feed()
};

}  // namespace zklock::detail
