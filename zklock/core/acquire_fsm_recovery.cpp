// SPDX-License-Identifier: Apache-2.0
// The search for a lost znode, in the acquire machine.
//
// If the reply to a create or move is lost, the contender does not know whether its znode exists.
// An operation through the quorum comes first (proving). A list after it shows all earlier writes
// of the session (recovering). The znode whose data has the contender's attempt, and whose owner
// is the session of the create, is its own (inspecting).
#include <algorithm>
#include <iterator>
#include <utility>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/znode_data.h"

namespace zklock::core {

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
  // A znode of an older session will be deleted with that: it is never the own one.
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

}  // namespace zklock::core
