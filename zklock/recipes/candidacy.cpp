// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/candidacy.h"

#include <algorithm>
#include <utility>

#include "zklock/recipes/acquire_call.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/delivery.h"
#include "zklock/recipes/object_options.h"
#include "zklock/recipes/queue_reader.h"
#include "zklock/recipes/slices.h"

namespace zklock::recipes {

using core::LeadershipEffect;
using core::LeadershipState;

namespace {

constexpr const char* operation = "lead";

std::shared_ptr<LockEngine> engine_for(ClientCore& core, std::string path) {
  const core::LockPath checked(std::move(path));
  core.check_usable(operation, checked.str());
  return core.engine(checked);
}

client::Backoff checked_backoff(const Candidacy::Settings& settings, const std::string& path) {
  if (settings.retry_delay_min.count() <= 0 ||
      settings.retry_delay_max < settings.retry_delay_min) {
    throw Error(Errc::invalid_option, operation, path,
                "retry_delay_min must be positive and not above retry_delay_max");
  }
  return {settings.retry_delay_min, settings.retry_delay_max};
}

}  // namespace

Candidacy::Candidacy(const std::shared_ptr<ClientCore>& core, std::string path, Settings settings)
    : engine_(engine_for(*core, std::move(path))),
      settings_(settings),
      fsm_(settings.again),
      backoff_(checked_backoff(settings, engine_->path().str())) {
  checked_delay(settings_.lock_delay, engine_->path().str());
}

Candidacy::~Candidacy() = default;

void Candidacy::warn(const std::string& text) const noexcept {
  core().warn(operation + (" " + path()) + ": " + text);
}

Candidacy::Section::~Section() {
  const auto outbox = std::exchange(candidacy_.outbox_, {});
  candidacy_.changed_.notify_all();
  lock_.unlock();
  for (const auto& task : outbox) {
    try {
      task();
    } catch (const std::exception& e) {  // no thread or memory: only this task
      candidacy_.warn(e.what());
    }
  }
}

// ---- driving the machine ------------------------------------------------------------------------

void Candidacy::run(const core::LeadershipEffects& effects, By by) {
  for (const LeadershipEffect effect : effects) carry_out(effect, by);
}

void Candidacy::carry_out(LeadershipEffect effect, By by) {
  switch (effect) {
    case LeadershipEffect::contend:
      asking_ = std::stop_source();
      error_.reset();
      later([self = shared_from_this(), attempt = fsm_.attempt(), stop = asking_.get_token()] {
        self->ask(attempt, stop);
      });
      return;
    case LeadershipEffect::cancel:
      later([asking = asking_]() mutable { asking.request_stop(); });
      return;
    case LeadershipEffect::pause: pause(); return;
    case LeadershipEffect::stop: end(by); return;
    case LeadershipEffect::release:
      later([tenure = std::exchange(tenure_, nullptr)] { tenure->release(); });
      return;
    case LeadershipEffect::begin:  // answered() does these two: it has the hold
    case LeadershipEffect::give_back: return;
  }
}

void Candidacy::ask(Fsm::Attempt attempt, const std::stop_token& stop) {
  Wanted wanted{.owner = Owner::unique(),  // two candidates of one process never nest
                .deadline = Deadline::never(),
                .lock_delay = settings_.lock_delay,
                .done = [self = shared_from_this(), attempt](const Outcome& outcome) {
                  self->answered(attempt, outcome);
                }};
  try {
    AcquireCall::start(engine_, std::move(wanted), stop);
  } catch (const Error& error) {
    answered(attempt, {.error = error});
  } catch (const std::exception& e) {  // no thread or no memory
    warn(e.what());
    answered(attempt, {});
  }
}

void Candidacy::answered(Fsm::Attempt attempt, const Outcome& outcome) {
  Hold hold = outcome.contender ? outcome.contender->make_hold(core::CountKind::hold) : Hold();
  // An unwanted hold is released after the Section, without the mutex.
  const Section section(*this);
  if (hold) {
    const auto effects = fsm_.granted(attempt);
    if (effects.front() == LeadershipEffect::begin) {
      begin(outcome.contender, std::move(hold));
    } else {
      later([unwanted = std::make_shared<Hold>(std::move(hold))] { unwanted->release(); });
    }
    return;
  }
  const bool for_good = outcome.error && core::ends_contention(outcome.error->errc());
  run(fsm_.failed(attempt, for_good));
  const bool heard = attempt == fsm_.attempt();
  if (heard && fsm_.state() == LeadershipState::failed) error_ = outcome.error;
  if (heard && outcome.error && !core().closed()) warn(outcome.error->what());
}

void Candidacy::begin(const std::shared_ptr<Contender>& leader, Hold hold) {
  if (!settings_.until_finished) backoff_.reset();
  tenure_ = std::make_shared<Tenure>(fsm_.attempt(), leader, std::move(hold));
  began(tenure_);
  later([leader] { leader->watch_node(); });  // the leadership lasts: worth a request
  later([tenure = tenure_, candidacy = weak_from_this()] {
    tenure->tell_loss([candidacy, number = tenure->number()] {
      if (const auto alive = candidacy.lock()) alive->lost(number);
    });
  });
}

void Candidacy::end(By by) {
  tenure_->end();
  ended(tenure_);
  later([self = shared_from_this(), tenure = tenure_, by] {
    if (by == By::caller) return tenure->stop();
    // The thread that notifies the loss then contends again, so it must not run the user's
    // callbacks: they may block.
    auto& client = self->core();
    Delivery::send(client.shared_from_this(), client.losses(), operation + (" " + self->path()),
                   [tenure, until = tenure->being_told()] { tenure->stop(); });
  });
  if (!settings_.until_finished) run(fsm_.finished(tenure_->number()), by);
}

void Candidacy::pause() {
  const auto due = core().scheduler().now() + backoff_.next();
  later([candidacy = weak_from_this(), due, attempt = fsm_.attempt()] {
    const auto self = candidacy.lock();
    if (!self) return;
    self->core().scheduler().at(due, [candidacy, attempt] {
      const auto alive = candidacy.lock();
      if (!alive) return;
      const Section section(*alive);
      alive->run(alive->fsm_.due(attempt));
    });
  });
}

void Candidacy::lost(Tenure::Number number) {
  const Section section(*this);
  run(fsm_.lost(number), By::loss);
}

// ---- requests of the user -----------------------------------------------------------------------

bool Candidacy::want() {
  core().check_usable(operation, path());
  const Section section(*this);
  if (is_closed()) throw Error(Errc::closed, operation, path(), "it was closed");
  if (fsm_.wants()) return false;
  run(fsm_.wanted());
  return true;
}

void Candidacy::interrupt() {
  const Section section(*this);
  run(fsm_.interrupted());
}

void Candidacy::withdraw() {
  const Section section(*this);
  run(fsm_.withdrawn());
}

void Candidacy::had_no_turn(Tenure::Number number) {
  const Section section(*this);
  fsm_.had_no_turn(number);
}

void Candidacy::finished(Tenure::Number number, bool failed) {
  const Section section(*this);
  if (!failed) backoff_.reset();
  run(fsm_.finished(number, failed));
}

void Candidacy::close() {
  const Section section(*this);
  run(fsm_.closed());
}

// ---- queries ------------------------------------------------------------------------------------

bool Candidacy::is_closed() const noexcept {
  return fsm_.state() == LeadershipState::closing || fsm_.state() == LeadershipState::closed;
}

bool Candidacy::leads() const {
  if (core().forked()) return false;
  const boost::lock_guard<boost::mutex> guard(mutex_);
  return fsm_.state() == LeadershipState::leading && tenure_->state() != HoldState::lost;
}

bool Candidacy::wants() const {
  if (core().forked()) return false;
  const boost::lock_guard<boost::mutex> guard(mutex_);
  return fsm_.wants();
}

std::shared_ptr<Tenure> Candidacy::tenure() const {
  if (core().forked()) return nullptr;
  const boost::lock_guard<boost::mutex> guard(mutex_);
  return fsm_.state() == LeadershipState::leading ? tenure_ : nullptr;
}

std::optional<Error> Candidacy::reason() const {
  if (is_closed()) return Error(Errc::closed, operation, path(), "it was closed");
  if (error_) return error_;
  if (core().closed()) return Error(Errc::closed, operation, path(), "the client was closed");
  return std::nullopt;
}

std::optional<Error> Candidacy::error() const {
  if (core().forked()) return Error(Errc::forked, operation, path());
  const boost::lock_guard<boost::mutex> guard(mutex_);
  return reason();
}

bool Candidacy::await(Deadline deadline, const std::stop_token& stop) {
  if (core().forked()) throw Error(Errc::forked, operation, path());
  const auto wake = [self = shared_from_this()] {
    const boost::lock_guard<boost::mutex> guard(self->mutex_);
    self->changed_.notify_all();
  };
  const std::stop_callback on_stop(stop, wake);
  boost::unique_lock<boost::mutex> lock(mutex_);
  for (;;) {
    if (fsm_.state() == LeadershipState::leading && tenure_->state() != HoldState::lost) {
      return true;
    }
    if (const auto error = reason()) throw *error;
    const auto now = core().scheduler().now();
    if (stop.stop_requested() || deadline.has_passed(now)) return false;
    // No event reports that the client was closed during a pause between two attempts.
    const auto slice = slice_before(deadline, now, std::chrono::milliseconds(200));
    const auto micros = std::chrono::ceil<std::chrono::microseconds>(slice).count();
    changed_.timed_wait(lock, boost::posix_time::microseconds(micros));
  }
}

std::vector<Participant> Candidacy::participants(Deadline deadline) const {
  return read_participants(engine_, deadline);
}

std::optional<Participant> Candidacy::leader(Deadline deadline) const {
  auto all = participants(deadline);
  // The first contender may still wait for the end of a lock delay.
  if (all.empty() || !all.front().holds) return std::nullopt;
  return std::move(all.front());
}

}  // namespace zklock::recipes
