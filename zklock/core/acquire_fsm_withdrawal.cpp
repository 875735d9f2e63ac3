// SPDX-License-Identifier: Apache-2.0
// The ends of the acquire machine without a grant: given up, or failed.
#include <string>
#include <utility>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

namespace {

/// The states in which it is unknown whether the own znode exists.
bool looks_for_node(AcquireState state) {
  return state == AcquireState::proving || state == AcquireState::recovering ||
         state == AcquireState::inspecting;
}

}  // namespace

AcquireEffects AcquireFsm::withdraw() {
  giving_up_ = true;
  switch (state_) {
    case AcquireState::idle: return end();
    case AcquireState::enqueuing:
    case AcquireState::moving:
    case AcquireState::making_parents:
    case AcquireState::removing_parent:
    case AcquireState::draining:
    case AcquireState::skipping:
    case AcquireState::proving:
    case AcquireState::recovering:
    case AcquireState::inspecting: return {{.kind = Kind::abandon}};
    case AcquireState::arming:
    case AcquireState::waiting: {
      AcquireEffects effects = remove_node();
      effects.insert(effects.begin(), {.kind = Kind::unwatch});
      return end(std::move(effects));
    }
    case AcquireState::listing:
    case AcquireState::seeding:
    case AcquireState::confirming:
    case AcquireState::marking:
    case AcquireState::delaying:
    case AcquireState::clearing: return end(remove_node());
    case AcquireState::pausing:
      return looks_for_node(paused_in_) ? AcquireEffects{} : end(remove_node());
    case AcquireState::granted:
    case AcquireState::ended: return {};
  }
  return {};
}

AcquireEffects AcquireFsm::answer_failed(Status status, std::string_view detail) {
  switch (sort_of(status)) {
    case StatusSort::doubtful: return repeat();
    case StatusSort::session: return node_lost(Errc::session_expired);
    case StatusSort::later: return pause();
    case StatusSort::unsent: return end(remove_node());
    case StatusSort::over: return fail(error_of(status), detail);  // the session ends too
    case StatusSort::done:
    case StatusSort::tree:
    case StatusSort::refused: break;
  }
  const bool says_enough = !detail.empty() || error_of(status) != Errc::server_error;
  const std::string_view cause = says_enough ? detail : to_string(status);
  if (!looks_for_node(state_)) return fail(error_of(status), cause);
  // The caller gets the error now. The znode may exist, so the search for it goes on.
  AcquireEffects effects;
  if (!std::exchange(giving_up_, true)) effects.push_back(failure(error_of(status), cause));
  effects.push_back(pause().front());
  return effects;
}

AcquireEffect AcquireFsm::failure(Errc error, std::string_view cause) {
  return {.kind = Kind::fail, .text = std::string(cause), .error = error};
}

/// Deletes the own znode, if there is one, and its delay marker.
AcquireEffects AcquireFsm::remove_node() {
  AcquireEffects effects;
  const bool has_one = session_.value != 0;
  if (has_one && !own_deleted_) {
    effects.push_back(effect(Kind::remove_node, own_.text));
    effects.back().sibling = unmark();
  } else if (has_one && leaves_delay()) {  // the name may be another znode's by now
    effects.push_back(effect(Kind::remove_node, unmark()));
  }
  session_ = {};
  return effects;
}

AcquireEffects AcquireFsm::fail(Errc error, std::string_view cause) {
  AcquireEffects effects = remove_node();
  if (!giving_up_) effects.push_back(failure(error, cause));
  state_ = AcquireState::ended;
  return effects;
}

AcquireEffects AcquireFsm::end(AcquireEffects before) {
  state_ = AcquireState::ended;
  return before;
}

}  // namespace zklock::core
