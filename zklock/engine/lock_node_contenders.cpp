// SPDX-License-Identifier: Apache-2.0
// The contenders of a lock node: its local queue, and the reports to them.
#include <cassert>
#include <utility>
#include <vector>

#include "zklock/engine/contender.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

bool LockNode::agrees(const core::AcquireFsm::Policy& policy,
                      const core::CohortPolicy& cohort_policy) const noexcept {
  const core::AcquireFsm::Policy& own = fsm_.policy();
  return cohort_policy == cohort_policy_ && policy.queue_again == own.queue_again &&
         policy.lock_delay == own.lock_delay && policy.rule == own.rule;
}

std::shared_ptr<LockNode> LockNode::find_shared(const PathLock& path,
                                                const core::AcquireFsm::Policy& policy,
                                                const core::CohortPolicy& cohort_policy) {
  for (const auto& node : path.shared_nodes()) {
    if (node->agrees(policy, cohort_policy)) return node;
  }
  return nullptr;
}

void LockNode::set_front(const std::shared_ptr<Contender>& contender) noexcept {
  front_ = contender;
}

void LockNode::begin_local_queue(LocalQueue::Waiters behind) {
  local_queue_ = std::make_unique<LocalQueue>(*this, cohort_policy_, std::move(behind));
  path_->add_shared_node(shared_from_this());
}

LocalQueue::Waiters LockNode::end_local_queue() {
  assert(local_queue() != nullptr);
  path_->remove_shared_node(*this);
  return local_queue_->end();
}

void LockNode::admit(const std::shared_ptr<Contender>& contender, const Caller& caller) {
  path_->assert_held();
  const auto self = shared_from_this();  // the contender may get another lock node
  if (local_queue() != nullptr) return local_queue()->admit(contender, caller);
  start(contender, nullptr);
}

void LockNode::start(const std::shared_ptr<Contender>& first, LocalQueue::Waiters* behind) {
  set_front(first);
  if (cohort_policy_.batch > 1 && first->waits()) {
    begin_local_queue(behind != nullptr ? std::exchange(*behind, {}) : LocalQueue::Waiters{});
    for (const LocalQueue::Waiting& each : local_queue_->behind()) {
      each.contender->set_lock_node(shared_from_this());
    }
  }
  context().keeper().enlist(*this);
  run(fsm_.start(path_->knowledge().counter_has_ended()));
}

void LockNode::requeue(LocalQueue::Waiters waiters) {
  while (!waiters.empty()) {
    const auto [first, caller] = std::move(waiters.front());
    waiters.pop_front();
    core::AcquireFsm::Policy policy = fsm_.policy();
    policy.wait = first->waits();
    policy.always_list = first->has_listener();
    policy.count_children = !path_->omits_count();
    const auto node = std::make_shared<LockNode>(path_, caller, std::move(policy), cohort_policy_);
    first->set_lock_node(node);
    node->start(first, &waiters);
  }
}

void LockNode::leave(const Contender& contender) {
  path_->assert_held();
  const auto self = shared_from_this();  // the path may have had the last reference
  if (local_queue() != nullptr) {
    if (local_queue()->leave(contender) || local_queue()->replace_front()) return;
    end_local_queue();  // no other contender is behind
  }
  core::AcquireEffects effects = fsm_.withdraw();
  abandon();
  run(std::move(effects));
}

void LockNode::abandon() {
  front_.reset();
  if (!fsm_.has_ended()) work_ = context().work().begin();
}

void LockNode::close() {
  const auto self = shared_from_this();  // the path may have had the last reference
  if (local_queue() != nullptr) end_local_queue();
  front_.reset();
  end_watches();
}

// There is a contender: update_lease() is false without one.
void LockNode::grant() {
  holding_ = std::make_unique<Holding>(*this);
  holding_->since = context().scheduler().now();
  context().keeper().hold_began();
  path_->knowledge().record_grant(fsm_.predecessors().has_waited());
  front()->on_granted(holding_->since);
  if (may_feed_sequence_hint())
    path_->sequence_hint().on_granted(fsm_.node().sequence(), holding_->since);
}

std::uint64_t LockNode::count_grant() {
  const bool begins = !local_queue_ && cohort_policy_.shares() &&
                      !find_shared(*path_, fsm_.policy(), cohort_policy_);
  if (begins) begin_local_queue({});
  return local_queue() != nullptr ? local_queue()->on_grant() : 0;
}

void LockNode::fail(Errc error, const std::string& cause) {
  const auto failed = front();
  const LocalQueue::Waiters behind =
      local_queue() != nullptr ? end_local_queue() : LocalQueue::Waiters{};
  if (failed) failed->on_failed(error, cause);
  for (const LocalQueue::Waiting& each : behind) each.contender->on_failed(error, cause);
  if (failed && !fsm_.has_ended()) abandon();
}

// The machine has ended without a grant: its znode is deleted or being deleted.
void LockNode::machine_ended() {
  end_watches();
  const auto work = std::exchange(work_, {});
  if (work != BackgroundWork::Id{}) context().work().end(work);
  const auto ended = std::exchange(front_, {}).lock();
  requeue_behind();
  if (ended) ended->on_ended();
}

void LockNode::notify_position() {
  const core::AcquireState state = fsm_.state();
  const bool waits = state == core::AcquireState::arming || state == core::AcquireState::waiting ||
                     (state == core::AcquireState::delaying && fsm_.policy().wait);
  if (!waits) return;
  const std::size_t position = fsm_.predecessors().position();
  if (const auto first = front()) first->on_position(position);
  if (local_queue() != nullptr) local_queue()->on_position(position);
}

void LockNode::notify_unreachable(const std::string& cause) {
  std::vector<std::shared_ptr<Contender>> all;  // a copy: a contender that gives up leaves
  if (local_queue() != nullptr) {
    for (const LocalQueue::Waiting& each : local_queue()->behind()) all.push_back(each.contender);
  }
  if (auto first = front()) all.push_back(std::move(first));
  for (const auto& each : all) each->on_unreachable(cause);
}

}  // namespace zklock::detail
