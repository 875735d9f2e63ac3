// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/election/leadership_state.h"

#include <cassert>
#include <utility>

#include "zklock/engine/callback/completion.h"
#include "zklock/engine/callback/stopped_token.h"
#include "zklock/error.h"

namespace zklock {

namespace detail {

LeadershipState::LeadershipState(Attempt attempt, std::shared_ptr<Contender> leader, Hold hold)
    : attempt_(attempt),
      token_(hold.token()),
      node_(hold.expose_node()),
      lost_(hold.loss_token()),
      requested_(hold.release_request_token()),
      core_(leader->path_context().core().weak_from_this()),
      proclamation_writer_(std::make_shared<ProclamationWriter>(std::move(leader))),
      hold_(std::move(hold)) {}

void LeadershipState::notify_loss(std::function<void()> on_loss) {
  on_loss_.emplace(lost_, OnLoss{*this, std::move(on_loss)});
}

void LeadershipState::on_lost() {
  const client::MutexLock guard(mutex_);
  delete_delay_ = Contender::delay_delete(hold_);
  assert(hold_ || !delete_delay_);
}

std::shared_ptr<void> LeadershipState::delete_delay() const {
  const client::MutexLock guard(mutex_);
  return delete_delay_;
}

void LeadershipState::release() noexcept {
  std::shared_ptr<ProclamationWriter> proclamation_writer;
  Hold hold;
  std::shared_ptr<void> delay;
  {
    const client::MutexLock guard(mutex_);
    assert(static_cast<bool>(hold_) == (proclamation_writer_ != nullptr));
    delay = std::move(delete_delay_);
    if (hold_) loss_reason_ = hold_.loss_reason();
    hold = std::move(hold_);
    proclamation_writer = std::move(proclamation_writer_);
  }
}

std::shared_ptr<ProclamationWriter> LeadershipState::proclamation_writer(
    const char* operation) const {
  if (forked()) throw Error(Errc::forked, operation, path());
  const client::MutexLock guard(mutex_);
  if (proclamation_writer_ && !ended_) return proclamation_writer_;
  throw Error(Errc::lock_lost, operation, path(), "the leadership has ended; nothing was sent");
}

std::shared_ptr<EngineContext> LeadershipState::core(const char* operation) const {
  if (forked()) throw Error(Errc::forked, operation, path());
  auto core = core_.lock();
  if (!core) throw Error(Errc::closed, operation, path());
  core->check_usable(operation, path());
  return core;
}

HoldState LeadershipState::state() const noexcept {
  if (ended_ || forked()) return HoldState::lost;
  const client::MutexLock guard(mutex_);
  return hold_.state();
}

std::optional<LossReason> LeadershipState::loss_reason() const noexcept {
  if (forked()) return std::nullopt;
  const client::MutexLock guard(mutex_);
  return hold_ ? hold_.loss_reason() : loss_reason_;
}

LeaseClock::time_point LeadershipState::valid_until() const noexcept {
  if (ended_ || forked()) return LeaseClock::time_point::min();
  const client::MutexLock guard(mutex_);
  return hold_.valid_until();
}

std::stop_token LeadershipState::end_token() const noexcept {
  if (over_.stop_requested() || state() != HoldState::lost) return over_.get_token();
  return stopped_token();
}

}  // namespace detail

using detail::PendingProclamation;

namespace {

constexpr const char* kProclaiming = "proclaim";

Error empty_leadership(const char* operation) {
  return Error(Errc::lock_lost, operation, "", "the Leadership object is empty");
}

}  // namespace

FencingToken Leadership::token() const noexcept {
  return leadership_state_ ? leadership_state_->token() : FencingToken{};
}

HoldState Leadership::state() const noexcept {
  return leadership_state_ ? leadership_state_->state() : HoldState::lost;
}

std::stop_token Leadership::end_token() const noexcept {
  if (leadership_state_) return leadership_state_->end_token();
  return Hold().loss_token();
}

std::optional<LossReason> Leadership::loss_reason() const noexcept {
  return leadership_state_ ? leadership_state_->loss_reason() : std::nullopt;
}

std::stop_token Leadership::release_request_token() const noexcept {
  return leadership_state_ ? leadership_state_->release_request_token() : std::stop_token();
}

LeaseClock::time_point Leadership::valid_until() const noexcept {
  return leadership_state_ ? leadership_state_->valid_until() : LeaseClock::time_point::min();
}

std::string Leadership::node() const {
  return leadership_state_ ? leadership_state_->node() : std::string();
}

std::shared_ptr<detail::ProclamationWriter> Leadership::proclamation_writer(
    const char* operation) const {
  if (leadership_state_) return leadership_state_->proclamation_writer(operation);
  throw empty_leadership(operation);
}

void Leadership::proclaim(std::string value, Deadline deadline) const {
  detail::commit_and_wait([&](auto done) {
    return PendingProclamation::start(proclamation_writer(kProclaiming), std::move(value), deadline,
                                      std::move(done));
  });
}

void Leadership::async_proclaim(std::string value, Deadline deadline, CommitHandler handler) const {
  if (!leadership_state_) throw empty_leadership(kProclaiming);
  const auto core = leadership_state_->core(kProclaiming);
  detail::commit_and_notify(core, std::move(handler), [&](auto done) {
    std::shared_ptr<detail::ProclamationWriter> writer;
    try {
      writer = proclamation_writer(kProclaiming);
    } catch (const Error& error) {  // the leadership has ended
      return done(error);
    }
    PendingProclamation::start(std::move(writer), std::move(value), deadline, std::move(done));
  });
}

std::future<void> Leadership::async_proclaim(std::string value, Deadline deadline) const {
  return detail::commit_as_future([&](auto done) {
    return PendingProclamation::start(proclamation_writer(kProclaiming), std::move(value), deadline,
                                      std::move(done));
  });
}

BasicAwaitable<void> Leadership::co_proclaim(std::string value, Deadline deadline) const {
  return BasicAwaitable<void>([leadership = *this, value = std::move(value), deadline](
                                  CommitHandler handler, const std::stop_token&) {
    leadership.async_proclaim(value, deadline, std::move(handler));
  });
}

}  // namespace zklock
