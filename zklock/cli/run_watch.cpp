// SPDX-License-Identifier: Apache-2.0
// Members of Run for the time while the command runs.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <signal.h>
#include <unistd.h>

#include "zklock/cli/core/text.h"
#include "zklock/cli/run.h"

namespace zklock::cli {

namespace {

using std::chrono::seconds;

/// The guardian sends a notice at least twice a second while it kills.
constexpr seconds kLongestSilence{2};
constexpr seconds kBetweenLines{10};

}  // namespace

void Run::on_notice(const Notice& notice) {
  notice_at_ = LeaseClock::now();
  switch (notice.kind) {
    case Notice::Kind::started: facts_.pid = notice.number; return carry_out(fsm_.on_started());
    case Notice::Kind::not_started: return on_not_started(notice.number);
    case Notice::Kind::stepped: return on_stepped(notice);
    case Notice::Kind::ended:
      facts_.status = notice.number;
      facts_.ended_at = notice.at;
      return carry_out(fsm_.on_child_ended(notice.number));
    case Notice::Kind::swept:
      facts_.swept_at = notice.at;
      if (facts_.leftover > 0 && !fsm_.ended_for_lock() && says()) {
        say(counted(static_cast<std::size_t>(facts_.leftover),
                    "process of the command still ran when it ended, and was ended",
                    "processes of the command still ran when it ended, and were ended"));
      }
      return carry_out(
          fsm_.on_swept(notice.at, facts_.bound.value_or(Instant{}), hold_.loss_reason()));
    case Notice::Kind::remaining: return on_remaining(notice);
  }
}

void Run::on_remaining(const Notice& notice) {
  if (notice.number == 0 || notice.at < remaining_at_ + kBetweenLines) return;
  remaining_at_ = notice.at;
  say("pid " + std::to_string(notice.number) + " (" + display_text(notice.name.data()) + ", uid " +
      std::to_string(notice.uid) + ") " +
      (notice.is_refused ? "cannot be ended: Operation not permitted"
                         : "has not ended after KILL: the system may wait for a device") +
      "; the lock is not released while it runs");
}

void Run::on_stepped(const Notice& notice) {
  const bool kills = notice.number == static_cast<int>(EndPlan::Step::kill);
  auto& at = kills ? facts_.kill_at : facts_.term_at;
  if (!at) at = notice.at;
  if (kills) facts_.kill_delay = std::max(facts_.kill_delay.value_or(Duration{}), notice.delay);
  if (fsm_.state() == RunState::sweeping) {
    facts_.leftover = std::max(facts_.leftover, notice.count);
    return;
  }
  if (fsm_.state() == RunState::running) say_about_to_be_lost();
  carry_out(fsm_.on_step());
}

void Run::say_about_to_be_lost() {
  if (!facts_.bound) return;
  const Duration left = *facts_.bound - LeaseClock::now();
  if (left <= Duration{}) return;  // zklock was stopped meanwhile; release() says the rest
  say("the lock is about to be lost: it is still valid for " + text_of(left) +
      "; the command gets its signal now, and KILL in " +
      text_of(std::min(facts_.grace, left - facts_.lead)));
}

void Run::on_signal(const ReceivedSignal& signal) {
  const bool is_hangup = signal.number == SIGHUP;
  if (is_hangup && parts_.ignores_hangup && !fsm_.has_processes()) return;
  // A service that ends can get HUP, too. That does not cancel the end.
  if (ends_wait(signal.number) && !(is_hangup && facts_.ending_signal)) {
    facts_.ending_signal = signal.number;
  }
  if (parts_.shares_terminal && signal.from_terminal && has_received(signal.number)) return;
  carry_out(fsm_.on_signal(signal.number));
}

// The terminal sends these to its whole foreground group. The command may have left the group.
bool Run::has_received(int signal) const noexcept {
  const bool is_for_group = signal == SIGINT || signal == SIGQUIT || signal == SIGWINCH;
  return is_for_group && facts_.pid && ::getpgid(*facts_.pid) == ::getpgrp();
}

void Run::on_release_requested() {
  if (!hold_.is_valid()) return;
  const RunState state = fsm_.state();
  const bool is_running = state == RunState::running;
  if (!is_running && state != RunState::starting && state != RunState::holding) return;
  if (says()) {
    say(std::string("a release is requested; the command ") +
        (is_running ? "got its signal" : "gets its signal when it starts"));
  }
  carry_out(fsm_.on_release_requested(options_.term_signal));
}

void Run::look_at_hold(Instant now) {
  if (fsm_.state() != RunState::holding && (!fsm_.has_processes() || !hold_)) return;
  const Instant bound = hold_.valid_until();
  if (!hold_.is_valid()) {
    if (!std::exchange(said_lost_, true)) {
      carry_out(fsm_.on_lost(hold_.loss_reason().value_or(LossReason::closed)));
    }
    return;
  }
  const Duration timeout = parts_.client.session_timeout();
  if (bound != facts_.bound || timeout != timeout_) {
    timeout_ = timeout;
    facts_.bound = bound;
    plan_->on_bound(bound, timeout);
    if (fsm_.has_processes()) parts_.guardian.bound(bound, timeout);
  }
  if (fsm_.state() != RunState::holding) return;
  Duration needed = plan_->needed_at_start(timeout);
  if (options_.lock.max_hold) needed = std::min<Duration>(needed, *options_.lock.max_hold / 2);
  if (bound - now >= needed && plan_->may_start(now)) carry_out(fsm_.on_lease_suffices());
}

void Run::step_plan(Instant now) {
  if (!plan_ || !fsm_.has_processes()) return;
  switch (plan_->step(now)) {
    case EndPlan::Step::none: return;
    case EndPlan::Step::term:
      if (fsm_.state() == RunState::running) say_about_to_be_lost();
      return carry_out(fsm_.on_step());
    case EndPlan::Step::kill: break;
  }
  if (!facts_.kill_at) {
    facts_.kill_at = now;
    facts_.kill_delay = now - plan_->last_step_due();
  }
  carry_out(fsm_.on_step());
  if (fsm_.state() == RunState::orphaned) return;
  // The guardian kills, too. This is for a guardian that was stopped.
  (void)parts_.guardian.kill_descendants();
  if (now - std::max(plan_->last_step_due(), notice_at_) > kLongestSilence)
    carry_out(fsm_.on_overdue());
}

void Run::sweep(Instant now) {
  if (!parts_.guardian.sweep_orphans()) {
    if (now > plan_->last_step_due() + kLongestSilence)
      on_remaining(parts_.guardian.remaining_orphan());
    return;
  }
  facts_.swept_at = now;
  if (!fsm_.ended_for_lock()) {
    say("zklock's process lock-guardian was killed, and the command with it");
  }
  carry_out(fsm_.on_swept(now, facts_.bound.value_or(Instant{}), hold_.loss_reason()));
}

}  // namespace zklock::cli
