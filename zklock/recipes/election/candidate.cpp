// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/election/candidate.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "zklock/core/log_line.h"
#include "zklock/engine/callback/post_or_run.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/queue_reader.h"
#include "zklock/recipes/locks/checked_options.h"

namespace zklock::detail {

using core::CandidateState;
using core::ElectionEffect;

namespace {

constexpr const char* kOperation = "lead";

client::Backoff checked_backoff(const Candidate::Settings& settings, const std::string& path) {
  if (settings.retry_delay_min.count() <= 0 ||
      settings.retry_delay_max < settings.retry_delay_min) {
    throw Error(Errc::invalid_option, kOperation, path,
                "retry_delay_min must be positive and not above retry_delay_max");
  }
  return {saturated(settings.retry_delay_min), saturated(settings.retry_delay_max)};
}

}  // namespace

Candidate::Candidate(ClientCore& core, std::string path, Settings settings)
    : path_lock_(core.usable_path_lock(kOperation, std::move(path))),
      settings_(settings),
      texts_(CallTexts::of_call(CallTexts::of_object(settings.label), settings.note)),
      metrics_(core.metrics_of(settings.label)),
      fsm_(settings.again),
      backoff_(checked_backoff(settings, path_lock_->path().str())) {
  checked_delay(settings_.lock_delay, path_lock_->path().str());
  metrics_.candidate_made();  // last: without an exception, the destructor follows
}

void Candidate::warn(const std::string& text) const noexcept {
  context().warn(core::log_line(kOperation, path(), text, {}));
}

// ---- driving the machine ------------------------------------------------------------------------

void Candidate::feed(const std::function<core::ElectionEffects()>& input, By by) {
  if (context().forked()) return;
  std::vector<std::function<void()>> tasks;
  {
    const EngineLock lock(entry());
    run(input(), by);
    tasks.swap(tasks_);
    changed_.notify_all();
  }
  for (auto& task : tasks) std::exchange(task, nullptr)();
}

void Candidate::assert_invariants() const noexcept {
  [[maybe_unused]] const auto state = fsm_.state();
  assert((leadership_state_ != nullptr) ==
         (state == CandidateState::leading || state == CandidateState::ending ||
          state == CandidateState::closing));
  assert(!leadership_state_ || leadership_state_->attempt() == fsm_.attempt());
  assert(leadership_state_ || !delete_delay_);
  assert(tasks_.empty());
}

void Candidate::run(const core::ElectionEffects& effects, By by) {
  for (const ElectionEffect effect : effects) carry_out(effect, by);
}

void Candidate::carry_out(ElectionEffect effect, By by) {
  switch (effect) {
    case ElectionEffect::contend:
      stop_ = std::stop_source();
      error_.reset();
      later([self = shared_from_this(), attempt = fsm_.attempt(), stop = stop_.get_token()] {
        self->request_lock(attempt, stop);
      });
      return;
    case ElectionEffect::cancel: later([stop = stop_]() mutable { stop.request_stop(); }); return;
    case ElectionEffect::pause: pause(); return;
    case ElectionEffect::stop: end(by); return;
    case ElectionEffect::release:
      later([leadership_state = std::exchange(leadership_state_, nullptr),
             delay = std::exchange(delete_delay_, nullptr)]() mutable {
        delay.reset();
        leadership_state->release();
      });
      return;
    case ElectionEffect::begin:  // on_answered() does these two: it has the hold
    case ElectionEffect::release_late: return;
  }
}

void Candidate::request_lock(Fsm::Attempt attempt, const std::stop_token& stop) noexcept {
  AcquireRequest request{
      .owner = Owner::unique(),  // two candidates of one process never nest
      .time_limit = TimeLimit::endless(),
      .lock_delay = settings_.lock_delay,
      .metrics = {&metrics_, true},
      .texts = texts_,
      .done = [self = shared_from_this(), attempt](const AcquireOutcome& outcome) {
        self->on_answered(attempt, outcome);
      }};
  try {
    PendingAcquire::start(path_lock_, std::move(request), stop);
  } catch (const Error& error) {
    on_answered(attempt, {.error = error});
  }
}

void Candidate::on_answered(Fsm::Attempt attempt, const AcquireOutcome& outcome) {
  // If it is unwanted, it is released at the end, without the mutex.
  Hold hold = outcome.contender ? outcome.contender->make_hold(core::CountKind::hold) : Hold();
  const bool for_good = outcome.error && core::ends_contention(outcome.error->errc());
  feed([&] {
    if (hold) {
      auto effects = fsm_.on_granted(attempt);
      if (effects.front() == ElectionEffect::begin) begin(outcome.contender, std::move(hold));
      return effects;
    }
    auto effects = fsm_.on_failed(attempt, for_good);
    const bool is_current = attempt == fsm_.attempt();
    if (is_current && fsm_.state() == CandidateState::failed) error_ = outcome.error;
    if (is_current && outcome.error && !context().closed()) warn(outcome.error->what());
    return effects;
  });
}

void Candidate::begin(const std::shared_ptr<Contender>& leader, Hold hold) {
  if (!settings_.until_finished) backoff_.reset();
  leadership_state_ = std::make_shared<LeadershipState>(fsm_.attempt(), leader, std::move(hold));
  metrics_.add_leadership();
  on_began(leadership_state_);
  later([leader] { leader->watch_node(); });  // the leadership lasts: worth a request
  later([leadership_state = leadership_state_, candidate = weak_from_this()] {
    leadership_state->notify_loss([candidate, attempt = leadership_state->attempt()] {
      if (const auto alive = candidate.lock()) alive->lost(attempt);
    });
  });
}

void Candidate::end(By by) {
  leadership_state_->end();
  on_ended(leadership_state_);
  later(
      [self = shared_from_this(), leadership_state = leadership_state_, delay = delete_delay_, by] {
        if (by == By::caller) return leadership_state->stop();
        // The thread that notifies the loss then contends again, so it must not run the user's
        // callbacks: they may block.
        auto& client = self->context();
        post_or_run(client.shared_from_this(), client.loss_dispatcher(),
                    [&client, path = self->path(), leadership_state, delay] {
                      const RunningCallbacks::ScopedCall call(client, "a loss callback of ", path,
                                                              client.scheduler().now());
                      leadership_state->stop();
                    });
      });
  if (!settings_.until_finished) run(fsm_.on_finished(leadership_state_->attempt()), by);
}

void Candidate::pause() {
  auto& scheduler = context().scheduler();
  scheduler.at(scheduler.now() + backoff_.next(),
               [candidate = weak_from_this(), attempt = fsm_.attempt()] {
                 if (const auto self = candidate.lock())
                   self->feed([&] { return self->fsm_.on_pause_over(attempt); });
               });
}

void Candidate::lost(LeadershipState::Attempt attempt) {
  feed(
      [&] {
        const bool is_current = leadership_state_ && attempt == fsm_.attempt();
        if (is_current) delete_delay_ = leadership_state_->delay_delete();
        return fsm_.on_lost(attempt);
      },
      By::loss);
}

// ---- requests of the user -----------------------------------------------------------------------

bool Candidate::contend() {
  context().check_usable(kOperation, path());
  bool closed = false;
  bool contends = false;
  feed([&] {
    closed = is_closed();
    contends = fsm_.will_contend();
    return fsm_.contend();
  });
  if (closed) throw Error(Errc::closed, kOperation, path(), "the election object was closed");
  return !contends;
}

void Candidate::interrupt() {
  feed([this] { return fsm_.interrupt(); });
}

void Candidate::withdraw() {
  feed([this] { return fsm_.withdraw(); });
}

void Candidate::finished(LeadershipState::Attempt attempt, core::LeaderEnd end) {
  feed([&] {
    if (end != core::LeaderEnd::threw) backoff_.reset();
    return fsm_.on_finished(attempt, end);
  });
}

void Candidate::close() {
  feed([this] { return fsm_.close(); });
}

// ---- queries ------------------------------------------------------------------------------------

bool Candidate::is_closed() const noexcept {
  return fsm_.state() == CandidateState::closing || fsm_.state() == CandidateState::closed;
}

bool Candidate::is_leader() const noexcept {
  return fsm_.state() == CandidateState::leading && leadership_state_->state() != HoldState::lost;
}

bool Candidate::leads() const {
  if (context().forked()) return false;
  const EngineLock lock(entry());
  return is_leader();
}

std::shared_ptr<LeadershipState> Candidate::leadership_state() const {
  if (context().forked()) return nullptr;
  const EngineLock lock(entry());
  return fsm_.state() == CandidateState::leading ? leadership_state_ : nullptr;
}

std::optional<Error> Candidate::reason() const {
  if (is_closed()) return Error(Errc::closed, kOperation, path(), "the election object was closed");
  if (error_) return error_;
  if (context().closed()) return Error(Errc::closed, kOperation, path(), "the client was closed");
  return std::nullopt;
}

std::optional<Error> Candidate::error() const {
  if (context().forked()) return Error(Errc::forked, kOperation, path());
  const EngineLock lock(entry());
  return reason();
}

bool Candidate::wait_until_leader(Deadline deadline, const std::stop_token& stop) {
  if (context().forked()) throw Error(Errc::forked, kOperation, path());
  const std::stop_callback on_stop(stop, [self = shared_from_this()] {
    if (self->context().forked()) return;
    const EngineLock lock(self->entry());
    self->changed_.notify_all();
  });
  // No event reports that the client was closed during a pause between two attempts.
  constexpr std::chrono::milliseconds kSlice{200};
  bool leads = false;
  std::optional<Error> error;
  const auto is_over = [&] {
    leads = is_leader();
    if (!leads) error = reason();
    return leads || error || stop.stop_requested();
  };
  {
    EngineLock lock(entry());
    lock.wait(changed_, deadline, is_over, kSlice);
  }
  if (error) throw *std::move(error);
  return leads;
}

std::vector<Participant> Candidate::participants(Deadline deadline) const {
  return read_participants(path_lock_, TimeLimit(deadline, context().scheduler().now()));
}

std::optional<Participant> Candidate::leader(Deadline deadline) const {
  auto all = participants(deadline);
  // The first contender may still wait for the end of a lock delay.
  if (all.empty() || !all.front().holds) return std::nullopt;
  return std::move(all.front());
}

}  // namespace zklock::detail
