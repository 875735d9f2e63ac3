// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/acquire_fsm.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "zklock/core/queue_rule.h"
#include "zklock/core/znode_data.h"

namespace zklock::core {

namespace {

constexpr int most_parents_made = 16;
std::string odds(const Decision& decision, const QueueRule& rule) {
  const auto say = [&](std::int32_t permits, std::int32_t ageing) -> std::string {
    if (rule.access == Access::weighted) return "an ageing of " + std::to_string(ageing);
    return permits == 0 ? "the shared permit count" : std::to_string(permits) + " permits";
  };
  return "a contender ahead is set to " + say(decision.rival, decision.rival) +
         ", this contender to " + say(rule.of, rule.ageing) + "; use equal settings";
}

}  // namespace

AcquireFsm::AcquireFsm(const char* client, std::uint64_t number, Policy policy)
    : client_(client), number_(number), policy_(std::move(policy)), seed_(policy_.rule.all) {}

AcquireEffect AcquireFsm::effect(Kind kind, std::string text) const {
  const SessionId bound = session_.value != 0 ? session_ : asked_session_;
  return {.kind = kind, .text = std::move(text), .session = bound};
}

AcquireEffects AcquireFsm::start(bool counter_ended) {
  if (state_ != AcquireState::idle) return {};
  return counter_ended ? drain() : enqueue();
}

AcquireEffects AcquireFsm::enqueue() {
  state_ = AcquireState::enqueuing;
  stage_ = policy_.gate ? Stage::gate : Stage::queue;
  session_ = {};
  asked_session_ = {};
  own_ = {};
  own_deleted_ = false;
  create_status_ = Status::ok;
  create_answered_ = false;
  uncounted_ = false;
  marked_ = false;
  doubts_.reset();
  ++attempts_;
  return {effect(Kind::create, attempt())};
}

AcquireEffects AcquireFsm::on_created(const CreatedAnswer& answer, bool lease_valid) {
  if (state_ != AcquireState::enqueuing || std::exchange(create_answered_, true)) return {};
  create_status_ = answer.status;
  if (answer.status != Status::ok) doubts_.write().detail = answer.detail;
  asked_session_ = answer.session;
  if (answer.status == Status::ok) take_node(answer);
  if (!counts_children()) {
    if (auto elsewhere = not_queued()) return *std::move(elsewhere);
    if (!guesses()) return list();
    return answer.first ? first(lease_valid) : guess();
  }
  if (!doubts_->early_count) return {};
  return on_counted(*std::exchange(doubts_.write().early_count, {}), false);
}

void AcquireFsm::take_node(const CreatedAnswer& answer) {
  session_ = answer.session;
  zxid_ = answer.token.zxid;
  if (auto name = ZnodeName::parse(answer.name)) {
    own_ = *std::move(name);
  } else {
    own_ = {.text = std::string(answer.name), .sequence = first_unusable_sequence};
  }
}

AcquireEffects AcquireFsm::on_counted(const CountedAnswer& answer, bool lease_valid) {
  if (state_ != AcquireState::enqueuing) return {};
  if (!create_answered_) {
    doubts_.write().early_count = answer;
    return {};
  }
  if (auto elsewhere = not_queued()) return *std::move(elsewhere);
  if (present_rule().shares_count()) return list();
  const bool known = answer.status == Status::ok && answer.session == session_;
  // No child was created or deleted after the own znode, so the counted child is the own znode.
  if (known && answer.children == 1) {
    return answer.last_child == token() ? first(lease_valid) : list();
  }
  return known && guesses() ? guess() : list();
}

// Only mutexes: to all others the kind of the predecessor matters, and they do not know it.
bool AcquireFsm::guesses() const noexcept {
  return policy_.wait && !policy_.lists && present_rule().is_mutex();
}

// Predicts that the preceding sequence number is the predecessor's. If not, a list follows.
AcquireEffects AcquireFsm::guess() {
  if (own_.sequence.value <= 0 || at_end()) return list();
  return arm({.watch = {ZnodeName::make(lock_prefix, {own_.sequence.value - 1}).text},
              .follows_release = true});
}

/// Returns nothing if the own znode is in the queue or at the gate, else the effects to go on with.
std::optional<AcquireEffects> AcquireFsm::not_queued() {
  if (!has_node()) return create_failed();
  if (giving_up_) return end(remove_node());
  if (own_deleted_) return node_lost(Errc::node_deleted);
  parents_made_ = 0;
  if (!parse_contention(own_.text)) return exhausted();  // lists ignore such a name
  return std::nullopt;
}

AcquireEffects AcquireFsm::create_failed() {
  if (create_status_ == Status::unknown) return prove();
  if (giving_up_) return end();
  if (create_status_ == Status::no_node) {
    if (++parents_made_ > most_parents_made) {
      return fail(Errc::server_error, "the lock path is repeatedly deleted by another client");
    }
    state_ = AcquireState::making_parents;
    return {{.kind = Kind::create_parents}};
  }
  if (create_status_ == Status::node_exists) return name_taken();
  if (create_status_ == Status::session_ended) return enqueue();
  return answer_failed(create_status_, doubts_->detail);
}

/// After a quorum operation, a list shows all earlier writes of the session.
AcquireEffects AcquireFsm::prove() {
  state_ = AcquireState::proving;
  return {effect(Kind::check_parent)};
}

AcquireEffects AcquireFsm::on_parents_created(Status status, std::string_view detail) {
  if (state_ != AcquireState::making_parents) return {};
  if (giving_up_) return end();
  if (status == Status::ok || status == Status::session_ended) return enqueue();
  if (status == Status::no_node) return fail(Errc::no_chroot);
  return answer_failed(status, detail);
}

AcquireEffects AcquireFsm::on_checked(Status status, bool lease_valid, std::string_view detail) {
  if (state_ == AcquireState::proving) {
    if (status == Status::unknown) return repeat();
    if (status == Status::session_ended) return node_lost(Errc::session_expired);
    // Each of these replies came from the quorum.
    if (status != Status::ok && status != Status::no_node && status != Status::no_auth) {
      return answer_failed(status, detail);
    }
    state_ = AcquireState::recovering;
    return {effect(Kind::list)};
  }
  if (state_ != AcquireState::confirming) return {};
  if (own_deleted_ || status == Status::no_node) return node_lost(Errc::node_deleted);
  if (status != Status::ok) return answer_failed(status, detail);
  // The permit count may have changed meanwhile.
  if (lease_valid && policy_.rule.shares_count()) return list();
  return lease_valid ? first(true) : pause();
}

AcquireEffects AcquireFsm::on_listed(const ListedAnswer& answer, bool lease_valid) {
  if (state_ == AcquireState::enqueuing && present_rule().shares_count()) {
    return listed_with_create(answer, lease_valid);
  }
  if (state_ == AcquireState::draining) return drained(answer);
  const auto& [status, parent, children, detail, permits, next] = answer;
  if (state_ == AcquireState::recovering) {
    if (status == Status::no_node) return not_created();
    if (status != Status::ok) return answer_failed(status, detail);
    auto& candidates = doubts_.write().candidates;
    candidates = contenders(children);
    std::erase_if(candidates, [prefix = present_rule().prefix()](const ZnodeName& name) {
      return !name.has_prefix(prefix);
    });
    return inspect_next();
  }
  if (state_ != AcquireState::listing) return {};
  if (own_deleted_ || status == Status::no_node) return node_lost(Errc::node_deleted);
  if (status != Status::ok) return answer_failed(status, detail);
  return decide_by(answer, lease_valid);
}

AcquireEffects AcquireFsm::decide_by(const ListedAnswer& answer, bool lease_valid) {
  if (is_gone_with(answer.parent)) return node_lost(Errc::node_deleted);
  // They were seen before this list, so they are in this path, not in a deleted one.
  if (!doubts_->misfits.empty()) doubts_.write().known_misfits = doubts_->misfits;
  if (!at_end()) {
    if (auto elsewhere = count_unknown(answer.permits)) return *std::move(elsewhere);
  }
  const auto children = answer.children;
  Decision decision = decide(children, own_.text, present_rule());
  switch (decision.verdict) {
    case Decision::Verdict::first: return first_of(children, std::move(decision), lease_valid);
    case Decision::Verdict::behind:
      if (at_end()) return exhausted();
      if (!policy_.wait) return end(remove_node());
      return arm(std::move(decision));
    case Decision::Verdict::vanished: return node_lost(Errc::node_deleted);
    case Decision::Verdict::at_odds:
      return fail(Errc::settings_mismatch, odds(decision, present_rule()));
  }
  return {};
}

AcquireEffects AcquireFsm::inspect_next() {
  // A create that was not executed before the quorum operation is never executed.
  if (doubts_->candidates.empty()) return not_created();
  state_ = AcquireState::inspecting;
  return {effect(Kind::inspect, doubts_->candidates.back().text)};
}

AcquireEffects AcquireFsm::on_inspected(const InspectedAnswer& answer) {
  if (state_ != AcquireState::inspecting) return {};
  const bool is_other = answer.status == Status::no_node || answer.status == Status::no_auth;
  if (answer.status != Status::ok && !is_other) return answer_failed(answer.status, answer.detail);
  auto& candidates = doubts_.write().candidates;
  ZnodeName name = std::move(candidates.back());
  candidates.pop_back();
  const auto data = is_other ? std::nullopt : ZnodeData::parse(answer.data);
  // A znode of an older session will be deleted with that: it is never the own one.
  if (!data || data->attempt != attempt() || answer.ephemeral_owner != asked_session_) {
    return inspect_next();
  }
  candidates.clear();
  own_ = std::move(name);
  zxid_ = answer.token.zxid;
  session_ = asked_session_;
  if (stage_ == Stage::moving) stage_ = Stage::queue;
  if (giving_up_) return end(remove_node());
  return list();
}

AcquireEffects AcquireFsm::list() {
  state_ = AcquireState::listing;
  return {effect(Kind::list)};
}

void AcquireFsm::stand_by(Decision decision) {
  watched_ = Few<std::string>(std::move(decision.watch));
  follows_release_ = decision.follows_release;
  position_ = decision.position;
}

AcquireEffects AcquireFsm::arm(Decision decision) {
  stand_by(std::move(decision));
  if (present_rule().shares_count()) watched_.push_back(std::string(count_node));
  out_of_date_ = false;
  return watch_all();
}

AcquireEffects AcquireFsm::watch_all() {
  release_is_grant_ = false;
  unanswered_ = static_cast<std::int32_t>(watched_.size());
  arming_status_ = Status::ok;
  state_ = AcquireState::arming;
  AcquireEffects effects;
  for (const std::string& node : watched_) effects.push_back(effect(Kind::watch, node));
  return effects;
}

bool AcquireFsm::watches(std::string_view node) const noexcept {
  return std::ranges::find(watched_, node) != watched_.end();
}

// Returns false if `node` has a lower sequence number but a newer zxid than the own znode. Then the
// path was recreated, or one of the two was made by hand.
bool AcquireFsm::fits_its_number(std::string_view node, FencingToken token) const noexcept {
  const auto other = parse_contention(node);
  return token <= this->token() || !other || own_.sequence <= other->sequence;
}

// A watch that failed or fired does not remain, but other watches may.
AcquireEffects AcquireFsm::instead_of_watching(AcquireEffects next) {
  if (std::exchange(armed_, 0) > 0) next.insert(next.begin(), {.kind = Kind::unwatch});
  return next;
}

AcquireEffects AcquireFsm::on_watched(std::string_view node, const WatchedAnswer& answer) {
  if (state_ != AcquireState::arming || !watches(node)) return {};
  if (answer.status == Status::ok) {
    ++armed_;
    if (node == count_node) out_of_date_ |= parse_permit_count(answer.data) != policy_.rule.all;
    const auto parsed = ZnodeData::parse(answer.data);
    const bool fits = fits_its_number(node, came_by(parsed, answer.token));
    if (!fits && !std::ranges::count(doubts_->known_misfits, answer.token)) {
      out_of_date_ = true;
      doubts_.write().misfits.push_back(answer.token);
    }
    release_is_grant_ = follows_release_ && fits && parsed && parsed->announces;
  } else if (answer.status == Status::no_node) {
    out_of_date_ = true;
  } else if (arming_status_ == Status::ok) {
    arming_status_ = answer.status;
    doubts_.write().detail = answer.detail;
  }
  if (--unanswered_ > 0) return {};
  if (arming_status_ != Status::ok) {
    return instead_of_watching(answer_failed(arming_status_, doubts_->detail));
  }
  if (out_of_date_) return instead_of_watching(list());
  state_ = AcquireState::waiting;
  waited_ = true;
  return own_deleted_ ? node_lost(Errc::node_deleted) : AcquireEffects{};
}

AcquireEffects AcquireFsm::on_predecessor_changed(std::string_view node, bool lease_valid) {
  // Only its creator can write such a znode, and only to announce that it held and released.
  if (waits_for_release() && watches(node)) return on_predecessor_released(lease_valid);
  return on_predecessor_deleted(node);
}

AcquireEffects AcquireFsm::on_predecessor_released(bool lease_valid) {
  assert(waits_for_release());
  armed_ = 0;  // a contender that waits for a release has one watch only
  return first(lease_valid);
}

AcquireEffects AcquireFsm::on_predecessor_deleted(std::string_view node) {
  // Otherwise the event is of an earlier watch that was removed too late.
  if (armed_ == 0 || !watches(node)) return {};
  --armed_;
  out_of_date_ = true;
  return state_ == AcquireState::waiting ? instead_of_watching(list()) : AcquireEffects{};
}

AcquireEffects AcquireFsm::first(bool lease_valid) {
  if (at_end()) return exhausted();
  if (at_gate()) return move();
  if (!lease_valid) {
    state_ = AcquireState::confirming;
    return {effect(Kind::check_own)};
  }
  if (marks() && !marked_) return mark();
  state_ = AcquireState::granted;
  return {effect(Kind::grant)};
}

/// A counter past its end gives negative sequence numbers.
bool AcquireFsm::at_end() const noexcept {
  return !is_usable(own_.sequence);
}

/// Returns whether no request is outstanding, so that only an event changes the state.
bool AcquireFsm::is_idle() const noexcept {
  return state_ == AcquireState::waiting || state_ == AcquireState::pausing ||
         state_ == AcquireState::delaying;
}

AcquireEffects AcquireFsm::on_session_ended(SessionId session) {
  // In all other states a reply is outstanding, which will have the status session_ended.
  if (!is_idle() || !has_node() || session != session_) return {};
  return node_lost(Errc::session_expired);
}

AcquireEffects AcquireFsm::on_own_node_deleted() {
  if (!has_node()) return {};
  own_deleted_ = true;  // an outstanding reply may be older than the deletion
  return is_idle() ? node_lost(Errc::node_deleted) : AcquireEffects{};
}

AcquireEffects AcquireFsm::node_lost(Errc error) {
  // It has not held, so it must leave no delay. If the session ended, the marker cannot be deleted.
  if (error == Errc::node_deleted && leaves_delay()) {
    AcquireEffects effects{effect(Kind::remove_node, unmark())};
    std::ranges::move(node_lost(error), std::back_inserter(effects));
    return effects;
  }
  session_ = {};
  if (giving_up_) return instead_of_watching(end());
  return instead_of_watching(policy_.queue_again ? enqueue() : fail(error));
}

AcquireEffects AcquireFsm::pause() {
  paused_in_ = state_;
  state_ = AcquireState::pausing;
  return {{.kind = Kind::pause}};
}

AcquireEffects AcquireFsm::on_resume() {
  if (state_ != AcquireState::pausing) return {};
  state_ = paused_in_;
  return repeat();
}

AcquireEffects AcquireFsm::repeat() {
  switch (state_) {
    case AcquireState::enqueuing: return enqueue();
    case AcquireState::making_parents: return {{.kind = Kind::create_parents}};
    case AcquireState::proving: return {effect(Kind::check_parent)};
    case AcquireState::recovering:
    case AcquireState::listing: return {effect(Kind::list)};
    case AcquireState::inspecting: return inspect_next();
    case AcquireState::moving: return move();
    case AcquireState::seeding: return seed_count();
    case AcquireState::arming: return watch_all();
    case AcquireState::confirming: return {effect(Kind::check_own)};
    case AcquireState::marking: return mark();
    case AcquireState::clearing: return clear_next();
    case AcquireState::removing_parent: return remove_parent();
    case AcquireState::draining: return drain();
    case AcquireState::skipping: return skip();
    case AcquireState::idle:
    case AcquireState::waiting:
    case AcquireState::delaying:
    case AcquireState::pausing:
    case AcquireState::granted:
    case AcquireState::ended: return {};
  }
  return {};
}

}  // namespace zklock::core
