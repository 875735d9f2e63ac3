// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/run_fsm.h"

#include <cerrno>
#include <utility>

#include <signal.h>
#include <sys/wait.h>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {

namespace {

using Kind = RunEffect::Kind;
using State = RunState;

/// Returns whether the znode outlives the loss, so that the command can get its grace.
bool leaves_grace(LossReason reason) {
  return reason == LossReason::forced || reason == LossReason::max_hold;
}

int exit_code_for_errno(int error) {
  switch (error) {
    case 0: return ExitCode::kLost;
    case ENOENT: return ExitCode::kNotFound;
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return ExitCode::kSystem;
    default: return ExitCode::kNotExecutable;
  }
}

}  // namespace

bool ends_wait(int signal) noexcept {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

int RunFsm::exit_code() const noexcept {
  if (exit_code_) return *exit_code_;
  if (ended_for_lock_ || loss_) return ExitCode::kLost;
  if (!status_) return ExitCode::kSignal + SIGKILL;  // with the guardian
  return WIFSIGNALED(*status_) ? ExitCode::kSignal + WTERMSIG(*status_) : WEXITSTATUS(*status_);
}

bool RunFsm::has_command() const noexcept {
  return state_ == State::starting || state_ == State::running || state_ == State::ending;
}

bool RunFsm::has_processes() const noexcept {
  return has_command() || state_ == State::sweeping || state_ == State::orphaned;
}

RunEffects RunFsm::release_with(int exit_code) {
  state_ = State::releasing;
  exit_code_ = exit_code;
  return {{Kind::release}};
}

RunEffects RunFsm::on_granted() {
  if (state_ == State::queued) {
    state_ = State::holding;
    return {};
  }
  if (state_ != State::withdrawing) return {};
  state_ = State::releasing;
  return {{Kind::release}};
}

RunEffects RunFsm::on_not_granted(int exit_code) {
  if (state_ != State::queued && state_ != State::withdrawing) return {};
  if (!exit_code_) exit_code_ = exit_code;
  state_ = State::ended;
  return {};
}

RunEffects RunFsm::on_lease_suffices() {
  if (state_ != State::holding) return {};
  state_ = State::starting;
  return {{Kind::start}};
}

RunEffects RunFsm::on_signal(int signal) {
  switch (state_) {
    case State::queued:
      if (!ends_wait(signal)) return {};
      state_ = State::withdrawing;
      exit_code_ = ExitCode::kSignal + signal;
      return {{Kind::withdraw}};
    case State::withdrawing:
      if (!ends_wait(signal)) return {};
      state_ = State::ended;
      return {};
    case State::holding:
      if (!ends_wait(signal)) return {};
      return release_with(ExitCode::kSignal + signal);
    case State::starting: early_signals_.push_back(signal); return {};
    case State::running:
    case State::ending: return {{Kind::signal, signal}};
    default: return {};
  }
}

RunEffects RunFsm::on_lost(LossReason reason) {
  if (state_ == State::holding) {
    loss_ = reason;
    return release_with(ExitCode::kLost);
  }
  if (!has_command() && state_ != State::sweeping) return {};
  if (has_command()) {
    // In the state `sweeping`, on_swept() decides whether this is a loss.
    loss_ = reason;
    ended_for_lock_ = true;
    state_ = State::ending;
  }
  return {{leaves_grace(reason) ? Kind::end : Kind::kill}};
}

RunEffects RunFsm::on_step() {
  if (!has_command()) return {};
  ended_for_lock_ = true;
  state_ = State::ending;
  return {};
}

RunEffects RunFsm::on_release_requested(int signal) {
  const bool starts = state_ == State::holding || state_ == State::starting;
  if (!starts && state_ != State::running) return {};
  if (std::exchange(release_was_requested_, true)) return {};
  if (!starts) return {{Kind::signal, signal}};
  early_signals_.push_back(signal);
  return {};
}

RunEffects RunFsm::on_started() {
  RunEffects effects;
  if (state_ != State::starting) return effects;
  state_ = State::running;
  for (const int signal : std::exchange(early_signals_, {})) {
    effects.push_back({Kind::signal, signal});
  }
  return effects;
}

RunEffects RunFsm::on_not_started(int error) {
  if (state_ != State::starting && state_ != State::ending) return {};
  return release_with(ended_for_lock_ ? ExitCode::kLost : exit_code_for_errno(error));
}

RunEffects RunFsm::on_child_ended(int status) {
  if (!has_command()) return {};
  status_ = status;
  state_ = State::sweeping;
  return {};
}

RunEffects RunFsm::on_swept(Instant at, Instant bound, std::optional<LossReason> loss) {
  if (state_ != State::sweeping && state_ != State::orphaned) return {};
  const bool is_excused =
      (loss == LossReason::lease_expired || loss == LossReason::session_expired) && at <= bound;
  if (loss && !is_excused && !loss_) loss_ = loss;
  state_ = State::releasing;
  return {{Kind::release}};
}

RunEffects RunFsm::on_guardian_ended() {
  if (state_ == State::queued) {
    state_ = State::withdrawing;
    exit_code_ = ExitCode::kInternal;
    return {{Kind::withdraw}};
  }
  if (state_ == State::holding) return release_with(ExitCode::kInternal);
  if (!has_command() && state_ != State::sweeping) return {};
  state_ = State::orphaned;
  return {{Kind::kill}};
}

RunEffects RunFsm::on_overdue() {
  if (!has_command() && state_ != State::sweeping) return {};
  return {{Kind::kill_guardian}};
}

RunEffects RunFsm::on_released() {
  if (state_ != State::releasing) return {};
  state_ = State::ended;
  return {};
}

}  // namespace zklock::cli
