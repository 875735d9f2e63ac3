// SPDX-License-Identifier: Apache-2.0
// The ends of the acquire machine without a grant: given up, or failed.
#include <cassert>
#include <utility>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

namespace {

/// The states in which it is unknown whether the own znode exists.
bool is_searching(AcquireState state) {
  return state == AcquireState::proving || state == AcquireState::recovering ||
         state == AcquireState::inspecting;
}

}  // namespace

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

/// Deletes the own znode, if there is one, and its delay marker.
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

}  // namespace zklock::core
