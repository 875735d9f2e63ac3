// SPDX-License-Identifier: Apache-2.0
// A contender from its grant on.
#include <chrono>
#include <utility>

#include "zklock/core/revocation.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/delivery.h"
#include "zklock/recipes/fork_guard.h"

namespace zklock::recipes {

using core::Ownership;

namespace {

/// How long the callbacks on a loss may keep the next contender waiting.
constexpr std::chrono::seconds patience_with_loss{1};

}  // namespace

void Contender::grant() {
  ownership_.granted();
  // Who waited longest agreed on it first.
  const core::HoldLimit limit = calls_.empty() ? core::HoldLimit{} : calls_.front().limit;
  tenure_ =
      std::make_unique<HoldTenure>(*this,
                                   HoldTenure::Grant{.token = fsm_.token(),
                                                     .node = engine_->path().child(fsm_.own_name()),
                                                     .lease = term_,
                                                     .limit = limit},
                                   events_);
  for (Call& call : std::exchange(calls_, {})) {
    ownership_.add(call.kind);
    complete(call, {.contender = shared_from_this()});
  }
  // The term may have lapsed since it was asked for, and its members been told, without this one.
  if (holds_validly()) downgrade_if_only_shared();
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
  if (why == Loss::lease) {
    remove_own_node(client::Deleter::Manner::plainly);
  }
  leave_session();
  tell_loss(why);
}

// The callbacks are the user's, and may block: they run on threads that do nothing else. A node that
// nothing threatens waits for them, though not for ever.
void Contender::tell_loss(Loss why) {
  const bool hands_over = why == Loss::limit || why == Loss::forced;
  if (hands_over) {
    begun_work_ = true;
    work_ = core().work().begin();
    core().scheduler().at(core().scheduler().now() + patience_with_loss,
                          [self = shared_from_this()] { self->hand_over(); });
  }
  const auto then = hands_over ? std::make_shared<HandOver>(shared_from_this()) : nullptr;
  hand_over_ = then;
  tell(tenure_->loss_source(), then);
}

// state() says it meanwhile.
void Contender::tell(std::stop_source source, std::shared_ptr<void> keep) {
  engine_->later([self = shared_from_this(), source, keep = std::move(keep)]() mutable {
    auto& core = self->core();
    Delivery::send(core.shared_from_this(), core.losses(), "lock " + self->engine_->path().str(),
                   [self, source, keep = std::move(keep)]() mutable { source.request_stop(); });
  });
}

Contender::HandOver::~HandOver() {
  if (contender->core().forked()) return;
  try {
    contender->hand_over();
  } catch (const std::exception& e) {  // it has a timer too
    contender->core().warn(e.what());
  }
}

std::shared_ptr<void> Contender::being_told(const Hold& hold) {
  if (!hold) return nullptr;
  const LockEngine::Section section(hold.contender_->engine());
  return hold.contender_->hand_over_.lock();
}

// After a loss that the library itself brought about: now somebody else may have it.
void Contender::hand_over() {
  const LockEngine::Section section(*engine_);
  if (!std::exchange(begun_work_, false)) return;
  // What the next finds in its list is not to be passed over.
  const auto manner = fsm_.leaves_delay() ? client::Deleter::Manner::plainly : manner_of_release();
  remove_own_node(manner);
  core().work().end(work_);
}

bool Contender::renew(std::optional<core::Duration> length) {
  if (core().forked()) return false;
  const LockEngine::Section section(*engine_);
  return holds_validly() && tenure_->renew(length);
}

void Contender::look_at_the_clock() {
  if (holds_validly()) tenure_->look_at_the_clock();
}

std::string Contender::revocation_marker() const {
  return engine_->path().child(core::revocation_marker(fsm_.sequence()));
}

void Contender::asked_to_release() {
  if (!holds_validly()) return;
  tell(tenure_->asked_to_release(), nullptr);
}

void Contender::forced_to_release() {
  if (holds_validly()) lose(Loss::forced);
}

// Announced only to whom it matters: see Decision::follows_release.
client::Deleter::Manner Contender::manner_of_release() const noexcept {
  const bool writes = !downgrade_.reads() && !downgrade_.in_doubt();
  const bool heard = policy_.rule.access == Access::exclusive && writes;
  return core().settings().announces && heard ? client::Deleter::Manner::announced
                                              : client::Deleter::Manner::plainly;
}

core::Ownership::Dropped Contender::drop(core::CountKind kind, client::Deleter::Manner manner) {
  holds_validly();  // what has lapsed is deleted plainly, not announced
  const bool held = ownership_.state() == Ownership::State::held;
  const auto dropped = ownership_.drop(kind);
  // Not let go of: the thread that had it has ended, and may have left its work half done.
  const bool plainly = manner == client::Deleter::Manner::plainly;
  if (plainly && dropped != Ownership::Dropped::refused && !core::is_shared(kind))
    abandoned_ = true;
  if (dropped == Ownership::Dropped::kept) downgrade_if_only_shared();
  if (dropped != Ownership::Dropped::last) return dropped;
  const auto self = shared_from_this();
  engine_->forget(*this);
  if (!held) return dropped;
  tenure_->end(LockEvent::Kind::released);
  if (!abandoned_) leave_no_delay();
  remove_own_node(abandoned_ || plainly ? client::Deleter::Manner::plainly : manner_of_release());
  leave_session();
  return dropped;
}

// What is left to read needs no delay. The node of a mutex stays: to Curator's mutexes a reader's
// node would be none before them.
void Contender::downgrade_if_only_shared() {
  const bool only_shared =
      ownership_.state() == Ownership::State::held && ownership_.exclusive_count() == 0;
  if (!only_shared || abandoned_) return;
  const bool left_delay = fsm_.leaves_delay();
  leave_no_delay();
  if (policy_.rule.prefix == core::write_prefix) return downgrade_.begin();
  if (left_delay) remove_unwanted_delay_marker();
}

std::vector<std::string> Contender::own_names() const {
  if (downgrade_.in_doubt()) return {fsm_.own_name(), downgrade_.name()};
  return {own_name()};
}

std::string Contender::data_as_reader() const {
  core::NodeData data = identity_;
  data.attempt = fsm_.attempt();
  data.token = fsm_.token().zxid;
  data.since_ms = queued_ms_;
  return data.encode();
}

bool Contender::is_own(const client::Reply& node) const {
  return downgrade_.reads() ? downgrade_.made(node) : node.token == fsm_.token();
}

// What an unanswered request has made is deleted for sure: this is carried out after it.
void Contender::remove_own_node(client::Deleter::Manner manner) {
  for (const std::string& name : own_names()) {
    // It is there as long as the first of the names.
    remove_node(fsm_.session(), name, std::exchange(unwanted_delay_marker_, {}), manner);
  }
}

void Contender::remove_node(SessionId session, const std::string& name,
                            const std::string& companion, client::Deleter::Manner manner) {
  own_watch_.disarm();
  if (core().closed()) return;  // the session goes, and the node with it
  const auto work = core().work().begin();
  client::Deleter::Node node{.path = engine_->path().child(name), .token = fsm_.token()};
  if (!companion.empty()) node.companions.push_back(engine_->path().child(companion));
  core().deleter().remove(session, std::move(node), manner,
                          [client = core().weak_from_this(), work] {
                            if (const auto alive = client.lock()) alive->work().end(work);
                          });
}

void Contender::leave_session() noexcept {
  core().keeper().dismiss(*this);
  end_delay();
  downgrade_.end();
  own_watch_.disarm();
  revocation_.disarm();
}

void Contender::close() {
  for (Call& call : std::exchange(calls_, {})) complete(call, outcome_of(call, Why::closed));
  ownership_.withdraw();  // or it is still granted, and nobody would end it
  lose(Loss::node);
  leave_session();
}

void Contender::release(core::CountKind kind) noexcept {
  const auto self = shared_from_this();
  if (core().forked()) {
    keep_for_ever(self);
    return;
  }
  const LockEngine::Section section(*engine_);
  drop(kind, client::Deleter::Manner::announced);
}

}  // namespace zklock::recipes
