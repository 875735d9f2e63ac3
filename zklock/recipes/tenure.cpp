// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/tenure.h"

#include <utility>

#include "zklock/error.h"
#include "zklock/recipes/call_faces.h"
#include "zklock/recipes/stopped_token.h"

namespace zklock {

namespace recipes {

Tenure::Tenure(Number number, std::shared_ptr<Contender> leader, Hold hold)
    : number_(number),
      token_(hold.token()),
      // The call marks the znode as known to the user: it is deleted before the next grant.
      node_(hold.node()),
      lost_(hold.lost()),
      requested_(hold.release_requested()),
      rostrum_(std::make_shared<Rostrum>(std::move(leader))),
      hold_(std::move(hold)) {}

void Tenure::tell_loss(std::function<void()> on_loss) {
  on_loss_.emplace(lost_, OnLoss{*this, std::move(on_loss)});
}

void Tenure::is_lost() {
  const std::lock_guard guard(mutex_);
  being_told_ = Contender::being_told(hold_);
}

std::shared_ptr<void> Tenure::being_told() const {
  const std::lock_guard guard(mutex_);
  return being_told_;
}

void Tenure::release() noexcept {
  std::shared_ptr<Rostrum> rostrum;
  Hold hold;
  std::shared_ptr<void> told;
  {
    const std::lock_guard guard(mutex_);
    told = std::move(being_told_);
    hold = std::move(hold_);
    rostrum = std::move(rostrum_);
  }
}

std::shared_ptr<Rostrum> Tenure::rostrum(const char* operation) const {
  if (forked()) throw Error(Errc::forked, operation, path());
  const std::lock_guard guard(mutex_);
  if (rostrum_ && !ended_) return rostrum_;
  throw Error(Errc::lock_lost, operation, path(), "the leadership has ended; nothing was sent");
}

HoldState Tenure::state() const noexcept {
  if (ended_ || forked()) return HoldState::lost;
  const std::lock_guard guard(mutex_);
  return hold_.state();
}

LeaseClock::time_point Tenure::valid_until() const noexcept {
  if (ended_ || forked()) return LeaseClock::time_point::min();
  const std::lock_guard guard(mutex_);
  return hold_.valid_until();
}

std::stop_token Tenure::over() const noexcept {
  if (over_.stop_requested() || state() != HoldState::lost) return over_.get_token();
  return stopped_token();
}

}  // namespace recipes

using recipes::Proclaiming;

namespace {

constexpr const char* proclaiming = "proclaim";

}  // namespace

FencingToken Leadership::token() const noexcept {
  return tenure_ ? tenure_->token() : FencingToken{};
}

HoldState Leadership::state() const noexcept {
  return tenure_ ? tenure_->state() : HoldState::lost;
}

std::stop_token Leadership::ended() const noexcept {
  if (tenure_) return tenure_->over();
  return Hold().lost();
}

std::stop_token Leadership::release_requested() const noexcept {
  return tenure_ ? tenure_->release_requested() : std::stop_token();
}

LeaseClock::time_point Leadership::valid_until() const noexcept {
  return tenure_ ? tenure_->valid_until() : LeaseClock::time_point::min();
}

std::string Leadership::node() const {
  return tenure_ ? tenure_->node() : std::string();
}

std::shared_ptr<recipes::Rostrum> Leadership::rostrum(const char* operation) const {
  if (tenure_) return tenure_->rostrum(operation);
  throw Error(Errc::lock_lost, operation, "", "there is no leadership");
}

void Leadership::proclaim(std::string value, Deadline deadline) const {
  recipes::commit_and_wait([&](auto done) {
    return Proclaiming::start(rostrum(proclaiming), std::move(value), deadline, std::move(done));
  });
}

void Leadership::async_proclaim(std::string value, CommitHandler handler, Deadline deadline) const {
  auto rostrum = this->rostrum(proclaiming);
  const auto core = rostrum->core().shared_from_this();
  recipes::commit_and_tell(core, proclaiming + (" " + node()), std::move(handler), [&](auto done) {
    return Proclaiming::start(std::move(rostrum), std::move(value), deadline, std::move(done));
  });
}

std::future<void> Leadership::async_proclaim(std::string value, Deadline deadline) const {
  return recipes::commit_as_future([&](auto done) {
    return Proclaiming::start(rostrum(proclaiming), std::move(value), deadline, std::move(done));
  });
}

BasicAwaitable<void> Leadership::co_proclaim(std::string value, Deadline deadline) const {
  return BasicAwaitable<void>([leadership = *this, value = std::move(value), deadline](
                                  CommitHandler handler, const std::stop_token&) {
    leadership.async_proclaim(value, std::move(handler), deadline);
  });
}

}  // namespace zklock
