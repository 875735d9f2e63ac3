// SPDX-License-Identifier: Apache-2.0
// The ends of the acquire machine without a grant, and the end of the sequence counter.
#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/child_kind.h"
#include "zklock/core/znode_data.h"

namespace zklock::core {

namespace {

/// The states in which it is unknown whether its own znode exists.
bool is_searching(AcquireState state) {
  return state == AcquireState::proving || state == AcquireState::recovering ||
         state == AcquireState::inspecting;
}

constexpr int kMaxUnusableNumbers = 16;

/// Returns whether the child ends with a contender or a session. An orphaned delay marker does not.
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
  const std::string& child = children[first_is_count ? 1 : 0];
  return "the sequence counter of the path is exhausted, and the path cannot be "
         "recreated while it "
         "has the child \"" +
         printable(child, 64) + "\"; delete that child";
}

std::string taken_cause(const std::string& name) {
  return "another program made the znode " + name +
         " with the next sequence number of the path; delete that znode, or create and delete "
         "another child of the path";
}

}  // namespace

// ---- given up, or failed ------------------------------------------------------------------------
// The ends of the acquire machine without a grant: given up, or failed.

AcquireEffects AcquireFsm::withdraw() {
  const InvariantCheck check(*this);
  ending_ = true;
  switch (state_) {
    case AcquireState::idle: return end();
    case AcquireState::enqueuing:
    case AcquireState::moving:
    case AcquireState::making_parents:
    case AcquireState::removing_parent:
    case AcquireState::draining:
    case AcquireState::proving:
    case AcquireState::recovering:
    case AcquireState::inspecting: return {{.kind = Kind::drop_unsent}};
    case AcquireState::arming:
    case AcquireState::waiting: {
      AcquireEffects effects = remove_node();
      effects.insert(effects.begin(), {.kind = Kind::unwatch});
      predecessors_.drop_watches();
      return end(std::move(effects));
    }
    case AcquireState::listing:
    case AcquireState::creating_count:
    case AcquireState::confirming:
    case AcquireState::marking:
    case AcquireState::delaying:
    case AcquireState::clearing: return end(remove_node());
    case AcquireState::pausing:
      return is_searching(paused_in_) ? AcquireEffects{} : end(remove_node());
    case AcquireState::granted:
    case AcquireState::ended: return {};
  }
  return {};
}

void AcquireFsm::on_create_withdrawn() noexcept {
  const InvariantCheck check(*this);
  assert(state_ == AcquireState::enqueuing && ending_);
  state_ = AcquireState::ended;
}

AcquireEffects AcquireFsm::handle_failure(Status status, std::string_view detail) {
  switch (sort_of(status)) {
    case StatusSort::outcome_unknown: return repeat();
    case StatusSort::session: return node_lost(Errc::session_expired);
    case StatusSort::retry_later: return pause();
    case StatusSort::unsent: return end(remove_node());
    case StatusSort::client_ended: return fail(error_of(status), detail);  // the session ends too
    case StatusSort::done:
    case StatusSort::tree_conflict:
    case StatusSort::refused: break;
  }
  const std::string_view cause = cause_of(status, detail);
  if (!is_searching(state_)) return fail(error_of(status), cause);
  // The caller gets the error now. The znode may exist, so the search for it goes on.
  AcquireEffects effects;
  if (!std::exchange(ending_, true)) effects.push_back(failure_effect(error_of(status), cause));
  effects.push_back(pause().front());
  return effects;
}

AcquireEffect AcquireFsm::failure_effect(Errc error, std::string_view cause) {
  return {.kind = Kind::fail, .text = std::string(cause), .error = error};
}

/// Deletes its own znode, if there is one, and its delay marker.
AcquireEffects AcquireFsm::remove_node() {
  AcquireEffects effects;
  const bool has_one = node_.is_created();
  if (has_one && !node_.is_deleted()) {
    effects.push_back(effect(Kind::remove_node, node_.name()));
    effects.back().sibling = take_delay_marker();
    effects.back().reads_first = node_.is_in_doubt();
  } else if (has_one && delay_markers().has_own()) {  // the name may be another znode's by now
    effects.push_back(effect(Kind::remove_node, take_delay_marker()));
  }
  node_.forget();
  return effects;
}

AcquireEffects AcquireFsm::fail(Errc error, std::string_view cause) {
  AcquireEffects effects = remove_node();
  if (!ending_) effects.push_back(failure_effect(error, cause));
  state_ = AcquireState::ended;
  return effects;
}

AcquireEffects AcquireFsm::end(AcquireEffects before) {
  state_ = AcquireState::ended;
  return before;
}

// ---- the sequence counter -----------------------------------------------------------------------
// The lock path's sequence counter in the acquire machine: at its end, or at the sequence number of
// a znode made by hand.
//
// If the counter is at its end, the path must be deleted; the server does that only if the path has
// no children. So a draining contender has no znode: it lists until the other znodes are deleted. A
// shared permit count outlives the path: one transaction deletes and recreates both. If start()
// learns that the counter was at its end, the contender drains before its first create. Otherwise
// endlessly repeated calls would keep the path alive.
//
// A create is answered "node exists" in two cases. The counter is stuck at its end, or another
// program has made a znode by hand with the next name. The counter is the number of children ever
// created below the path; a failed create does not raise it. So in the second case no later create
// of this prefix succeeds until that znode is deleted, or another child is created. The contender
// fails, and its error names the znode. After a move that met such a znode, the contender queues at
// the gate again: its create there raises the counter.
//
// A create meets only a znode with the prefix of the contender's own name. A znode made by hand
// ahead of the counter with another prefix of parse_znode_name() is seen by lists only. A mutex
// sends no list if its predecessor is where it predicted it, or if it is first by its sequence
// number. Then it can be granted although such a znode is ahead of it. A mutex whose predicted
// predecessor does not exist, and every contender of another kind, lists the children and waits for
// that znode.

/// Its own znode has no usable sequence number.
AcquireEffects AcquireFsm::handle_unusable_number() {
  if (++unusable_numbers_ > kMaxUnusableNumbers) {
    return fail(Errc::sequence_exhausted,
                "the sequence counter is still exhausted after " +
                    std::to_string(kMaxUnusableNumbers) +
                    " attempts to recreate the path; delete the path when no contender waits");
  }
  AcquireEffects effects = remove_node();
  std::ranges::move(remove_parent(), std::back_inserter(effects));
  return effects;
}

/// Another child has the name that its own znode should have got.
AcquireEffects AcquireFsm::handle_taken_name() {
  AcquireEffects effects = remove_node();  // in a move: the znode at the gate
  std::ranges::move(drain(), std::back_inserter(effects));
  return effects;
}

/// A recreated path starts its counter at 0; the tokens go on rising.
AcquireEffects AcquireFsm::remove_parent() {
  state_ = AcquireState::removing_parent;
  return {{.kind = Kind::remove_parent}};
}

AcquireEffects AcquireFsm::handle_parent_removed(const DoneAnswer& answer) {
  if (ending_) return end();
  if (answer.status == Status::ok || answer.status == Status::no_node ||
      answer.status == Status::session_ended) {
    return enqueue();
  }
  const bool has_changed =
      answer.status == Status::not_empty || answer.status == Status::bad_version;
  return has_changed ? drain() : handle_failure(answer.status, answer.detail);
}

AcquireEffects AcquireFsm::drain() {
  state_ = AcquireState::draining;
  return {{.kind = Kind::list}};
}

AcquireEffects AcquireFsm::handle_drain_list(const ListedAnswer& answer) {
  if (ending_) return end();
  if (answer.status == Status::no_node || answer.status == Status::session_ended) return enqueue();
  if (answer.status != Status::ok) return handle_failure(answer.status, answer.detail);
  if (is_usable(answer.next_sequence)) {
    const QueueRule& rule = policy_.gate ? *policy_.gate : policy_.rule;
    const std::string next = ZnodeName::make(rule.prefix(), answer.next_sequence).text;
    const bool is_taken = std::ranges::find(answer.children, next) != answer.children.end();
    return is_taken ? fail(Errc::node_exists, taken_cause(next)) : enqueue();
  }
  if (answer.children.empty()) return remove_parent();
  if (answer.children.size() == 1 && answer.children.front() == kCountNode) {
    AcquireEffects effects = remove_parent();
    effects.front().text = kCountNode;
    return effects;
  }
  if (std::ranges::any_of(answer.children, ends_by_itself)) return policy_.wait ? pause() : end();
  // Only a contender that has a znode clears them.
  if (!core::orphans(answer.children).empty()) return enqueue();
  return fail(Errc::sequence_exhausted, exhausted_cause(answer.children));
}

}  // namespace zklock::core
