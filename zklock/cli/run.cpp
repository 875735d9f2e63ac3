// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <signal.h>
#include <unistd.h>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/run_session.h"

namespace zklock::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = RunEffect::Kind;

/// The time for a connection if -w is shorter. Then the acquire is a single attempt.
constexpr seconds kShortestConnect{2};
constexpr milliseconds kWhileConnecting{20};
/// The guardian sends a notice at least twice a second while it kills.
constexpr seconds kLongestSilence{2};
constexpr seconds kBetweenLines{10};

}  // namespace

Run::Run(RunSession& session, LockFunction acquire, std::function<void(RunState)> on_state)
    : options_(session.options_),
      session_(session),
      on_state_(std::move(on_state)),
      acquire_(std::move(acquire)),
      facts_{.options = options_} {
  facts_.queued_at = LeaseClock::now();
  Duration limit = kConnectionTimeout;
  if (options_.wait) limit = std::clamp<Duration>(*options_.wait, kShortestConnect, limit);
  connect_until_ = facts_.queued_at + limit;
}

RunFacts Run::go() noexcept {
  while (true) {
    turn();
    if (fsm_.state() == RunState::ended) {
      facts_.exit_code = fsm_.exit_code();
      return facts_;
    }
    session_.waiter_.wait({session_.guardian_.fd(), session_.signals_.fd(), tasks_->fd()},
                          next_turn());
  }
}

void Run::turn() {
  while (const auto notice = session_.guardian_.next_notice()) on_notice(*notice);
  if (session_.guardian_.has_ended()) {
    if (fsm_.state() == RunState::queued || fsm_.state() == RunState::holding) {
      say("zklock's process lock-guardian was killed, so the command is not started");
    }
    carry_out(fsm_.on_guardian_ended());
  }
  while (const auto signal = session_.signals_.next()) on_signal(*signal);
  for (const TaskQueue::Task& task : tasks_->take()) task();
  if (!acquires_ && fsm_.state() == RunState::queued) connect();
  const Instant now = LeaseClock::now();
  if (acquires_) look_at_withdrawal(now);
  look_at_hold(now);
  step_plan(now);
  if (fsm_.state() == RunState::orphaned) sweep(now);
}

Instant Run::next_turn() const {
  const Instant now = LeaseClock::now();
  if (fsm_.has_processes()) return plan_->next_look(now, timeout_);
  switch (fsm_.state()) {
    case RunState::queued: return acquires_ ? Instant::max() : now + kWhileConnecting;
    case RunState::withdrawing: return withdrawn_at_ + facts_.grace;
    case RunState::holding: return now + timeout_ / 200;
    default: return Instant::max();
  }
}

void Run::carry_out(const RunEffects& effects) {
  for (const RunEffect& effect : effects) carry_out(effect);
  if (on_state_) on_state_(fsm_.state());
}

void Run::carry_out(const RunEffect& effect) {
  switch (effect.kind) {
    case Kind::withdraw:
      withdrawn_at_ = LeaseClock::now();
      stop_.request_stop();
      if (!acquires_) carry_out(fsm_.on_not_granted(ExitCode::kInternal));
      return;
    case Kind::start: return start();
    case Kind::signal: return session_.guardian_.signal(effect.signal);
    case Kind::end:
      session_.guardian_.request_end();
      return plan_->on_end_requested(LeaseClock::now());
    case Kind::kill:
      session_.guardian_.request_kill();
      return plan_->on_kill_requested(LeaseClock::now());
    case Kind::kill_guardian: return session_.guardian_.kill_guardian();
    case Kind::release: return release();
  }
}

void Run::fail(const Failure& failure) {
  if (fsm_.state() == RunState::queued) say(failure.what());
  carry_out(fsm_.on_not_granted(failure.exit_code()));
}

void Run::look_at_withdrawal(Instant now) {
  if (fsm_.state() == RunState::withdrawing && now >= withdrawn_at_ + facts_.grace) {
    carry_out(fsm_.on_signal(SIGTERM));  // as after a second signal
  }
}

void Run::connect() {
  try {
    if (session_.client_.wait_until_connected(Deadline::passed())) return acquire();
    if (LeaseClock::now() < connect_until_) return;
    fail({ExitCode::kUnavailable, "no server answered within " +
                                      text_of(connect_until_ - facts_.queued_at) +
                                      connection_problem(session_.client_)});
  } catch (const std::exception&) {
    fail(failure_of(std::current_exception()));
  }
}

std::string Run::check_timeout() {
  timeout_ = session_.client_.session_timeout();
  facts_.session_timeout = timeout_;
  facts_.lead = KillSchedule::lead_of(timeout_);
  facts_.grace = timeout_ / 8;
  const auto& max_hold = options_.lock.max_hold;
  if (max_hold) facts_.grace = std::min<Duration>(facts_.grace, *max_hold / 4);
  if (options_.grace) facts_.grace = *options_.grace;
  if (facts_.grace > timeout_ / 4) {
    return "--grace " + text_of(facts_.grace) + " needs a session timeout of " +
           text_of(facts_.grace * 4) + ", but the servers grant " + text_of(timeout_);
  }
  // A holder has at least a third of the timeout left when it sends a heartbeat.
  if (timeout_ / 3 <= facts_.lead + facts_.grace) {
    return "a session timeout of " + text_of(timeout_) + " is too short for a grace of " +
           text_of(facts_.grace) + "; use a longer -T or a shorter --grace";
  }
  if (max_hold && *max_hold < (facts_.lead + facts_.grace) * 2) {
    // Without --grace, a longer hold has a longer grace.
    const Duration shortest =
        options_.grace ? (facts_.lead + facts_.grace) * 2
                       : std::min<Duration>(facts_.lead * 4, facts_.lead * 2 + timeout_ / 4);
    return "--max-hold must be at least " +
           std::to_string(std::chrono::ceil<milliseconds>(shortest).count()) +
           " ms with a session timeout of " + text_of(timeout_) +
           "; use a longer --max-hold or a shorter -T";
  }
  if (timeout_ < seconds(4) && says()) {
    say("warning: if SIGKILL is more than " + text_of(facts_.lead + timeout_ / 48) +
        " late, another contender can hold while the command runs; use a longer -T");
  }
  return {};
}

void Run::acquire() {
  if (const std::string fault = check_timeout(); !fault.empty()) {
    return fail({ExitCode::kData, fault});
  }
  acquires_ = true;
  // The answer can come after the end of this run. Then the task is destroyed with the queue.
  acquire_(acquire_deadline(options_, facts_.queued_at), stop_.get_token(),
           [this, tasks = tasks_](HeldLock hold, const std::exception_ptr& error) {
             auto shared = std::make_shared<HeldLock>(std::move(hold));
             tasks->post([this, shared, error] { on_acquired(std::move(*shared), error); });
           });
}

void Run::on_acquired(HeldLock hold, const std::exception_ptr& error) {
  if (error) return fail(failure_of(error));
  hold_ = std::move(hold);
  if (!hold_) return on_not_acquired();
  facts_.granted_at = LeaseClock::now();
  facts_.node = hold_.node();
  facts_.token = to_string(hold_.token());
  plan_.emplace(facts_.grace);
  carry_out(fsm_.on_granted());
  if (fsm_.state() != RunState::holding) return;
  on_loss_.emplace(hold_.loss_token(),
                   [tasks = tasks_, gate = gate_, main = std::this_thread::get_id()] {
                     tasks->post([] {});
                     // Otherwise the hold was lost before the command started.
                     if (std::this_thread::get_id() != main) gate->wait();
                   });
  on_request_.emplace(hold_.release_request_token(),
                      [this] { tasks_->post([this] { on_release_requested(); }); });
}

void Run::on_not_acquired() {
  if (fsm_.state() == RunState::queued) {
    facts_.blocker = blocker_text(hold_.hold(), options_.lock);
    say(not_acquired_text(options_.wait, facts_.blocker));
  }
  carry_out(fsm_.on_not_granted(options_.code_if_not_acquired));
}

void Run::start() {
  const std::string variables =
      "ZKLOCK_PATH=" + options_.path + '\0' + "ZKLOCK_TOKEN=" + facts_.token + '\0' +
      "ZKLOCK_NODE=" + facts_.node + '\0' + "ZKLOCK_HELD=" + options_.held + '\0';
  facts_.started_at = std::chrono::system_clock::now();
  const int error = session_.guardian_.start(variables, *facts_.bound, timeout_, facts_.grace);
  if (error != 0 && error != EPIPE) on_not_started(error);
}

void Run::on_not_started(int error) {
  say(error == 0 ? "the command was not started: the lock is about to be lost"
                 : "the command was not started: " + display_text(options_.program) + ": " +
                       std::generic_category().message(error));
  carry_out(fsm_.on_not_started(error));
}

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
  const bool kills = notice.number == static_cast<int>(KillSchedule::Step::kill);
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
  if (is_hangup && session_.ignores_hangup() && !fsm_.has_processes()) return;
  // A service that ends can get HUP, too. That does not cancel the end.
  if (ends_wait(signal.number) && !(is_hangup && facts_.ending_signal)) {
    facts_.ending_signal = signal.number;
  }
  if (session_.terminal_.exists() && signal.from_terminal && has_received(signal.number)) return;
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
  const Duration timeout = session_.client_.session_timeout();
  if (bound != facts_.bound || timeout != timeout_) {
    timeout_ = timeout;
    facts_.bound = bound;
    plan_->on_bound(bound, timeout);
    if (fsm_.has_processes()) session_.guardian_.bound(bound, timeout);
  }
  if (fsm_.state() != RunState::holding) return;
  Duration needed = plan_->needed_at_start(timeout);
  if (options_.lock.max_hold) needed = std::min<Duration>(needed, *options_.lock.max_hold / 2);
  if (bound - now >= needed && plan_->may_start(now)) carry_out(fsm_.on_lease_suffices());
}

void Run::step_plan(Instant now) {
  if (!plan_ || !fsm_.has_processes()) return;
  switch (plan_->step(now)) {
    case KillSchedule::Step::none: return;
    case KillSchedule::Step::term:
      if (fsm_.state() == RunState::running) say_about_to_be_lost();
      return carry_out(fsm_.on_step());
    case KillSchedule::Step::kill: break;
  }
  if (!facts_.kill_at) {
    facts_.kill_at = now;
    facts_.kill_delay = now - plan_->last_step_due();
  }
  carry_out(fsm_.on_step());
  if (fsm_.state() == RunState::orphaned) return;
  // The guardian kills, too. This is for a guardian that was stopped.
  (void)session_.guardian_.kill_descendants();
  if (now - std::max(plan_->last_step_due(), notice_at_) > kLongestSilence)
    carry_out(fsm_.on_overdue());
}

void Run::sweep(Instant now) {
  if (!session_.guardian_.sweep_orphans()) {
    if (now > plan_->last_step_due() + kLongestSilence)
      on_remaining(session_.guardian_.remaining_orphan());
    return;
  }
  facts_.swept_at = now;
  if (!fsm_.ended_for_lock()) {
    say("zklock's process lock-guardian was killed, and the command with it");
  }
  carry_out(fsm_.on_swept(now, facts_.bound.value_or(Instant{}), hold_.loss_reason()));
}

void Run::release() {
  facts_.loss = fsm_.loss();
  facts_.ended_for_lock = fsm_.ended_for_lock();
  // The command can end before the loss is noticed, if zklock was stopped.
  if (!facts_.loss && facts_.ended_for_lock && !hold_.is_valid()) {
    facts_.loss = hold_.loss_reason().value_or(LossReason::closed);
  }
  if (const std::string text = loss_text(facts_, LeaseClock::now()); !text.empty()) say(text);
  const bool was_valid = hold_.is_valid();
  gate_->count_down();
  on_loss_.reset();
  on_request_.reset();
  hold_.release();
  if (!is_settled(session_.client_, kReleaseTimeout) && was_valid) {
    say(unconfirmed_text(timeout_));
  }
  carry_out(fsm_.on_released());
}

}  // namespace zklock::cli
