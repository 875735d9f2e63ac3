// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/election/leadership_state.h"

#include <utility>

#include "zklock/engine/callback/completion.h"
#include "zklock/engine/callback/lazy_stop_source.h"
#include "zklock/error.h"

namespace zklock {

namespace detail {

LeadershipState::LeadershipState(Attempt attempt, const std::shared_ptr<Contender>& leader,
                                 Hold hold)
    : attempt_(attempt),
      token_(hold.token()),
      node_(leader->expose_node()),
      lost_(hold.loss_token()),
      requested_(hold.release_request_token()),
      core_(leader->path_context().core().weak_from_this()),
      retained_writer_(std::make_shared<ProclamationWriter>(leader, node_)),
      hold_(std::move(hold)),
      proclamation_writer_(retained_writer_) {}

void LeadershipState::notify_loss(std::function<void()> on_loss) {
  on_loss_.emplace(lost_, OnLoss{std::move(on_loss)});
}

std::shared_ptr<void> LeadershipState::delay_delete() {
  return retained_writer_->leader()->delay_delete();
}

void LeadershipState::release() noexcept {
  if (const auto reason = hold_.loss_reason()) loss_reason_ = static_cast<int>(*reason);
  hold_.release();
  retained_writer_ = nullptr;
}

std::shared_ptr<ProclamationWriter> LeadershipState::proclamation_writer(
    const char* operation) const {
  if (forked()) throw Error(Errc::forked, operation, path());
  auto writer = proclamation_writer_.lock();
  if (writer && !ended_) return writer;
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
  const auto writer = proclamation_writer_.lock();
  return writer ? writer->leader()->grant().state() : HoldState::lost;
}

std::optional<LossReason> LeadershipState::loss_reason() const noexcept {
  if (forked()) return std::nullopt;
  const auto writer = proclamation_writer_.lock();
  if (writer) return writer->leader()->grant().loss_reason();
  std::atomic_thread_fence(std::memory_order_acquire);  // release() has stored the reason before
  const int reason = loss_reason_;
  if (reason == kNotLost) return std::nullopt;
  return static_cast<LossReason>(reason);
}

LeaseClock::time_point LeadershipState::valid_until() const noexcept {
  if (ended_ || forked()) return LeaseClock::time_point::min();
  const auto writer = proclamation_writer_.lock();
  return writer ? writer->leader()->grant().valid_until() : LeaseClock::time_point::min();
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
