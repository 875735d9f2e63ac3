// SPDX-License-Identifier: Apache-2.0
// The steps of the acquire machine beside the create, the count and the list.
#include <algorithm>
#include <iterator>
#include <utility>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/znode_data.h"

namespace zklock::core {

namespace {

constexpr int kMaxCountCreates = 16;

}  // namespace

// ---- the search for a lost znode ----------------------------------------------------------------
// The search for a lost znode, in the acquire machine.
//
// If the reply to a create or move is lost, the contender does not know whether its znode exists.
// An operation through the quorum comes first (proving). A list after it shows all earlier writes
// of the session (recovering). The znode whose data has the contender's attempt, and whose owner
// is the session of the create, is its own (inspecting).

AcquireEffects AcquireFsm::check_parent() {
  state_ = AcquireState::proving;
  return {effect(Kind::check_parent)};
}

AcquireEffects AcquireFsm::handle_parent_checked(const DoneAnswer& answer) {
  // Each of these replies came from the quorum.
  if (answer.status != Status::ok && answer.status != Status::no_node &&
      answer.status != Status::no_auth) {
    return handle_failure(answer.status, answer.detail);
  }
  state_ = AcquireState::recovering;
  return {effect(Kind::list)};
}

AcquireEffects AcquireFsm::handle_candidates(const ListedAnswer& answer) {
  if (answer.status == Status::no_node) return not_created();
  if (answer.status != Status::ok) return handle_failure(answer.status, answer.detail);
  auto& candidates = rare_.write().candidates;
  candidates = contenders(answer.children);
  std::erase_if(candidates, [prefix = present_rule().prefix()](const ZnodeName& name) {
    return !name.has_prefix(prefix);
  });
  return inspect_next();
}

AcquireEffects AcquireFsm::inspect_next() {
  // A create that was not executed before the quorum operation is never executed.
  if (rare_->candidates.empty()) return not_created();
  state_ = AcquireState::inspecting;
  return {effect(Kind::inspect, rare_->candidates.back().text)};
}

AcquireEffects AcquireFsm::on_inspected(const InspectedAnswer& answer) {
  const InvariantCheck check(*this);
  if (state_ != AcquireState::inspecting) return {};
  const bool is_other = answer.status == Status::no_node || answer.status == Status::no_auth;
  if (answer.status != Status::ok && !is_other) return handle_failure(answer.status, answer.detail);
  auto& candidates = rare_.write().candidates;
  ZnodeName name = std::move(candidates.back());
  candidates.pop_back();
  const auto data = is_other ? std::nullopt : ZnodeData::parse(answer.data);
  // A znode of an older session will be deleted with that: it is never its own.
  if (!data || data->attempt != attempt_.text() ||
      answer.ephemeral_owner != node_.create_session()) {
    return inspect_next();
  }
  candidates.clear();
  node_.adopt(std::move(name), answer.token);
  if (ending_) return end(remove_node());
  return list();
}

/// The create or move was not executed. So there is no own znode, or only the one at the gate.
AcquireEffects AcquireFsm::not_created() {
  AcquireEffects effects{effect(Kind::remove_late_create, attempt_.text())};
  const auto go_on = [this] {
    if (ending_) return end(remove_node());
    if (!node_.is_moving()) return enqueue();
    node_.stay_at_gate();
    return list();
  };
  std::ranges::move(go_on(), std::back_inserter(effects));
  return effects;
}

// ---- the watches on the predecessors ------------------------------------------------------------
// The watches on the predecessors, in the acquire machine.
//
// Each predecessor is read and watched (arming). If the data or the czxid of one shows that the
// last list is outdated, or if one is deleted meanwhile, the contender lists again. Otherwise it
// waits for an event. If its only predecessor announces its release, that release is a grant.

AcquireEffects AcquireFsm::arm(Decision decision) {
  predecessors_.set(std::move(decision));
  if (present_rule().shares_count()) predecessors_.add_permit_count();
  return watch_all();
}

AcquireEffects AcquireFsm::watch_all() {
  predecessors_.begin_watching();
  state_ = AcquireState::arming;
  AcquireEffects effects;
  for (const std::string& node : predecessors_.nodes())
    effects.push_back(effect(Kind::watch, node));
  return effects;
}

AcquireEffects AcquireFsm::drop_watches_then(AcquireEffects next) {
  if (predecessors_.drop_watches()) next.insert(next.begin(), {.kind = Kind::unwatch});
  return next;
}

AcquireEffects AcquireFsm::on_watched(std::string_view node, const WatchedAnswer& answer) {
  const InvariantCheck check(*this);
  if (state_ != AcquireState::arming || !predecessors_.contain(node)) return {};
  predecessors_.on_watched(node, answer, node_, policy_.rule.total);
  if (!predecessors_.has_all_replies()) return {};
  if (predecessors_.status() != Status::ok) {
    return drop_watches_then(handle_failure(predecessors_.status(), predecessors_.detail()));
  }
  if (predecessors_.is_list_outdated()) return drop_watches_then(list());
  predecessors_.begin_waiting();
  state_ = AcquireState::waiting;
  return node_.is_deleted() ? node_lost(Errc::node_deleted) : AcquireEffects{};
}

AcquireEffects AcquireFsm::on_predecessor_released(std::string_view node, bool lease_valid) {
  const InvariantCheck check(*this);
  if (!waits_for_announcement() || !predecessors_.contain(node))
    return on_predecessor_deleted(node);
  // Only its creator can announce the release of such a znode, and only if it has held.
  predecessors_.drop_watches();  // the only one has fired, or its event will be ignored
  return become_first(lease_valid);
}

AcquireEffects AcquireFsm::on_predecessor_deleted(std::string_view node) {
  const InvariantCheck check(*this);
  // Otherwise the event is of an earlier watch that was removed too late.
  if (!predecessors_.on_event(node)) return {};
  return state_ == AcquireState::waiting ? drop_watches_then(list()) : AcquireEffects{};
}

// ---- the shared permit count --------------------------------------------------------------------
// The shared permit count of a semaphore, in the acquire machine.
//
// The count is read after the list. Contenders ahead become only fewer, so the list shows at least
// as many as there are when the count is read. If they fit into the count, there is room at that
// moment. The znode of the count is watched like a predecessor. No grant is made by an unknown
// count.

AcquireEffects AcquireFsm::handle_first_list(const ListedAnswer& answer, bool lease_valid) {
  if (awaited_ != Awaited::count) {
    rare_.write().early_count = CountedAnswer{answer.status, answer.permits.session, {}, 0};
    return {};
  }
  if (auto other_way = check_created()) return *std::move(other_way);
  // If the last of the three requests was answered in its own znode's session, so was the list.
  if (answer.status != Status::ok || answer.permits.session != node_.session()) return list();
  state_ = AcquireState::listing;
  return decide_by(answer, lease_valid);
}

/// Returns std::nullopt if the count is known or not needed, else the effects to go on with.
std::optional<AcquireEffects> AcquireFsm::check_permit_count(const PermitsAnswer& count) {
  if (!present_rule().shares_count()) return std::nullopt;
  if (count.status == Status::no_node) {
    if (++count_creates_in_row_ <= kMaxCountCreates) return create_count();
    return fail(Errc::server_error, "the permit count is repeatedly deleted by another client");
  }
  if (count.status != Status::ok) return handle_failure(count.status, count.detail);
  const auto number = parse_permit_count(count.data);
  if (!number) return fail(Errc::bad_data, bad_permit_count(count.data));
  count_creates_in_row_ = 0;
  policy_.rule.total = *number;
  return std::nullopt;
}

AcquireEffects AcquireFsm::create_count() {
  state_ = AcquireState::creating_count;
  return {effect(Kind::create_count, std::to_string(initial_count_))};
}

AcquireEffects AcquireFsm::handle_count_created(const DoneAnswer& answer) {
  if (node_.is_deleted()) return node_lost(Errc::node_deleted);
  // Another client may have created the count. After "no node" the list shows whether the path was
  // deleted.
  const bool is_there = answer.status == Status::ok || answer.status == Status::node_exists;
  return is_there || answer.status == Status::no_node
             ? list()
             : handle_failure(answer.status, answer.detail);
}

// ---- the move from the gate to the queue --------------------------------------------------------
// The move from the gate to the queue, in the acquire machine.
//
// With a gate, a contender creates its znode at the gate first, and is judged there by the gate's
// rule. The first contender there moves: one transaction deletes its znode at the gate and creates
// one in the queue. So it has exactly one znode at any time. The move gives that znode its sequence
// number, so it is behind all contenders that moved earlier.
//
// If the reply to the move is lost, the contender searches for the new znode as after a lost
// create. If the search finds none, the contender is still at the gate.
//
// The search also finds none if the new znode was deleted by hand and the path was recreated. Then
// another contender's znode can have the name of the one at the gate. So after a move, that znode
// is read before it is deleted, until a list shows that the path is older than it. For that reason,
// a move that was not executed is not repeated, but decided anew by a list.

AcquireEffects AcquireFsm::move() {
  state_ = AcquireState::moving;
  node_.move();
  attempt_.advance();
  return {effect(Kind::move, attempt_.text())};
}

AcquireEffects AcquireFsm::handle_moved(const CreatedAnswer& answer) {
  if (answer.status == Status::ok) {
    node_.take(answer);
    auto other_way = check_created();
    return other_way ? *std::move(other_way) : list();
  }
  if (answer.status == Status::unknown) return check_parent();
  if (answer.status == Status::no_node) return node_lost(Errc::node_deleted);
  if (answer.status == Status::session_ended) return node_lost(Errc::session_expired);
  if (ending_) return end(remove_node());
  if (answer.status == Status::node_exists) return handle_taken_name();
  if (answer.status == Status::not_sent || answer.status == Status::throttled) {
    node_.stay_at_gate();
    if (answer.status == Status::not_sent) return list();
    state_ = AcquireState::listing;
    return pause();
  }
  return handle_failure(answer.status, answer.detail);
}

// ---- the lock delay -----------------------------------------------------------------------------
// The delay after a loss, in the acquire machine. core/lock_delay.h explains the markers.
//
// A contender with a lock delay creates its delay marker before it is granted (marking), once for
// each znode. A contender that is first by a list looks for orphaned markers: those of lost
// holders. It waits until each of them has been known for its length (delaying). Then it deletes
// them (clearing) and lists again.
//
// At the gate, markers are ignored: the delay concerns the lock. There is one exception. If its own
// sequence number is unusable, the first contender clears them there too. The path must be deleted
// in that case, and it cannot be deleted while it has children.
//
// A grant without a list overlooks no orphaned marker. A contender that is alone has counted the
// children, and markers are children. A holder that announces its release found no orphaned marker
// at its own grant, and deletes its own marker in the transaction of the release.

bool AcquireFsm::needs_marker() const noexcept {
  return policy_.rule.access == Access::exclusive && policy_.lock_delay.count() > 0;
}

AcquireEffects AcquireFsm::mark() {
  state_ = AcquireState::marking;
  std::string& marker = rare_.write().delay_markers.own;
  marker = DelayMarker::make(policy_.lock_delay, node_.token(), node_.sequence()).name;
  return {effect(Kind::mark, marker)};
}

AcquireEffects AcquireFsm::handle_marked(const DoneAnswer& answer, bool lease_valid) {
  if (node_.is_deleted() || answer.status == Status::no_node) return node_lost(Errc::node_deleted);
  // It exists if a reply was lost: no other contender's marker has this token.
  if (answer.status != Status::ok && answer.status != Status::node_exists)
    return handle_failure(answer.status, answer.detail);
  rare_.write().delay_markers.is_own_created = true;
  return become_first(lease_valid);
}

std::string AcquireFsm::take_delay_marker() {
  return delay_markers().has_own() ? std::exchange(rare_.write().delay_markers.own, {})
                                   : std::string();
}

/// The list shows it first. The list may have orphaned delay markers.
AcquireEffects AcquireFsm::become_first_by_list(std::span<const std::string> children,
                                                Decision decision, bool lease_valid) {
  if (node_.at_gate() && node_.has_usable_number()) return move();
  auto orphans = core::orphans(children);
  if (orphans.empty()) return become_first(lease_valid);
  rare_.write().delay_markers.orphans = std::move(orphans);
  predecessors_.set(std::move(decision));
  state_ = AcquireState::delaying;
  return {{.kind = Kind::delay}};
}

AcquireEffects AcquireFsm::on_delay_over() {
  const InvariantCheck check(*this);
  return state_ == AcquireState::delaying ? clear_next() : AcquireEffects{};
}

/// Deletes one marker at a time. Another contender may delete it first: that is no failure.
AcquireEffects AcquireFsm::clear_next() {
  if (delay_markers().orphans.empty()) return list();
  state_ = AcquireState::clearing;
  return {effect(Kind::clear, delay_markers().orphans.back().name)};
}

AcquireEffects AcquireFsm::handle_cleared(const DoneAnswer& answer) {
  if (node_.is_deleted()) return node_lost(Errc::node_deleted);
  // "no node" may also mean that its own znode is deleted: the next list shows it.
  if (answer.status != Status::ok && answer.status != Status::no_node)
    return handle_failure(answer.status, answer.detail);
  rare_.write().delay_markers.orphans.pop_back();
  return clear_next();
}

}  // namespace zklock::core
