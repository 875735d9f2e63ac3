// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/simulation/sim_clock.h"

#include <algorithm>
#include <utility>

namespace zklock::model {

TimerId SimClock::at(Instant when, std::function<void()> task) {
  return at(Process{0}, when, std::move(task));
}

TimerId SimClock::at(Process process, Instant when, std::function<void()> task) {
  const TimerId id{++last_id_};
  // Insert before all timers with this due time. They were submitted earlier, and timers run from
  // the end.
  const auto lock_node =
      std::lower_bound(timers_.begin(), timers_.end(), when,
                       [](const Timer& timer, Instant t) { return timer.when > t; });
  timers_.insert(lock_node, Timer{when, id, process, std::move(task)});
  return id;
}

void SimClock::cancel(TimerId timer) noexcept {
  const auto found = std::find_if(timers_.begin(), timers_.end(),
                                  [timer](const Timer& t) { return t.id == timer; });
  if (found != timers_.end()) timers_.erase(found);
}

const SimClock::Timer* SimClock::next() const noexcept {
  const auto found = std::find_if(timers_.rbegin(), timers_.rend(),
                                  [this](const Timer& t) { return !is_held(t.process); });
  return found == timers_.rend() ? nullptr : &*found;
}

std::optional<Instant> SimClock::next_due() const noexcept {
  const Timer* timer = next();
  if (timer == nullptr) return std::nullopt;
  return std::max(timer->when, now_);
}

bool SimClock::run_next() {
  const Timer* timer = next();
  if (timer == nullptr) return false;
  now_ = std::max(now_, timer->when);
  const auto index = timer - timers_.data();
  const auto task = std::move(timers_[static_cast<std::size_t>(index)].task);
  timers_.erase(timers_.begin() + index);
  task();
  return true;
}

void SimClock::advance_to(Instant when) {
  for (auto due = next_due(); due && *due <= when; due = next_due()) run_next();
  now_ = std::max(now_, when);
}

void SimClock::clear() {
  // The destructor of a task can submit another timer.
  while (!timers_.empty()) std::vector<Timer>().swap(timers_);
}

void SimClock::hold(Process process) {
  if (held_.size() <= process) held_.resize(process + 1);
  held_[process] = true;
}

void SimClock::release(Process process) {
  if (process < held_.size()) held_[process] = false;
}

Instant ProcessClock::shown_at(Instant time) const noexcept {
  if (drift_ == 0) return time;
  return time + time.time_since_epoch() * drift_ / 1'000'000;
}

Instant ProcessClock::showing(Instant shown) const noexcept {
  // Beyond 48 hours the product could overflow. Such a time is never reached, or has long passed.
  constexpr Duration kNever = std::chrono::hours(48);
  const Duration since = shown.time_since_epoch();
  if (drift_ == 0 || since > kNever || since < Duration::zero()) return shown;
  Instant time = shown - since * drift_ / (1'000'000 + drift_);
  while (shown_at(time) < shown) time += Duration(1);
  return time;
}

}  // namespace zklock::model
