// SPDX-License-Identifier: Apache-2.0
// Members of Contender that are used after its grant.
#include <chrono>
#include <utility>

#include "zklock/recipes/contender.h"
#include "zklock/recipes/delivery.h"
#include "zklock/recipes/fork_guard.h"

namespace zklock::recipes {

using core::Ownership;

namespace {

/// The longest time for which loss callbacks delay the delete of the lost hold's znode.
constexpr std::chrono::seconds patience_with_loss{1};

}  // namespace

void Contender::granted() {
  // The oldest call that still waits decides the limit.
  const auto oldest =
      std::ranges::find_if(calls_, [](const auto& call) { return !call->has_ended(); });
  const core::HoldLimit limit =
      oldest == calls_.end() ? core::HoldLimit{} : (*oldest)->terms().limit;
  const std::uint64_t turn = local_ ? local_->granted(place_) : 0;
  tenure_ = std::make_unique<HoldTenure>(
      *this, HoldTenure::Grant{.token = {place_->token().zxid, turn},
                               .node = engine_->path().child(place_->own_name()),
                               .lease = place_->term(),
                               .limit = limit});
  ownership_.granted();  // after tenure_ is set: holds_validly() reads it
  const Calls calls = std::exchange(calls_, {});
  for (const auto& call : calls) {
    if (call->complete({.contender = shared_from_this()})) ownership_.add(call->kind());
  }
  if (ownership_.count() == 0 && !calls.empty()) decline(calls[0]->kind());
  // The term may have lapsed since valid_term() returned it. Then its members were notified before
  // this contender held.
  if (holds_validly()) downgrade_if_only_shared();
}

// Releases the grant at the end of this Section: all calls were abandoned meanwhile.
void Contender::decline(core::CountKind kind) {
  ownership_.add(kind);
  engine_->declines(shared_from_this(), kind);
}

bool Contender::holds_validly() {
  if (ownership_.state() != Ownership::State::held) return false;
  if (tenure_->valid()) return true;
  lose(tenure_->lease_valid() ? Loss::limit : Loss::lease);
  return false;
}

void Contender::lose(Loss why) {
  if (!ownership_.lose()) return;
  const auto self = shared_from_this();
  tenure_->end(why == Loss::limit ? LockEvent::Kind::expired : LockEvent::Kind::lost);
  place_->leave_session();
  tell_loss(why);
  if (local_) local_->gone(*place_);
}

// The user's callbacks may block, so they run on threads that do nothing else. If the znode still
// exists, its delete waits for them, but for at most patience_with_loss. It must be deleted,
// because the session can live on after its lease has lapsed.
void Contender::tell_loss(Loss why) {
  const bool hands_over = why != Loss::node;
  if (hands_over) {
    HandingOver& over = handing_over_.write();
    over.work = core().work().begin();
    core().scheduler().at(core().scheduler().now() + patience_with_loss,
                          [self = shared_from_this()] { self->hand_over(); });
  }
  const auto then = hands_over ? std::make_shared<HandOver>(shared_from_this()) : nullptr;
  if (then) handing_over_.write().awaited = then;
  tell(tenure_->loss_source(), then);
}

// state() returns the new state before the token is stopped.
void Contender::tell(std::stop_source source, std::shared_ptr<HandOver> keep) {
  engine_->later([self = shared_from_this(), source, keep = std::move(keep)]() mutable {
    auto& core = self->core();
    Delivery::send(core.shared_from_this(), core.losses(), "lock " + self->engine_->path().str(),
                   [self, source, keep]() mutable { source.request_stop(); });
    if (keep) keep->sent = true;
  });
}

Contender::HandOver::~HandOver() {
  if (!sent || contender->core().forked()) return;
  try {
    contender->hand_over();
  } catch (const std::exception& e) {  // the timer of tell_loss() calls it again
    contender->core().warn(e.what());
  }
}

std::shared_ptr<void> Contender::being_told(const Hold& hold) {
  if (!hold) return nullptr;
  const LockEngine::Section section(hold.contender_->engine());
  return hold.contender_->handing_over_->awaited.lock();
}

// Deletes the znode after a loss, so that the next contender can be granted.
void Contender::hand_over() {
  const LockEngine::Section section(*engine_);
  if (!handing_over_->work) return;
  // A lapsed lease is no release. And if the delay marker stays, the next contender must list the
  // children, so that it finds the marker.
  const bool with_care = place_->leaves_delay() || !tenure_->lease_valid();
  const auto work = *std::exchange(handing_over_.write().work, std::nullopt);
  place_->remove(with_care ? Place::Manner::with_care : Place::Manner::release, work);
  core().work().end(work);
}

void Contender::watch_node() {
  const LockEngine::Section section(*engine_);
  if (ownership_.state() == Ownership::State::held) place_->watch_own();
}

bool Contender::renew(std::optional<core::Duration> length) {
  if (core().forked()) return false;
  const LockEngine::Section section(*engine_);
  return holds_validly() && tenure_->renew(length);
}

bool Contender::take_along(std::string path) {
  const LockEngine::Section section(*engine_);
  if (!holds_validly()) return false;
  place_->take_along(std::move(path));
  return true;
}

void Contender::suspended() {
  if (ownership_.state() == Ownership::State::held) tenure_->suspended();
}

void Contender::resumed() {
  if (ownership_.state() == Ownership::State::held) tenure_->resumed();
}

void Contender::look_at_the_clock() {
  if (holds_validly()) tenure_->look_at_the_clock();
}

void Contender::asked_to_release() {
  if (!holds_validly()) return;
  tell(tenure_->asked_to_release(), nullptr);
}

void Contender::forced_to_release() {
  if (holds_validly()) lose(Loss::forced);
}

core::Ownership::Dropped Contender::drop(core::CountKind kind, Place::Manner manner) {
  holds_validly();  // a hold that has lapsed is lost first: its delete is not announced
  const bool held = ownership_.state() == Ownership::State::held;
  const auto dropped = ownership_.drop(kind);
  // `plainly`: the holding thread has ended, perhaps in the middle of its work under the lock.
  const bool plainly = manner == Place::Manner::plainly;
  if (plainly && dropped != Ownership::Dropped::refused && !core::is_shared(kind))
    abandoned_ = true;
  if (dropped == Ownership::Dropped::kept) downgrade_if_only_shared();
  if (dropped != Ownership::Dropped::last) return dropped;
  const auto self = shared_from_this();
  engine_->forget(*this);
  if (!held) return dropped;
  tenure_->end(LockEvent::Kind::released);
  if (tenure_->is_node_asked_for()) place_->becomes_known_by_name();
  // A transaction under way that checks the znode must end before the next grant.
  const bool may_stay = !abandoned_ && !plainly && !tenure_->commits_under_way();
  if (may_stay && local_ && local_->keeps(*place_)) return dropped;
  const auto next = may_stay ? place_->own_successor() : nullptr;
  if (abandoned_ || plainly) {
    let_go(Place::Manner::plainly);
  } else if (next) {
    let_go(Place::Manner::to_own_successor);
  } else if (local_ || place_->may_be_awaited()) {
    let_go(Place::Manner::release);
  } else {
    engine_->leaves(self);  // probably no contender waits: the calling thread need not send it
  }
  if (local_) local_->gone(*place_);
  if (next) next->predecessor_let_go();
  return dropped;
}

void Contender::let_go(Place::Manner manner) {
  if (!abandoned_) place_->leave_no_delay();
  place_->remove(manner);
  place_->leave_session();
}

void Contender::downgrade_if_only_shared() {
  const bool only_shared =
      ownership_.state() == Ownership::State::held && ownership_.exclusive_count() == 0;
  if (only_shared && !abandoned_) place_->downgrade();
}

void Contender::close() {
  for (const auto& call : std::exchange(calls_, {})) call->complete(closed());
  ownership_.withdraw();  // or it could still be granted, and no call would release it
  lose(Loss::node);
  place_->leave_session();
}

void Contender::release(core::CountKind kind) noexcept {
  const auto self = shared_from_this();
  if (core().forked()) {
    keep_for_ever(self);
    return;
  }
  const LockEngine::Section section(*engine_);
  drop(kind, Place::Manner::release);
}

}  // namespace zklock::recipes
