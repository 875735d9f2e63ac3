// SPDX-License-Identifier: Apache-2.0
// The transitions of the acquire machine. Each function returns the next state: enter() sends its
// requests. acquire_transitions.md lists all transitions.
#include <algorithm>
#include <span>
#include <utility>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_data.h"

namespace zklock::core {

namespace {

/// Returns whether the child's contender or session deletes it. An orphaned delay marker does not.
bool ends_by_itself(const std::string& child) {
  switch (kind_of(child)) {
    case ChildKind::contender:
    case ChildKind::hold_marker:
    case ChildKind::release_request:
    case ChildKind::proclamation: return true;
    case ChildKind::delay_marker:
    case ChildKind::permit_count:
    case ChildKind::other: return false;
  }
  return false;
}

std::string exhausted_cause(std::span<const std::string> children) {
  const bool first_is_count = children.front() == kCountNode;  // a permit count may remain
  return "the sequence counter of the path is exhausted, and the path cannot be recreated while it "
         "has the child \"" +
         printable(children[first_is_count ? 1 : 0], 64) + "\"; delete that child";
}

std::string taken_cause(const std::string& name) {
  return "another program made the znode " + name +
         " with the next sequence number of the path; delete that znode, or create and delete "
         "another child of the path";
}

std::string mismatch_cause(const Decision& decision, const QueueRule& rule) {
  const auto setting = [&](std::int32_t permits, std::int32_t ageing) -> std::string {
    if (rule.access == Access::weighted) return "an ageing of " + std::to_string(ageing);
    return permits == 0 ? "the shared permit count" : std::to_string(permits) + " permits";
  };
  return "a contender ahead is set to " + setting(decision.other_setting, decision.other_setting) +
         ", this contender to " + setting(rule.named_total, rule.ageing) + "; use equal settings";
}

}  // namespace

// ---- the create ---------------------------------------------------------------------------------

/// All requests are answered: the create, and the count of the children or the list after it.
AcquireState AcquireFsm::after_enqueuing(Input& in) {
  if (!node_.exists()) return not_created(in);
  if (ending_) return ended;
  if (node_.is_deleted()) return node_lost(in, Errc::node_deleted);
  path_creates_in_row_ = 0;
  if (!parse_znode_name(node_.name())) return number_unusable(in);  // lists ignore such a name
  if (in.status != ok) return listing;
  if (in.created && in.created->first) return first(in);
  if (in.listed) {
    // The read of the permit count is the last request, so the list was answered in this session.
    if (in.listed->permits.session != node_.session()) return listing;
    state_ = listing;
    return after_listing(in);
  }
  if (in.counted) {
    if (in.counted->session != node_.session() || present_rule().shares_count()) return listing;
    // No child was created or deleted after its own znode, so the counted child is its own znode.
    const bool is_unchanged = in.counted->pzxid == node_.token();
    if (in.counted->children == 1) return is_unchanged ? first(in) : listing;
  }
  const std::int32_t number = node_.sequence().value;
  if (!predicts_predecessor() || number <= 0 || !node_.has_usable_number()) return listing;
  // Predicts that the preceding sequence number is the predecessor's. If not, a list follows.
  predecessors_.set(
      {.watch = {ZnodeName::make(kLockPrefix, {number - 1}).text}, .grant_by_release = true});
  return arming;
}

AcquireState AcquireFsm::not_created(Input& in) {
  in.status = create_status_;
  in.detail = rare_->detail;
  if (in.status == unknown) return proving;
  if (ending_) return ended;
  if (in.status == node_exists) return draining;
  if (in.status == session_ended) return enqueuing;
  if (in.status != no_node) return failed(in);
  if (++path_creates_in_row_ <= kMaxPathCreates) return making_parents;
  return fail(in, Errc::server_error, "the lock path is repeatedly deleted by another client");
}

AcquireState AcquireFsm::after_making_parents(Input& in) {
  if (ending_) return ended;
  if (in.status == ok || in.status == session_ended) return enqueuing;
  return in.status == no_node ? fail(in, Errc::no_chroot, in.detail) : failed(in);
}

// ---- the search for a lost znode ----------------------------------------------------------------
// If the reply to a create or move is lost, the contender does not know whether its znode exists.
// An operation through the quorum comes first (proving). A list after it shows all earlier writes
// of the session (recovering). The znode whose data has the contender's attempt, and whose owner
// is the session of the create, is its own (inspecting).

AcquireState AcquireFsm::after_proving(Input& in) {
  const bool is_of_quorum = in.status == ok || in.status == no_node || in.status == no_auth;
  return is_of_quorum ? recovering : failed(in);
}

AcquireState AcquireFsm::after_recovering(Input& in) {
  if (in.status == no_node) return not_executed(in);
  if (in.status != ok) return failed(in);
  auto& candidates = rare_.write().candidates;
  candidates = contenders(in.listed->children);
  std::erase_if(candidates, [prefix = present_rule().prefix()](const ZnodeName& name) {
    return !name.has_prefix(prefix);
  });
  return candidates.empty() ? not_executed(in) : inspecting;
}

AcquireState AcquireFsm::after_inspecting(Input& in) {
  if (in.status != ok && in.status != no_node && in.status != no_auth) return failed(in);
  auto& candidates = rare_.write().candidates;
  ZnodeName name = std::move(candidates.back());
  candidates.pop_back();
  const auto data = in.status == ok ? ZnodeData::parse(in.inspected->data) : std::nullopt;
  // A znode of an older session is never its own. It is deleted at the end of that session.
  if (!data || data->attempt != attempt_.text() ||
      in.inspected->ephemeral_owner != node_.create_session()) {
    return candidates.empty() ? not_executed(in) : inspecting;
  }
  candidates.clear();
  node_.adopt(std::move(name), in.inspected->token);
  return ending_ ? ended : listing;
}

/// A create or move that was not executed before the quorum operation is never executed. So the
/// contender has no znode, or still has its znode at the gate.
AcquireState AcquireFsm::not_executed(Input& in) {
  in.effects.push_back(effect(Kind::remove_late_create, attempt_.text()));
  if (ending_) return ended;
  if (!node_.is_moving()) return enqueuing;
  node_.stay_at_gate();
  return listing;
}

// ---- a list, and the shared permit count --------------------------------------------------------
// The permit count is read after the list. The number of contenders ahead never rises, so the list
// shows at least as many as exist when the count is read. If they fit into the count, there is room
// at that moment. The count is watched like a predecessor. No grant is made by an unknown count.

AcquireState AcquireFsm::after_listing(Input& in) {
  if (node_.is_deleted()) return node_lost(in, Errc::node_deleted);
  if (in.status != ok) return failed(in);
  if (in.listed->path_czxid > node_.token()) return node_lost(in, Errc::node_deleted);
  node_.on_path_seen();
  predecessors_.on_listed();
  if (!present_rule().shares_count() || !node_.has_usable_number()) return decide_by_list(in);

  const PermitsAnswer& count = in.listed->permits;
  in.status = count.status;
  in.detail = count.detail;
  if (in.status == no_node) {
    if (++count_creates_in_row_ <= kMaxCountCreates) return creating_count;
    return fail(in, Errc::server_error, "the permit count is repeatedly deleted by another client");
  }
  if (in.status != ok) return failed(in);
  const auto number = parse_permit_count(count.data);
  if (!number) return fail(in, Errc::bad_data, bad_permit_count(count.data));
  count_creates_in_row_ = 0;
  policy_.rule.total = *number;
  return decide_by_list(in);
}

AcquireState AcquireFsm::decide_by_list(Input& in) {
  Decision decision = decide(in.listed->children, node_.name(), present_rule());
  switch (decision.verdict) {
    case Decision::Verdict::vanished: return node_lost(in, Errc::node_deleted);
    case Decision::Verdict::mismatch:
      return fail(in, Errc::settings_mismatch, mismatch_cause(decision, present_rule()));
    case Decision::Verdict::behind:
      if (!node_.has_usable_number()) return number_unusable(in);
      if (!policy_.wait) return ended;
      predecessors_.set(std::move(decision));
      if (present_rule().shares_count()) predecessors_.add_permit_count();
      return arming;
    case Decision::Verdict::first: break;
  }
  if (node_.at_gate() && node_.has_usable_number()) return moving;
  auto orphans = core::orphans(in.listed->children);
  if (orphans.empty()) return first(in);
  rare_.write().delay_markers.orphans = std::move(orphans);
  predecessors_.set(std::move(decision));
  return delaying;
}

AcquireState AcquireFsm::after_creating_count(Input& in) {
  if (node_.is_deleted()) return node_lost(in, Errc::node_deleted);
  // It may exist already. After "no node" the list shows whether the path was deleted.
  const bool lists = in.status == ok || in.status == node_exists || in.status == no_node;
  return lists ? listing : failed(in);
}

// ---- the watches on the predecessors ------------------------------------------------------------
// Each predecessor is read and watched (arming). If the data or the czxid of one shows that the
// last list is outdated, or if one is deleted meanwhile, the contender lists again. Otherwise it
// waits for an event. If its only predecessor announces its release, that release is a grant.

AcquireState AcquireFsm::after_arming(Input& in) {
  const bool is_outdated = predecessors_.is_list_outdated();
  if (in.status != ok || is_outdated) drop_watches(in);
  if (in.status != ok) return failed(in);
  if (is_outdated) return listing;
  predecessors_.begin_waiting();
  return node_.is_deleted() ? node_lost(in, Errc::node_deleted) : waiting;
}

// ---- first, and the lock delay ------------------------------------------------------------------
// A contender with a lock delay creates its delay marker before it is granted (marking), once for
// each znode. A contender that is first by a list looks for orphaned markers: those of lost
// holders. It waits until each of them has been known for its length (delaying). Then it deletes
// them (clearing) and lists again. core/lock_delay.h explains the markers.
//
// At the gate, markers are ignored: the delay concerns the lock. There is one exception. If its own
// sequence number is unusable, the first contender clears them there too. The path must be deleted
// in that case, and it cannot be deleted while it has children.
//
// A grant without a list overlooks no orphaned marker. A contender that is alone has counted the
// children, and markers are children. A holder that announces its release found no orphaned marker
// at its own grant, and deletes its own marker in the transaction of the release.

/// No contender ahead blocks it.
AcquireState AcquireFsm::first(Input& in) {
  if (!node_.has_usable_number()) return number_unusable(in);
  if (node_.at_gate()) return moving;
  if (!in.lease_valid) return confirming;
  return needs_marker() && !delay_markers().is_own_created ? marking : granted;
}

AcquireState AcquireFsm::after_confirming(Input& in) {
  if (node_.is_deleted()) return node_lost(in, Errc::node_deleted);
  if (in.status != ok) return failed(in);
  if (!in.lease_valid) return pausing;
  return policy_.rule.shares_count() ? listing : first(in);  // the count may have changed meanwhile
}

AcquireState AcquireFsm::after_marking(Input& in) {
  if (node_.is_deleted()) return node_lost(in, Errc::node_deleted);
  // It exists if a reply was lost: no other contender's marker has this token.
  if (in.status != ok && in.status != node_exists) return failed(in);
  rare_.write().delay_markers.is_own_created = true;
  return first(in);
}

AcquireState AcquireFsm::after_clearing(Input& in) {
  if (node_.is_deleted()) return node_lost(in, Errc::node_deleted);
  // Another contender may delete the marker first. "no node" may also mean that its own znode is
  // deleted: the next list shows it.
  if (in.status != ok && in.status != no_node) return failed(in);
  auto& orphans = rare_.write().delay_markers.orphans;
  orphans.pop_back();
  return orphans.empty() ? listing : clearing;
}

// ---- the move from the gate to the queue --------------------------------------------------------
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
// is read before it is deleted. This ends when a list shows that the path is older than it. For
// that reason, a move that was not executed is not repeated, but decided anew by a list.

AcquireState AcquireFsm::after_moving(Input& in) {
  if (in.status == unknown) return proving;
  if (in.status == no_node || in.status == session_ended) return failed(in);
  if (ending_) return ended;
  if (in.status == ok) {
    path_creates_in_row_ = 0;
    return parse_znode_name(node_.name()) ? listing : number_unusable(in);
  }
  if (in.status == node_exists) return draining;
  if (in.status != not_sent && in.status != throttled) return failed(in);
  node_.stay_at_gate();
  state_ = listing;  // a pause returns to it
  return in.status == throttled ? pausing : listing;
}

// ---- the sequence counter -----------------------------------------------------------------------
// If the counter of the lock path is at its end, the path must be deleted. The server does that
// only if the path has no children. So a draining contender has no znode: it lists until the other
// znodes are deleted. A shared permit count outlives the path: one transaction deletes and
// recreates both. If start() learns that the counter was at its end, the contender drains before
// its first create. Otherwise endlessly repeated calls would keep the path alive.
//
// A create is answered "node exists" in two cases. The counter is stuck at its end, or another
// program has made a znode by hand with the next name. A failed create does not raise the counter.
// So in the second case no later create of this prefix succeeds until that znode is deleted, or
// another child is created. The contender fails, and its error names the znode. After a move that
// met such a znode, the contender queues at the gate again: its create there raises the counter.
//
// A create fails with "node exists" only if that znode has the prefix of the contender's own name.
// A znode made by hand ahead of the counter with another prefix of parse_znode_name() is seen by
// lists only. A mutex sends no list if it is first by its sequence number, or if its predecessor is
// the predicted one. Then it can be granted although such a znode is ahead of it. All others wait
// for that znode.

/// A recreated path starts its counter at 0; the tokens go on rising.
AcquireState AcquireFsm::number_unusable(Input& in) {
  if (++path_recreations_ <= kMaxPathRecreations) return removing_path;
  return fail(in, Errc::sequence_exhausted,
              "the sequence counter is still exhausted after " +
                  std::to_string(kMaxPathRecreations) +
                  " attempts to recreate the path; delete the path when no contender waits");
}

AcquireState AcquireFsm::after_removing_path(Input& in) {
  if (ending_) return ended;
  if (in.status == ok || in.status == no_node || in.status == session_ended) return enqueuing;
  return in.status == not_empty || in.status == bad_version ? draining : failed(in);
}

AcquireState AcquireFsm::after_draining(Input& in) {
  if (ending_) return ended;
  if (in.status == no_node || in.status == session_ended) return enqueuing;
  if (in.status != ok) return failed(in);
  const auto children = in.listed->children;
  if (is_usable(in.listed->next_sequence)) {
    const QueueRule& rule = policy_.gate ? *policy_.gate : policy_.rule;
    const std::string next = ZnodeName::make(rule.prefix(), in.listed->next_sequence).text;
    if (std::ranges::find(children, next) == children.end()) return enqueuing;
    return fail(in, Errc::node_exists, taken_cause(next));
  }
  in.recreates_count = children.size() == 1 && children.front() == kCountNode;
  if (children.empty() || in.recreates_count) return removing_path;
  if (std::ranges::any_of(children, ends_by_itself)) return policy_.wait ? pausing : ended;
  // Only a contender that has a znode clears them.
  if (!core::orphans(children).empty()) return enqueuing;
  return fail(in, Errc::sequence_exhausted, exhausted_cause(children));
}

// ---- lost, or failed ----------------------------------------------------------------------------

/// Its own znode was deleted, or its session has ended.
AcquireState AcquireFsm::node_lost(Input& in, Errc error) {
  // It has not held, so it must leave no delay. If the session ended, the marker cannot be deleted.
  if (error == Errc::node_deleted && delay_markers().has_own()) {
    in.effects.push_back(effect(Kind::remove_node, take_delay_marker()));
  }
  node_.forget();
  drop_watches(in);
  if (ending_) return ended;
  if (policy_.queue_again) return enqueuing;
  if (error != Errc::node_deleted || node_.name().empty()) return fail(in, error);
  return fail(in, error,
              "another client deleted the waiting znode " + node_.name() + "; acquire again");
}

/// The request failed. The caller has handled the statuses that mean something else to it.
AcquireState AcquireFsm::failed(Input& in) {
  if (in.status == no_node) return node_lost(in, Errc::node_deleted);
  switch (sort_of(in.status)) {
    case StatusSort::outcome_unknown: return state_;
    case StatusSort::session: return node_lost(in, Errc::session_expired);
    case StatusSort::retry_later: return pausing;
    case StatusSort::unsent: return ended;
    case StatusSort::client_ended:
      return fail(in, error_of(in.status), in.detail);  // the end of the session deletes its znode
    case StatusSort::done:
    case StatusSort::tree_conflict:
    case StatusSort::refused: break;
  }
  const std::string_view cause = cause_of(in.status, in.detail);
  if (!is_searching(state_)) return fail(in, error_of(in.status), cause);
  // The caller gets the error now. The znode may exist, so the search for it goes on.
  report(in, error_of(in.status), cause);
  ending_ = true;
  return pausing;
}

AcquireState AcquireFsm::fail(Input& in, Errc error, std::string_view cause) {
  remove_node(in.effects);
  report(in, error, cause);
  return ended;
}

}  // namespace zklock::core
