// SPDX-License-Identifier: Apache-2.0
// Members of Contender that are used after its grant.
#include <chrono>
#include <utility>

#include "zklock/engine/callback/reliable_post.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/session/fork_guard.h"

namespace zklock::detail {

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
  const std::uint64_t grant_index = local_ ? local_->granted(node_) : 0;
  grant_ = std::make_unique<Grant>(*this,
                                   Grant::Terms{.token = {node_->token().zxid, grant_index},
                                                .node = path_lock_->path().child(node_->own_name()),
                                                .lease = node_->lease(),
                                                .limit = limit});
  ownership_.granted();  // after grant_ is set: holds_validly() reads it
  const Calls calls = std::exchange(calls_, {});
  for (const auto& call : calls) {
    if (call->complete({.contender = shared_from_this()})) ownership_.add(call->kind());
  }
  if (ownership_.count() == 0 && !calls.empty()) decline(calls[0]->kind());
  // The lease may have lapsed since valid_lease() returned it. Then its members were notified
  // before this contender held.
  if (holds_validly()) downgrade_if_only_shared();
}

// Releases the grant at the end of this Section: all calls were abandoned meanwhile.
void Contender::decline(core::CountKind kind) {
  ownership_.add(kind);
  path_lock_->declines(shared_from_this(), kind);
}

bool Contender::holds_validly() {
  if (ownership_.state() != Ownership::State::held) return false;
  if (grant_->valid()) return true;
  lose(grant_->lease_valid() ? Loss::limit : Loss::lease);
  return false;
}

void Contender::lose(Loss why) {
  if (!ownership_.lose()) return;
  const auto self = shared_from_this();
  grant_->end(why == Loss::limit ? LockEvent::Kind::expired : LockEvent::Kind::lost);
  node_->end_watches();
  notify_loss(why);
  if (local_) local_->gone(*node_);
}

// The user's callbacks may block, so they run on threads that do nothing else. If the znode still
// exists, its delete waits for them, but for at most patience_with_loss. It must be deleted,
// because the session can live on after its lease has lapsed.
void Contender::notify_loss(Loss why) {
  const bool hands_over = why != Loss::node;
  if (hands_over) {
    HandingOver& over = handing_over_.write();
    over.work = core().work().begin();
    core().scheduler().at(core().scheduler().now() + patience_with_loss,
                          [self = shared_from_this()] { self->hand_over(); });
  }
  const auto then = hands_over ? std::make_shared<HandOver>(shared_from_this()) : nullptr;
  if (then) handing_over_.write().awaited = then;
  tell(grant_->loss_source(), then);
}

// state() returns the new state before the token is stopped.
void Contender::tell(std::stop_source source, std::shared_ptr<HandOver> keep) {
  path_lock_->later([self = shared_from_this(), source, keep = std::move(keep)]() mutable {
    auto& core = self->core();
    ReliablePost::send(core.shared_from_this(), core.losses(),
                       "lock " + self->path_lock_->path().str(),
                       [self, source, keep]() mutable { source.request_stop(); });
    if (keep) keep->sent = true;
  });
}

Contender::HandOver::~HandOver() {
  if (!sent || contender->core().forked()) return;
  try {
    contender->hand_over();
  } catch (const std::exception& e) {  // the timer of notify_loss() calls it again
    contender->core().warn(e.what());
  }
}

std::shared_ptr<void> Contender::being_told(const Hold& hold) {
  if (!hold) return nullptr;
  const PathLock::Section section(hold.contender_->path_lock());
  return hold.contender_->handing_over_->awaited.lock();
}

// Deletes the znode after a loss, so that the next contender can be granted.
void Contender::hand_over() {
  const PathLock::Section section(*path_lock_);
  if (!handing_over_->work) return;
  // A lapsed lease is no release. And if the delay marker stays, the next contender must list the
  // children, so that it finds the marker.
  const bool with_care = node_->leaves_delay() || !grant_->lease_valid();
  const auto work = *std::exchange(handing_over_.write().work, std::nullopt);
  node_->remove(with_care ? LockNode::Manner::with_care : LockNode::Manner::release, work);
  core().work().end(work);
}

void Contender::watch_node() {
  const PathLock::Section section(*path_lock_);
  if (ownership_.state() == Ownership::State::held) node_->watch_own();
}

bool Contender::renew(std::optional<core::Duration> length) {
  if (core().forked()) return false;
  const PathLock::Section section(*path_lock_);
  return holds_validly() && grant_->renew(length);
}

bool Contender::delete_with_node(std::string path) {
  const PathLock::Section section(*path_lock_);
  if (!holds_validly()) return false;
  node_->delete_with_node(std::move(path));
  return true;
}

void Contender::suspended() {
  if (ownership_.state() == Ownership::State::held) grant_->suspended();
}

void Contender::resumed() {
  if (ownership_.state() == Ownership::State::held) grant_->resumed();
}

void Contender::look_at_the_clock() {
  if (holds_validly()) grant_->look_at_the_clock();
}

void Contender::on_release_requested() {
  if (!holds_validly()) return;
  tell(grant_->on_release_requested(), nullptr);
}

void Contender::on_release_forced() {
  if (holds_validly()) lose(Loss::forced);
}

core::Ownership::Dropped Contender::drop(core::CountKind kind, LockNode::Manner manner) {
  holds_validly();  // a hold that has lapsed is lost first: its delete is not announced
  const bool held = ownership_.state() == Ownership::State::held;
  const auto dropped = ownership_.drop(kind);
  // `plainly`: the holding thread has ended, perhaps in the middle of its work under the lock.
  const bool plainly = manner == LockNode::Manner::plainly;
  if (plainly && dropped != Ownership::Dropped::refused && !core::is_shared(kind))
    abandoned_ = true;
  if (dropped == Ownership::Dropped::kept) downgrade_if_only_shared();
  if (dropped != Ownership::Dropped::last) return dropped;
  const auto self = shared_from_this();
  path_lock_->forget(*this);
  if (!held) return dropped;
  grant_->end(LockEvent::Kind::released);
  if (grant_->is_node_asked_for()) node_->becomes_known_by_name();
  // A transaction under way that checks the znode must end before the next grant.
  const bool may_stay = !abandoned_ && !plainly && !grant_->commits_under_way();
  if (may_stay && local_ && local_->keeps(*node_)) return dropped;
  const auto next = may_stay ? node_->local_successor() : nullptr;
  if (abandoned_ || plainly) {
    release_node(LockNode::Manner::plainly);
  } else if (next) {
    release_node(LockNode::Manner::to_own_successor);
  } else if (local_ || node_->may_be_awaited()) {
    release_node(LockNode::Manner::release);
  } else {
    path_lock_->leaves(self);  // probably no contender waits: the calling thread need not send it
  }
  if (local_) local_->gone(*node_);
  if (next) next->on_predecessor_released();
  return dropped;
}

void Contender::release_node(LockNode::Manner manner) {
  if (!abandoned_) node_->cancel_lock_delay();
  node_->remove(manner);
  node_->end_watches();
}

void Contender::downgrade_if_only_shared() {
  const bool only_shared =
      ownership_.state() == Ownership::State::held && ownership_.exclusive_count() == 0;
  if (only_shared && !abandoned_) node_->downgrade();
}

void Contender::close() {
  for (const auto& call : std::exchange(calls_, {})) call->complete(closed());
  ownership_.withdraw();  // or it could still be granted, and no call would release it
  lose(Loss::node);
  node_->end_watches();
}

void Contender::release(core::CountKind kind) noexcept {
  const auto self = shared_from_this();
  if (core().forked()) {
    keep_for_ever(self);
    return;
  }
  const PathLock::Section section(*path_lock_);
  drop(kind, LockNode::Manner::release);
}

}  // namespace zklock::detail
