// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/election/leadership_state.h"

#include <string_view>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/callback/completion.h"
#include "zklock/engine/callback/lazy_stop_source.h"
#include "zklock/engine/contender.h"

namespace zklock {

namespace detail {

namespace write = client::request::write;

namespace {

/// Returns the path of the proclaimed znode beside the znode `own`.
std::string node_beside(std::string_view own, const core::LockPath& path) {
  const auto name = core::ZnodeName::parse(own.substr(own.rfind('/') + 1));
  return path.child(core::proclamation_node(name->sequence));
}

/// Returns whether a create can succeed later, or has succeeded earlier.
bool may_pass(Errc code) noexcept {
  return code == Errc::node_exists || code == Errc::outcome_unknown || code == Errc::not_connected;
}

}  // namespace

// ---- LeadershipState ----------------------------------------------------------------------------

LeadershipState::LeadershipState(Attempt attempt, const std::shared_ptr<Contender>& leader,
                                 Hold hold)
    : attempt_(attempt),
      token_(hold.token()),
      node_(leader->expose_node()),
      proclaimed_node_(node_beside(node_, leader->path_lock().path())),
      lost_(hold.loss_token()),
      release_requested_(hold.release_request_token()),
      context_(leader->path_lock().context().weak_from_this()),
      hold_(std::move(hold)),
      leader_(leader) {}

void LeadershipState::notify_loss(std::function<void()> on_loss) {
  // A copy: the call may destroy this object, and the stop callback with it.
  on_loss_.emplace(lost_, [on_loss = std::move(on_loss)] {
    const auto copy = on_loss;
    copy();
  });
}

std::shared_ptr<void> LeadershipState::delay_delete() {
  return leader_.lock()->delay_delete();
}

// The release can find that the lease has expired. So the reason is read after it.
void LeadershipState::release() noexcept {
  const auto leader = leader_.lock();
  hold_.release();
  if (!leader || forked()) return;
  if (const auto reason = leader->hold_record().loss_reason())
    loss_reason_ = static_cast<int>(*reason);
}

std::shared_ptr<Contender> LeadershipState::leader(const char* operation) const {
  if (forked()) throw Error(Errc::forked, operation, path());
  auto leader = leader_.lock();
  if (leader && !ended_) return leader;
  throw Error(Errc::lock_lost, operation, path(), "the leadership has ended; nothing was sent");
}

std::shared_ptr<EngineContext> LeadershipState::context(const char* operation) const {
  if (forked()) throw Error(Errc::forked, operation, path());
  auto context = context_.lock();
  if (!context) throw Error(Errc::closed, operation, path());
  context->check_usable(operation, path());
  return context;
}

HoldState LeadershipState::state() const noexcept {
  if (ended_ || forked()) return HoldState::lost;
  const auto leader = leader_.lock();
  return leader ? leader->hold_record().state() : HoldState::lost;
}

std::optional<LossReason> LeadershipState::loss_reason() const noexcept {
  if (forked()) return std::nullopt;
  const auto leader = leader_.lock();
  if (leader) return leader->hold_record().loss_reason();
  std::atomic_thread_fence(std::memory_order_acquire);  // release() has stored the reason before
  const int reason = loss_reason_;
  if (reason == kNotLost) return std::nullopt;
  return static_cast<LossReason>(reason);
}

LeaseClock::time_point LeadershipState::valid_until() const noexcept {
  if (ended_ || forked()) return LeaseClock::time_point::min();
  const auto leader = leader_.lock();
  return leader ? leader->hold_record().valid_until() : LeaseClock::time_point::min();
}

std::stop_token LeadershipState::end_token() const noexcept {
  if (end_source_.stop_requested() || state() != HoldState::lost) return end_source_.get_token();
  return stopped_token();
}

// ---- PendingProclamation ------------------------------------------------------------------------

PendingProclamation::PendingProclamation(std::shared_ptr<Contender> leader,
                                         std::shared_ptr<const LeadershipState> leadership,
                                         std::string value, Deadline deadline, Done done)
    : leader_(std::move(leader)),
      leadership_(std::move(leadership)),
      number_(leadership_->begin_proclamation()),
      value_(std::move(value)),
      deadline_(deadline),
      done_(std::move(done)) {}

std::shared_ptr<PendingProclamation> PendingProclamation::start(
    std::shared_ptr<Contender> leader, std::shared_ptr<const LeadershipState> leadership,
    std::string value, Deadline deadline, Done done) {
  const PathLock& path = leader->path_lock();
  path.context().check_usable(kOperation, path.path().str());
  const EngineLock lock(path.context().entry());
  auto proclaiming = std::make_shared<PendingProclamation>(
      std::move(leader), std::move(leadership), std::move(value), deadline, std::move(done));
  proclaiming->send();
  return proclaiming;
}

GuardedWrites PendingProclamation::guarded(client::request::Write write) const {
  return {.guards = {leader_}, .writes = {std::move(write)}, .operation = kOperation};
}

std::shared_ptr<GuardedCommit> PendingProclamation::begin(
    const GuardedWrites& writes, std::optional<Error> PendingProclamation::*error) {
  auto commit = std::make_shared<GuardedCommit>(
      writes, deadline_,
      under_lock(shared_from_this(), [this, error](std::optional<Error> outcome) {
        on_answered(error, std::move(outcome));
      }));
  commit->begin();
  return commit;
}

void PendingProclamation::send() {
  // A copy of a huge value would hold the mutex for long.
  if (value_.size() > GuardedCommit::kMaxRequestBytes) {
    return end(GuardedCommit::too_large(kOperation, leader_->path_lock().path().str()));
  }
  const std::string& node = leadership_->proclaimed_node();
  const core::Proclamation proclamation{leader_->hold_record().token(), value_};
  const auto value = guarded(write::Set{.path = node, .data = proclamation.encode()});
  create_error_.reset();
  creating_ = nullptr;
  outstanding_ = 1;
  if (!GuardedCommit::refusal(value) && leader_->delete_with_node(node)) {
    ++outstanding_;
    creating_ = begin(guarded(write::Create{.path = node, .data = {}, .ephemeral = true}),
                      &PendingProclamation::create_error_);
  }
  writing_ = begin(value, &PendingProclamation::write_error_);
}

void PendingProclamation::on_answered(std::optional<Error> PendingProclamation::*of,
                                      std::optional<Error> error) {
  this->*of = std::move(error);
  if (--outstanding_ > 0) return;
  const bool is_missing = write_error_ && write_error_->errc() == Errc::no_node &&
                          write_error_->path() == leadership_->proclaimed_node();
  if (is_missing && create_error_ && !may_pass(create_error_->errc())) {
    write_error_ = create_error_;
  } else if (is_missing && !given_up_ && leadership_->is_newest(number_) && --attempts_left_ > 0) {
    return send();
  }
  end(write_error_);
}

void PendingProclamation::end(const std::optional<Error>& outcome) {
  assert(done_);
  leader_->path_lock().after_unlock(
      [done = std::exchange(done_, nullptr), outcome] { done(outcome); });
}

void PendingProclamation::withdraw() {
  const EngineLock lock(entry());
  given_up_ = true;
  if (creating_) creating_->give_up();
  if (writing_) writing_->give_up();
}

}  // namespace detail

using detail::PendingProclamation;

namespace {

constexpr const char* kProclaiming = PendingProclamation::kOperation;

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

std::shared_ptr<detail::Contender> Leadership::leader(const char* operation) const {
  if (leadership_state_) return leadership_state_->leader(operation);
  throw empty_leadership(operation);
}

void Leadership::proclaim(std::string value, Deadline deadline) const {
  detail::commit_and_wait([&](auto done) {
    return PendingProclamation::start(leader(kProclaiming), leadership_state_, std::move(value),
                                      deadline, std::move(done));
  });
}

void Leadership::async_proclaim(std::string value, Deadline deadline, CommitHandler handler) const {
  if (!leadership_state_) throw empty_leadership(kProclaiming);
  const auto context = leadership_state_->context(kProclaiming);
  detail::commit_and_notify(context, std::move(handler), [&](auto done) {
    std::shared_ptr<detail::Contender> leading;
    try {
      leading = leader(kProclaiming);
    } catch (const Error& error) {  // the leadership has ended
      return done(error);
    }
    PendingProclamation::start(std::move(leading), leadership_state_, std::move(value), deadline,
                               std::move(done));
  });
}

std::future<void> Leadership::async_proclaim(std::string value, Deadline deadline) const {
  return detail::commit_as_future([&](auto done) {
    PendingProclamation::start(leader(kProclaiming), leadership_state_, std::move(value), deadline,
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
