// SPDX-License-Identifier: Apache-2.0
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
#include <utility>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

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

}  // namespace zklock::core
