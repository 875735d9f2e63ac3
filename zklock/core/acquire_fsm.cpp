// SPDX-License-Identifier: Apache-2.0
// The acquire machine: its states, its inputs and its invariants.
#include "zklock/core/acquire_fsm.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

namespace zklock::core {

// ---- the states ---------------------------------------------------------------------------------

struct AcquireFsm::StateFacts {
  /// The reply that the state awaits. create: and then the count or list. none: only an event ends
  /// the state.
  enum class Reply : std::uint8_t { none, create, created, listed, inspected, watched, done };
  /// The contender's znode. searched: it may exist.
  enum class Znode : std::uint8_t { none, creates, searched, moves, exists, in_queue, as_before };
  /// When withdraw() ends the contender. later: at a reply, which says whether its znode exists.
  enum class Ends : std::uint8_t { now, later, never };

  AcquireState state;
  Reply reply;
  Znode znode;
  Ends ends;
  Transition after = nullptr;  ///< the state after the reply
};

const AcquireFsm::StateFacts& AcquireFsm::facts_of(AcquireState state) noexcept {
  using M = AcquireFsm;
  using Reply = StateFacts::Reply;
  using Znode = StateFacts::Znode;
  using Ends = StateFacts::Ends;
  // clang-format off
  static constexpr StateFacts kFacts[] = {
      {idle,            Reply::none,      Znode::none,      Ends::now},
      {enqueuing,       Reply::create,    Znode::creates,   Ends::later, &M::after_enqueuing},
      {making_parents,  Reply::done,      Znode::none,      Ends::later, &M::after_making_parents},
      {proving,         Reply::done,      Znode::searched,  Ends::later, &M::after_proving},
      {recovering,      Reply::listed,    Znode::searched,  Ends::later, &M::after_recovering},
      {inspecting,      Reply::inspected, Znode::searched,  Ends::later, &M::after_inspecting},
      {listing,         Reply::listed,    Znode::exists,    Ends::now,   &M::after_listing},
      {moving,          Reply::created,   Znode::moves,     Ends::later, &M::after_moving},
      {creating_count,  Reply::done,      Znode::in_queue,  Ends::now,   &M::after_creating_count},
      {arming,          Reply::watched,   Znode::exists,    Ends::now,   &M::after_arming},
      {waiting,         Reply::none,      Znode::exists,    Ends::now},
      {confirming,      Reply::done,      Znode::in_queue,  Ends::now,   &M::after_confirming},
      {pausing,         Reply::none,      Znode::as_before, Ends::now},
      {marking,         Reply::done,      Znode::in_queue,  Ends::now,   &M::after_marking},
      {delaying,        Reply::none,      Znode::exists,    Ends::now},
      {clearing,        Reply::done,      Znode::exists,    Ends::now,   &M::after_clearing},
      {removing_path, Reply::done,      Znode::none,      Ends::later, &M::after_removing_path},
      {draining,        Reply::listed,    Znode::none,      Ends::later, &M::after_draining},
      {granted,         Reply::none,      Znode::in_queue,  Ends::never},
      {ended,           Reply::none,      Znode::none,      Ends::never},
  };
  // clang-format on
  static_assert(std::size(kFacts) == static_cast<std::size_t>(ended) + 1);
  static_assert(std::ranges::adjacent_find(kFacts, std::greater_equal(), &StateFacts::state) ==
                std::end(kFacts));
  static_assert(std::ranges::all_of(kFacts, [](const StateFacts& facts) {
    return (facts.reply == Reply::none) == (facts.after == nullptr);
  }));
  return kFacts[static_cast<std::size_t>(state)];
}

AcquireFsm::AcquireFsm(const char* prefix, std::uint64_t number, Policy policy)
    : attempt_(prefix, number), policy_(std::move(policy)), initial_count_(policy_.rule.total) {}

/// Handles an input by the function that returns the next state.
AcquireEffects AcquireFsm::handle(Input&& in, Transition next) {
  const AcquireState state = (this->*next)(in);
  return enter(state, std::move(in));
}

/// Handles the reply to the requests of the state.
AcquireEffects AcquireFsm::handle(Input&& in) {
  return handle(std::move(in), facts_of(state_).after);
}

/// Enters the state, and sends its requests. In a state without a znode, its own is deleted first.
/// Returns all effects of the input.
AcquireEffects AcquireFsm::enter(AcquireState next, Input&& in) {
  AcquireEffects effects = std::move(in.effects);
  if (next == pausing) paused_in_ = state_;
  if (facts_of(next).znode == StateFacts::Znode::none) remove_node(effects);
  state_ = next;
  switch (next) {
    case enqueuing:
      begin_create();
      effects.push_back(effect(Kind::create, attempt_.text()));
      break;
    case making_parents: effects.push_back({.kind = Kind::create_parents}); break;
    case proving: effects.push_back(effect(Kind::check_path)); break;
    case recovering:
    case listing: effects.push_back(effect(Kind::list)); break;
    case inspecting: effects.push_back(effect(Kind::inspect, rare_->candidates.back().text)); break;
    case moving:
      node_.move();
      attempt_.advance();
      effects.push_back(effect(Kind::move, attempt_.text()));
      break;
    case creating_count:
      effects.push_back(effect(Kind::create_count, std::to_string(initial_count_)));
      break;
    case arming:
      predecessors_.begin_watching();
      for (const std::string& node : predecessors_.nodes())
        effects.push_back(effect(Kind::watch, node));
      break;
    case confirming: effects.push_back(effect(Kind::check_own)); break;
    case pausing: effects.push_back({.kind = Kind::pause}); break;
    case marking:
      rare_.write().delay_markers.own =
          DelayMarker::make(policy_.lock_delay, node_.token(), node_.sequence()).name;
      effects.push_back(effect(Kind::mark, delay_markers().own));
      break;
    case delaying: effects.push_back({.kind = Kind::delay}); break;
    case clearing:
      effects.push_back(effect(Kind::clear, delay_markers().orphans.back().name));
      break;
    case removing_path:
      effects.push_back({.kind = Kind::remove_path});
      if (in.recreates_count) effects.back().text = kCountNode;
      break;
    case draining: effects.push_back({.kind = Kind::list}); break;
    case granted: effects.push_back(effect(Kind::grant)); break;
    case idle:
    case waiting:
    case ended: break;
  }
  return effects;
}

void AcquireFsm::begin_create() {
  node_.begin(static_cast<bool>(policy_.gate));
  create_status_ = ok;
  awaited_ = policy_.count_children || !predicts_predecessor() ? Awaited::create_and_count
                                                               : Awaited::create_only;
  rare_.reset();
  predecessors_.on_create();
  attempt_.advance();
}

// Only mutexes: to all others the kind of the predecessor matters, and they do not know it.
bool AcquireFsm::predicts_predecessor() const noexcept {
  return policy_.wait && !policy_.always_list && present_rule().is_mutex();
}

/// Returns whether only an event changes the state.
bool AcquireFsm::awaits_event() const noexcept {
  return state_ == waiting || state_ == pausing || state_ == delaying;
}

/// Returns whether it is unknown whether its own znode exists.
bool AcquireFsm::is_searching(AcquireState state) noexcept {
  return facts_of(state).znode == StateFacts::Znode::searched;
}

AcquireEffect AcquireFsm::effect(Kind kind, std::string text) const {
  return {.kind = kind, .text = std::move(text), .session = node_.bound_session()};
}

void AcquireFsm::drop_watches(Input& in) {
  if (predecessors_.drop_watches()) in.effects.push_back({.kind = Kind::unwatch});
}

void AcquireFsm::report(Input& in, Errc error, std::string_view cause) const {
  if (ending_) return;
  in.effects.push_back({.kind = Kind::fail, .text = std::string(cause), .error = error});
}

/// Deletes its own znode, if there is one, and its delay marker.
void AcquireFsm::remove_node(AcquireEffects& effects) {
  const bool has_one = node_.is_created();
  if (has_one && !node_.is_deleted()) {
    effects.push_back(effect(Kind::remove_node, node_.name()));
    effects.back().sibling = take_delay_marker();
    effects.back().reads_first = node_.is_in_doubt();
  } else if (has_one && delay_markers().has_own()) {  // the name may be another znode's by now
    effects.push_back(effect(Kind::remove_node, take_delay_marker()));
  }
  node_.forget();
}

std::string AcquireFsm::take_delay_marker() {
  return delay_markers().has_own() ? std::exchange(rare_.write().delay_markers.own, {})
                                   : std::string();
}

bool AcquireFsm::needs_marker() const noexcept {
  return policy_.rule.access == Access::exclusive && policy_.lock_delay.count() > 0;
}

// ---- replies ------------------------------------------------------------------------------------

AcquireEffects AcquireFsm::on_created(const CreatedAnswer& answer, bool lease_valid) {
  const InvariantCheck check(*this);
  const bool awaits_create = state_ == enqueuing && awaited_ != Awaited::count;
  if (!awaits_create && state_ != moving) return {};
  if (answer.status == ok) node_.take(answer);
  if (state_ == moving) return handle({.status = answer.status, .detail = answer.detail});
  node_.set_create_session(answer.session);
  create_status_ = answer.status;
  if (answer.status != ok) rare_.write().detail = answer.detail;
  if (std::exchange(awaited_, Awaited::count) == Awaited::create_only) {
    return handle({.status = answer.status, .lease_valid = lease_valid, .created = &answer});
  }
  if (!rare_->early_count) return {};
  const CountedAnswer count = *std::exchange(rare_.write().early_count, {});
  return handle({.status = count.status, .counted = &count});
}

AcquireEffects AcquireFsm::on_counted(const CountedAnswer& answer, bool lease_valid) {
  const InvariantCheck check(*this);
  if (state_ != enqueuing) return {};
  if (awaited_ == Awaited::count) {
    return handle({.status = answer.status, .lease_valid = lease_valid, .counted = &answer});
  }
  rare_.write().early_count = answer;
  return {};
}

AcquireEffects AcquireFsm::on_listed(const ListedAnswer& answer, bool lease_valid) {
  const InvariantCheck check(*this);
  const bool replaces_count = state_ == enqueuing && present_rule().shares_count();
  if (!replaces_count && facts_of(state_).reply != StateFacts::Reply::listed) return {};
  if (replaces_count && awaited_ != Awaited::count) {
    rare_.write().early_count = CountedAnswer{answer.status, answer.permits.session, {}, 0};
    return {};
  }
  return handle({.status = answer.status,
                 .detail = answer.detail,
                 .lease_valid = lease_valid,
                 .listed = &answer});
}

AcquireEffects AcquireFsm::on_inspected(const InspectedAnswer& answer) {
  const InvariantCheck check(*this);
  if (state_ != inspecting) return {};
  return handle({.status = answer.status, .detail = answer.detail, .inspected = &answer});
}

AcquireEffects AcquireFsm::on_watched(std::string_view node, const WatchedAnswer& answer) {
  const InvariantCheck check(*this);
  if (state_ != arming || !predecessors_.contain(node)) return {};
  predecessors_.on_watched(node, answer, node_, policy_.rule.total);
  if (!predecessors_.has_all_replies()) return {};
  return handle({.status = predecessors_.status(), .detail = predecessors_.detail()});
}

AcquireEffects AcquireFsm::on_done(const DoneAnswer& answer, bool lease_valid) {
  const InvariantCheck check(*this);
  if (facts_of(state_).reply != StateFacts::Reply::done) return {};
  return handle({.status = answer.status, .detail = answer.detail, .lease_valid = lease_valid});
}

// ---- events -------------------------------------------------------------------------------------

AcquireEffects AcquireFsm::start(bool counter_ended) {
  const InvariantCheck check(*this);
  if (state_ != idle) return {};
  return enter(counter_ended ? draining : enqueuing, {});
}

AcquireEffects AcquireFsm::withdraw() {
  const InvariantCheck check(*this);
  ending_ = true;
  switch (facts_of(state_).ends) {
    case StateFacts::Ends::never: return {};
    case StateFacts::Ends::later: return {{.kind = Kind::drop_unsent}};
    case StateFacts::Ends::now: break;
  }
  if (state_ == pausing && is_searching(paused_in_)) return {};
  Input in;
  if (state_ == arming || state_ == waiting) {
    predecessors_.drop_watches();
    in.effects.push_back({.kind = Kind::unwatch});
  }
  return enter(ended, std::move(in));
}

void AcquireFsm::on_create_withdrawn() noexcept {
  const InvariantCheck check(*this);
  assert(state_ == enqueuing && ending_);
  state_ = ended;
}

AcquireEffects AcquireFsm::on_predecessor_released(std::string_view node, bool lease_valid) {
  const InvariantCheck check(*this);
  if (!waits_for_announcement() || !predecessors_.contain(node))
    return on_predecessor_deleted(node);
  // Only its creator can announce the release of such a znode, and only if it has held.
  predecessors_.drop_watches();  // the only one has fired, or its event will be ignored
  return handle({.lease_valid = lease_valid}, &AcquireFsm::first);
}

AcquireEffects AcquireFsm::on_predecessor_deleted(std::string_view node) {
  const InvariantCheck check(*this);
  // Otherwise the event belongs to an earlier watch that was removed too late.
  if (!predecessors_.on_event(node) || state_ != waiting) return {};
  Input in;
  drop_watches(in);
  return enter(listing, std::move(in));
}

AcquireEffects AcquireFsm::on_session_ended(SessionId session) {
  const InvariantCheck check(*this);
  // In all other states a reply is outstanding, which will have the status session_ended.
  if (!awaits_event() || !node_.exists() || session != node_.session()) return {};
  return handle({.status = session_ended}, &AcquireFsm::failed);
}

AcquireEffects AcquireFsm::on_own_node_deleted() {
  const InvariantCheck check(*this);
  if (!node_.exists()) return {};
  node_.on_deleted();  // an outstanding reply may be older than the deletion
  return awaits_event() ? handle({.status = no_node}, &AcquireFsm::failed) : AcquireEffects{};
}

AcquireEffects AcquireFsm::on_pause_over() {
  const InvariantCheck check(*this);
  return state_ == pausing ? enter(paused_in_, {}) : AcquireEffects{};
}

AcquireEffects AcquireFsm::on_delay_over() {
  const InvariantCheck check(*this);
  return state_ == delaying ? enter(clearing, {}) : AcquireEffects{};
}

// ---- the invariants -----------------------------------------------------------------------------
// They are asserted at the entry and the exit of every input.

bool AcquireFsm::can_follow(AcquireState before, AcquireState after) noexcept {
  if (before == granted || before == ended) return after == before;
  return after != idle || before == idle;
}

/// Returns whether node_ agrees with the state about the existence of an own znode.
bool AcquireFsm::is_node_consistent_with(AcquireState state) const noexcept {
  using Znode = StateFacts::Znode;
  switch (facts_of(state).znode) {
    case Znode::none: return !node_.is_created();
    case Znode::creates:
      return (awaited_ == Awaited::count || !node_.is_created()) && !node_.is_moving();
    case Znode::searched: return node_.is_created() == node_.is_moving();
    case Znode::moves: return node_.is_created() && node_.is_moving();
    case Znode::exists: return node_.exists();
    case Znode::in_queue: return node_.exists() && node_.in_queue();
    case Znode::as_before: return false;  // paused_in_ is never pausing
  }
  return false;
}

void AcquireFsm::assert_invariants() const noexcept {
  [[maybe_unused]] const AcquireState state = state_ == pausing ? paused_in_ : state_;

  assert(is_node_consistent_with(state));
  assert(predecessors_.is_consistent_with(state_));
  assert(!node_.is_created() || !node_.name().empty() || !node_.has_usable_number());
  assert(node_.in_queue() || policy_.gate);
  assert(!ending_ || !node_.exists() || state_ == enqueuing || state_ == granted);
  assert(state_ != pausing || facts_of(paused_in_).after != nullptr);
  assert(count_creates_in_row_ >= 0 && path_creates_in_row_ >= 0 && path_recreations_ >= 0);

  assert(state_ != enqueuing || attempt_.has_begun());
  assert(state_ != inspecting || !rare_->candidates.empty());
  assert(state_ != waiting || policy_.wait);
  assert(state_ != marking || (needs_marker() && !delay_markers().is_own_created));
  assert((state_ != delaying && state_ != clearing) || !delay_markers().orphans.empty());
  assert(state_ != granted || node_.has_usable_number());
  assert(state_ != granted || !needs_marker() || delay_markers().is_own_created);
}

}  // namespace zklock::core
