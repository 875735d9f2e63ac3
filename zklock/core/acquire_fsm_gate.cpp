// SPDX-License-Identifier: Apache-2.0
// The part of the machine that is about the way from the gate to the queue.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

AcquireEffects AcquireFsm::move() {
  state_ = AcquireState::moving;
  stage_ = Stage::moving;
  ++attempts_;
  return {effect(Kind::move, attempt())};
}

AcquireEffects AcquireFsm::moved(const CreatedAnswer& answer) {
  if (state_ != AcquireState::moving) return {};
  if (answer.status == Status::ok) {
    stage_ = Stage::queue;
    take_node(answer);
    auto elsewhere = not_queued();
    return elsewhere ? *std::move(elsewhere) : list();
  }
  if (answer.status == Status::unknown) return prove();
  if (answer.status == Status::no_node) return node_lost(Errc::node_deleted);
  if (answer.status == Status::session_ended) return node_lost(Errc::session_expired);
  if (giving_up_) return end(remove_node());
  if (answer.status == Status::node_exists) return name_taken();
  return answer_failed(answer.status, answer.detail);
}

/// The create was not carried out. So there is no own node, or only the one at the gate.
AcquireEffects AcquireFsm::not_created() {
  AcquireEffects effects{effect(Kind::not_created, attempt())};
  const auto go_on = [this] {
    if (giving_up_) return end(remove_node());
    if (stage_ != Stage::moving) return enqueue();
    stage_ = Stage::gate;
    return list();
  };
  std::ranges::move(go_on(), std::back_inserter(effects));
  return effects;
}

}  // namespace zklock::core
