// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/acquire_fsm.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace zklock::core {

namespace {

constexpr int kMaxParents = 16;

std::string mismatch_cause(const Decision& decision, const QueueRule& rule) {
  const auto setting = [&](std::int32_t permits, std::int32_t ageing) -> std::string {
    if (rule.access == Access::weighted) return "an ageing of " + std::to_string(ageing);
    return permits == 0 ? "the shared permit count" : std::to_string(permits) + " permits";
  };
  return "a contender ahead is set to " + setting(decision.other_setting, decision.other_setting) +
         ", this contender to " + setting(rule.named_total, rule.ageing) + "; use equal settings";
}

}  // namespace

AcquireFsm::AcquireFsm(const char* prefix, std::uint64_t number, Policy policy)
    : attempt_(prefix, number), policy_(std::move(policy)), initial_count_(policy_.rule.total) {}

AcquireEffect AcquireFsm::effect(Kind kind, std::string text) const {
  return {.kind = kind, .text = std::move(text), .session = node_.bound_session()};
}

AcquireEffects AcquireFsm::start(bool counter_ended) {
  const InvariantCheck check(*this);
  if (state_ != AcquireState::idle) return {};
  return counter_ended ? drain() : enqueue();
}

AcquireEffects AcquireFsm::enqueue() {
  state_ = AcquireState::enqueuing;
  node_.begin(static_cast<bool>(policy_.gate));
  create_status_ = Status::ok;
  awaited_ = policy_.count_children || !predicts_predecessor() ? Awaited::create_and_count
                                                               : Awaited::create;
  rare_.reset();
  predecessors_.on_create();
  attempt_.advance();
  AcquireEffects effects;
  effects.push_back(
      effect(Kind::create, attempt_.text()));  // a list of initializers would copy the text
  return effects;
}

AcquireEffects AcquireFsm::on_created(const CreatedAnswer& answer, bool lease_valid) {
  const InvariantCheck check(*this);
  if (state_ == AcquireState::moving) return handle_moved(answer);
  if (state_ != AcquireState::enqueuing || awaited_ == Awaited::count) return {};
  create_status_ = answer.status;
  if (answer.status != Status::ok) rare_.write().detail = answer.detail;
  node_.set_create_session(answer.session);
  if (answer.status == Status::ok) node_.take(answer);
  if (std::exchange(awaited_, Awaited::count) == Awaited::create_and_count) {
    if (!rare_->early_count) return {};
    return handle_counted(*std::exchange(rare_.write().early_count, {}), false);
  }
  if (auto other_way = check_created()) return *std::move(other_way);
  if (!predicts_predecessor()) return list();
  return answer.first ? become_first(lease_valid) : predict_predecessor();
}

AcquireEffects AcquireFsm::on_counted(const CountedAnswer& answer, bool lease_valid) {
  const InvariantCheck check(*this);
  if (state_ != AcquireState::enqueuing) return {};
  if (awaited_ == Awaited::count) return handle_counted(answer, lease_valid);
  rare_.write().early_count = answer;
  return {};
}

AcquireEffects AcquireFsm::handle_counted(const CountedAnswer& answer, bool lease_valid) {
  if (auto other_way = check_created()) return *std::move(other_way);
  if (present_rule().shares_count()) return list();
  const bool known = answer.status == Status::ok && answer.session == node_.session();
  // No child was created or deleted after its own znode, so the counted child is its own znode.
  if (known && answer.children == 1) {
    return answer.pzxid == node_.token() ? become_first(lease_valid) : list();
  }
  return known && predicts_predecessor() ? predict_predecessor() : list();
}

// Only mutexes: to all others the kind of the predecessor matters, and they do not know it.
bool AcquireFsm::predicts_predecessor() const noexcept {
  return policy_.wait && !policy_.always_list && present_rule().is_mutex();
}

// Predicts that the preceding sequence number is the predecessor's. If not, a list follows.
AcquireEffects AcquireFsm::predict_predecessor() {
  if (node_.sequence().value <= 0 || !node_.has_usable_number()) return list();
  return arm({.watch = {ZnodeName::make(kLockPrefix, {node_.sequence().value - 1}).text},
              .grant_by_release = true});
}

/// Returns std::nullopt if its own znode is in the queue or at the gate, else the effects to go on
/// with.
std::optional<AcquireEffects> AcquireFsm::check_created() {
  if (!node_.exists()) return create_failed();
  if (ending_) return end(remove_node());
  if (node_.is_deleted()) return node_lost(Errc::node_deleted);
  parents_in_row_ = 0;
  if (!parse_znode_name(node_.name())) return handle_unusable_number();  // lists ignore such a name
  return std::nullopt;
}

AcquireEffects AcquireFsm::create_failed() {
  if (create_status_ == Status::unknown) return check_parent();
  if (ending_) return end();
  if (create_status_ == Status::no_node) {
    if (++parents_in_row_ > kMaxParents) {
      return fail(Errc::server_error, "the lock path is repeatedly deleted by another client");
    }
    state_ = AcquireState::making_parents;
    return {{.kind = Kind::create_parents}};
  }
  if (create_status_ == Status::node_exists) return handle_taken_name();
  if (create_status_ == Status::session_ended) return enqueue();
  return handle_failure(create_status_, rare_->detail);
}

AcquireEffects AcquireFsm::on_done(const DoneAnswer& answer, bool lease_valid) {
  const InvariantCheck check(*this);
  switch (state_) {
    case AcquireState::making_parents: return handle_parents_created(answer);
    case AcquireState::proving: return handle_parent_checked(answer);
    case AcquireState::creating_count: return handle_count_created(answer);
    case AcquireState::confirming: return handle_own_checked(answer, lease_valid);
    case AcquireState::marking: return handle_marked(answer, lease_valid);
    case AcquireState::clearing: return handle_cleared(answer);
    case AcquireState::removing_parent: return handle_parent_removed(answer);
    case AcquireState::idle:
    case AcquireState::enqueuing:
    case AcquireState::recovering:
    case AcquireState::inspecting:
    case AcquireState::listing:
    case AcquireState::moving:
    case AcquireState::arming:
    case AcquireState::waiting:
    case AcquireState::pausing:
    case AcquireState::delaying:
    case AcquireState::draining:
    case AcquireState::granted:
    case AcquireState::ended: return {};
  }
  return {};
}

AcquireEffects AcquireFsm::handle_parents_created(const DoneAnswer& answer) {
  if (ending_) return end();
  if (answer.status == Status::ok || answer.status == Status::session_ended) return enqueue();
  if (answer.status == Status::no_node) return fail(Errc::no_chroot, answer.detail);
  return handle_failure(answer.status, answer.detail);
}

AcquireEffects AcquireFsm::handle_own_checked(const DoneAnswer& answer, bool lease_valid) {
  if (node_.is_deleted() || answer.status == Status::no_node) return node_lost(Errc::node_deleted);
  if (answer.status != Status::ok) return handle_failure(answer.status, answer.detail);
  // The permit count may have changed meanwhile.
  if (lease_valid && policy_.rule.shares_count()) return list();
  return lease_valid ? become_first(true) : pause();
}

AcquireEffects AcquireFsm::on_listed(const ListedAnswer& answer, bool lease_valid) {
  const InvariantCheck check(*this);
  if (state_ == AcquireState::enqueuing && present_rule().shares_count()) {
    return handle_first_list(answer, lease_valid);
  }
  if (state_ == AcquireState::recovering) return handle_candidates(answer);
  if (state_ == AcquireState::draining) return handle_drain_list(answer);
  if (state_ != AcquireState::listing) return {};
  if (node_.is_deleted() || answer.status == Status::no_node) return node_lost(Errc::node_deleted);
  if (answer.status != Status::ok) return handle_failure(answer.status, answer.detail);
  return decide_by(answer, lease_valid);
}

AcquireEffects AcquireFsm::decide_by(const ListedAnswer& answer, bool lease_valid) {
  if (is_path_newer(answer.path_czxid)) return node_lost(Errc::node_deleted);
  node_.on_path_seen();
  predecessors_.on_listed();
  if (node_.has_usable_number()) {
    if (auto other_way = check_permit_count(answer.permits)) return *std::move(other_way);
  }
  const auto children = answer.children;
  Decision decision = decide(children, node_.name(), present_rule());
  switch (decision.verdict) {
    case Decision::Verdict::first:
      return become_first_by_list(children, std::move(decision), lease_valid);
    case Decision::Verdict::behind:
      if (!node_.has_usable_number()) return handle_unusable_number();
      if (!policy_.wait) return end(remove_node());
      return arm(std::move(decision));
    case Decision::Verdict::vanished: return node_lost(Errc::node_deleted);
    case Decision::Verdict::mismatch:
      return fail(Errc::settings_mismatch, mismatch_cause(decision, present_rule()));
  }
  return {};
}

AcquireEffects AcquireFsm::list() {
  state_ = AcquireState::listing;
  return {effect(Kind::list)};
}

AcquireEffects AcquireFsm::become_first(bool lease_valid) {
  if (!node_.has_usable_number()) return handle_unusable_number();
  if (node_.at_gate()) return move();
  if (!lease_valid) {
    state_ = AcquireState::confirming;
    return {effect(Kind::check_own)};
  }
  if (needs_marker() && !delay_markers().is_own_created) return mark();
  state_ = AcquireState::granted;
  return {effect(Kind::grant)};
}

/// Returns whether the state has no outstanding request, so that only an event changes it.
bool AcquireFsm::awaits_event(AcquireState state) noexcept {
  return state == AcquireState::waiting || state == AcquireState::pausing ||
         state == AcquireState::delaying;
}

AcquireEffects AcquireFsm::on_session_ended(SessionId session) {
  const InvariantCheck check(*this);
  // In all other states a reply is outstanding, which will have the status session_ended.
  if (!awaits_event(state_) || !node_.exists() || session != node_.session()) return {};
  return node_lost(Errc::session_expired);
}

AcquireEffects AcquireFsm::on_own_node_deleted() {
  const InvariantCheck check(*this);
  if (!node_.exists()) return {};
  node_.on_deleted();  // an outstanding reply may be older than the deletion
  return awaits_event(state_) ? node_lost(Errc::node_deleted) : AcquireEffects{};
}

AcquireEffects AcquireFsm::node_lost(Errc error) {
  // It has not held, so it must leave no delay. If the session ended, the marker cannot be deleted.
  if (error == Errc::node_deleted && delay_markers().has_own()) {
    AcquireEffects effects{effect(Kind::remove_node, take_delay_marker())};
    std::ranges::move(node_lost(error), std::back_inserter(effects));
    return effects;
  }
  const std::string name = policy_.queue_again ? std::string() : node_.name();
  node_.forget();
  if (ending_) return drop_watches_then(end());
  if (policy_.queue_again) return drop_watches_then(enqueue());
  const bool is_deleted = error == Errc::node_deleted && !name.empty();
  return drop_watches_then(fail(
      error, is_deleted ? "another client deleted the waiting znode " + name + "; acquire again"
                        : std::string()));
}

AcquireEffects AcquireFsm::pause() {
  paused_in_ = state_;
  state_ = AcquireState::pausing;
  return {{.kind = Kind::pause}};
}

AcquireEffects AcquireFsm::on_pause_over() {
  const InvariantCheck check(*this);
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
    case AcquireState::creating_count: return create_count();
    case AcquireState::arming: return watch_all();
    case AcquireState::confirming: return {effect(Kind::check_own)};
    case AcquireState::marking: return mark();
    case AcquireState::clearing: return clear_next();
    case AcquireState::removing_parent: return remove_parent();
    case AcquireState::draining: return drain();
    case AcquireState::idle:
    case AcquireState::moving:
    case AcquireState::waiting:
    case AcquireState::delaying:
    case AcquireState::pausing:
    case AcquireState::granted:
    case AcquireState::ended: return {};
  }
  return {};
}

// ---- the invariants -----------------------------------------------------------------------------
// The invariants of the acquire machine, asserted at the entry and the exit of every input.

bool AcquireFsm::can_follow(AcquireState before, AcquireState after) noexcept {
  if (before == AcquireState::granted || before == AcquireState::ended) return after == before;
  return after != AcquireState::idle || before == AcquireState::idle;
}

/// Returns whether node_ agrees with the state about the existence of an own znode.
bool AcquireFsm::is_node_consistent_with(AcquireState state) const noexcept {
  switch (state) {
    case AcquireState::idle:
    case AcquireState::making_parents:
    case AcquireState::removing_parent:
    case AcquireState::draining:
    case AcquireState::ended: return !node_.is_created();
    case AcquireState::enqueuing:
      return (awaited_ == Awaited::count || !node_.is_created()) && !node_.is_moving();
    case AcquireState::moving: return node_.is_created() && node_.is_moving();
    case AcquireState::proving:
    case AcquireState::recovering:
    case AcquireState::inspecting: return node_.is_created() == node_.is_moving();
    case AcquireState::listing:
    case AcquireState::delaying:
    case AcquireState::clearing:
    case AcquireState::arming:
    case AcquireState::waiting: return node_.exists();
    case AcquireState::creating_count:
    case AcquireState::confirming:
    case AcquireState::marking:
    case AcquireState::granted: return node_.exists() && node_.in_queue();
    case AcquireState::pausing: return false;  // paused_in_ is never pausing
  }
  return false;
}

void AcquireFsm::assert_invariants() const noexcept {
  const bool is_paused = state_ == AcquireState::pausing;
  [[maybe_unused]] const AcquireState state = is_paused ? paused_in_ : state_;

  assert(is_node_consistent_with(state));
  assert(predecessors_.is_consistent_with(state_));
  assert(!node_.is_created() || !node_.name().empty() || !node_.has_usable_number());
  assert(node_.in_queue() || policy_.gate);
  assert(!ending_ || !node_.exists() || state_ == AcquireState::enqueuing ||
         state_ == AcquireState::granted);
  assert(!is_paused || !awaits_event(paused_in_));

  assert(count_creates_in_row_ >= 0 && parents_in_row_ >= 0 && unusable_numbers_ >= 0);

  switch (state_) {
    case AcquireState::enqueuing: assert(attempt_.has_begun()); break;
    case AcquireState::inspecting: assert(!rare_->candidates.empty()); break;
    case AcquireState::waiting: assert(policy_.wait); break;
    case AcquireState::marking: assert(needs_marker() && !delay_markers().is_own_created); break;
    case AcquireState::delaying:
    case AcquireState::clearing: assert(!delay_markers().orphans.empty()); break;
    case AcquireState::granted:
      assert(node_.has_usable_number());
      assert(!needs_marker() || delay_markers().is_own_created);
      break;
    case AcquireState::idle:
    case AcquireState::making_parents:
    case AcquireState::proving:
    case AcquireState::recovering:
    case AcquireState::listing:
    case AcquireState::moving:
    case AcquireState::creating_count:
    case AcquireState::arming:
    case AcquireState::confirming:
    case AcquireState::pausing:
    case AcquireState::removing_parent:
    case AcquireState::draining:
    case AcquireState::ended: break;
  }
}

}  // namespace zklock::core
