// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/cohort.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>
#include <vector>

#include "zklock/core/queue_rule.h"

namespace zklock::detail {

Cohort::Cohort(PathQueue& path, core::AcquireFsm::Policy policy, core::CohortPolicy cohort_policy)
    : path_(path),
      policy_(std::move(policy)),
      cohort_policy_(cohort_policy),
      arrivals_(path),
      budget_(cohort_policy.batch) {}

bool Cohort::agrees(const core::AcquireFsm::Policy& policy,
                    const core::CohortPolicy& cohort_policy) const noexcept {
  return cohort_policy == cohort_policy_ && policy.queue_again == policy_.queue_again &&
         policy.lock_delay == policy_.lock_delay && policy.rule == policy_.rule;
}

std::shared_ptr<const LockNode> Cohort::idle_node() const noexcept {
  return state_ == State::idle ? node_ : nullptr;
}

void Cohort::assert_invariants() const noexcept {
  assert((state_ == State::none) == !node_ && (node_ || waiting_.empty()));
  assert(member_.expired() == (state_ == State::none || state_ == State::idle));
  // An idle lock node is granted to the contenders behind it when a reply arrives.
  assert(state_ != State::idle || waiting_.empty() || budget_.is_counting() ||
         arrivals_.is_requesting());
}

// ---- contenders arrive and leave ----------------------------------------------------------------

void Cohort::begin(const std::shared_ptr<CohortMember>& member, const Caller& caller) {
  assert_invariants();
  if (state_ == State::idle && waiting_.empty()) {
    // The count, or the list, is still under way.
    if (!may_serve_idle()) return wait_behind(member, caller);
    try {
      if (hand_to(member)) return;
    } catch (...) {  // no memory: the lock node stays idle
      member_.reset();
      state_ = State::idle;
      throw;
    }
  }
  if (state_ != State::none) {
    member->set_lock_node(node_);
    if (!member->waits()) return member->on_ended();
    // If the lock node is idle, earlier contenders wait for the count and must not be overtaken.
    if (cohort_policy_.batch > 1 || state_ == State::idle) return wait_behind(member, caller);
  }
  queue(member, caller);
}

void Cohort::wait_behind(const std::shared_ptr<CohortMember>& member, const Caller& caller) {
  member->set_lock_node(node_);
  waiting_.push_back({member, caller});
  notify_position(waiting_.size() - 1);
  count_if_due();
}

Cohort::Waiting Cohort::take_next() {
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  return next;
}

void Cohort::queue(const std::shared_ptr<CohortMember>& member, Caller caller) {
  core::AcquireFsm::Policy policy = policy_;
  policy.wait = member->waits();
  policy.always_list = member->has_listener();
  policy.count_children = !path_.omits_count();
  const auto lock_node =
      std::make_shared<LockNode>(std::static_pointer_cast<PathQueue>(path_.shared_from_this()),
                                 std::move(caller), std::move(policy));
  const bool has_own_node = !member->waits() || cohort_policy_.batch == 1;
  member->set_lock_node(lock_node);
  lock_node->set_observer(member);
  if (!has_own_node) set_node(lock_node, member, State::queued);
  lock_node->start();
}

void Cohort::set_node(std::shared_ptr<LockNode> lock_node,
                      const std::shared_ptr<CohortMember>& member, State state) {
  node_ = std::move(lock_node);
  node_->set_observer(std::shared_ptr<LockNodeObserver>(shared_from_this(), this));
  member_ = member;
  state_ = state;
  budget_ = core::CohortBudget(cohort_policy_.batch);
  grants_ = 0;
  release_requested_ = false;
  position_.reset();
}

/// From now on, the lock node is that of the contender in it.
std::shared_ptr<LockNode> Cohort::forget_node() {
  state_ = State::none;
  epoch_.end();
  arrivals_.end();
  if (node_) node_->set_observer(std::exchange(member_, {}));
  return std::exchange(node_, nullptr);
}

/// Deletes the lock node, which has no holder. So it leaves no lock delay behind.
void Cohort::delete_node(LockNode::RemovalCause cause) {
  node_->remove(cause);
  forget_node();  // last: if remove() throws, the lock node is not forgotten
}

void Cohort::queue_waiting() {
  while (!waiting_.empty() && (state_ == State::none || cohort_policy_.batch == 1)) {
    Waiting next = take_next();
    queue(next.member, std::move(next.caller));
  }
  for (const Waiting& each : waiting_) each.member->set_lock_node(node_);
}

std::deque<Cohort::Waiting>::const_iterator Cohort::find(const CohortMember& member) const {
  const auto is_its = [&](const Waiting& each) { return each.member.get() == &member; };
  if (!waiting_.empty() && is_its(waiting_.back())) return waiting_.end() - 1;
  return std::ranges::find_if(waiting_, is_its);
}

bool Cohort::leave(const CohortMember& member) {
  if (const auto behind = find(member); behind != waiting_.end()) {
    notify_positions(static_cast<std::size_t>(waiting_.erase(behind) - waiting_.begin()));
    return true;
  }
  if (state_ != State::queued || member_.lock().get() != &member) return false;
  if (waiting_.empty()) {
    forget_node();
    return false;
  }
  const Waiting next = take_next();
  next.member->set_lock_node(node_);
  member_ = next.member;
  if (position_) next.member->on_position(*position_);
  notify_positions(0);
  return true;
}

std::size_t Cohort::members_ahead(const CohortMember& member) const {
  const auto behind = find(member);
  return behind == waiting_.end() ? 0 : static_cast<std::size_t>(behind - waiting_.begin()) + 1;
}

void Cohort::on_node_removed(const LockNode& lock_node) {
  if (!is_shared(lock_node)) return;
  forget_node();
  queue_waiting();
}

void Cohort::close() {
  if (const auto lock_node = forget_node()) lock_node->end_watches();
  waiting_.clear();
}

// ---- events of the shared lock node -------------------------------------------------------------

void Cohort::on_granted(core::Instant now) {
  if (const auto member = member_.lock()) member->on_granted(now);
}

void Cohort::on_failed(Errc error, const std::string& cause) {
  const auto member = member_.lock();
  forget_node();
  const auto behind = std::exchange(waiting_, {});
  if (member) member->on_failed(error, cause);
  for (const Waiting& each : behind) each.member->on_cohort_failed(error, cause);
}

void Cohort::on_ended() {
  const auto member = member_.lock();
  forget_node();
  queue_waiting();
  if (member) member->on_ended();
}

void Cohort::on_lost(LossReason why) {
  if (const auto member = member_.lock()) return member->on_lost(why);
  if (state_ != State::idle) return;
  delete_node(why == LossReason::lease_expired ? LockNode::RemovalCause::idle_lapse
                                               : LockNode::RemovalCause::already_deleted);
  queue_waiting();
}

void Cohort::on_suspended() {
  if (const auto member = member_.lock()) member->on_suspended();
}

void Cohort::on_resumed() {
  if (const auto member = member_.lock()) member->on_resumed();
}

void Cohort::on_release_requested(bool force) {
  const auto node = node_;
  if (const auto member = member_.lock()) member->on_release_requested(force);
  if (node_ != node) return;  // the hold has ended
  release_requested_ = true;
  end_idling();
}

void Cohort::on_unreachable(const std::string& cause) {
  std::vector<std::shared_ptr<CohortMember>> members;  // a copy: a call can change waiting_
  for (const Waiting& each : waiting_) members.push_back(each.member);
  if (auto member = member_.lock()) members.push_back(std::move(member));
  for (const auto& member : members) member->on_unreachable(cause);
}

void Cohort::on_tick() {
  if (state_ != State::idle || !waiting_.empty()) return;
  const auto idle = path_.core().scheduler().now() - idle_since_;
  if (std::chrono::floor<std::chrono::milliseconds>(idle) >= cohort_policy_.keep_idle_for)
    end_idling();
}

void Cohort::on_path_recreated() {
  if (const auto lock_node = state_ == State::idle ? node_ : nullptr)
    lock_node->on_path_recreated();
}

// ---- grants -------------------------------------------------------------------------------------

std::uint64_t Cohort::record_grant(const std::shared_ptr<LockNode>& lock_node,
                                   const std::shared_ptr<CohortMember>& member) {
  if (state_ == State::none) set_node(lock_node, member, State::held);
  if (!is_shared(*lock_node)) return 0;
  state_ = State::held;
  position_ = 0;
  assert(budget_.has_grants_left());
  budget_.on_grant();
  count_if_due();
  assert_invariants();
  return grants_++;
}

std::optional<ReleasePlan> Cohort::decide_release(const LockNode& lock_node) const {
  // Without its delay marker the znode would leave no lock delay after a loss. No marker is created
  // again.
  const bool intact =
      policy_.lock_delay.count() == 0 || lock_node.machine().delay_markers().has_own();
  if (!is_shared(lock_node) || release_requested_ || !intact) return std::nullopt;
  if (waiting_.empty()) return may_idle() ? std::optional(ReleasePlan::retain) : std::nullopt;
  if (budget_.has_grants_left()) return ReleasePlan::hand_off;
  // To wait for the count is faster than a release and a new znode that prove unnecessary. But if
  // the lock node had to wait for a predecessor, that client probably waits again.
  const bool awaits = budget_.is_counting() && !budget_.others_wait() &&
                      !lock_node.machine().predecessors().were_awaited();
  return awaits ? std::optional(ReleasePlan::await_count) : std::nullopt;
}

bool Cohort::may_idle() const {
  const bool is_retained = cohort_policy_.keep_idle_for.count() > 0 && !budget_.others_wait();
  return is_retained && path_.is_used() && !path_.anyone_waits();
}

void Cohort::execute(ReleasePlan plan) {
  switch (plan) {
    case ReleasePlan::hand_off: return hand_to_next();
    case ReleasePlan::retain: become_idle(); return look_for_arrivals();
    case ReleasePlan::await_count: return become_idle();
    case ReleasePlan::none:
    case ReleasePlan::to_successor:
    case ReleasePlan::remove:
    case ReleasePlan::remove_unfinished: return;  // carried out by the contender
  }
}

/// Grants the lock node to `member` and returns true. If the lease is not valid, deletes the lock
/// node and returns false.
bool Cohort::hand_to(const std::shared_ptr<CohortMember>& member) {
  if (state_ == State::idle && arrivals_.armed()) budget_.on_watched_grant();
  member->set_lock_node(node_);
  const core::Instant now = path_.core().scheduler().now();
  if (node_->lease()->check(now)) {
    member_ = member;
    member->on_granted(now);
    return true;
  }
  member_.reset();
  delete_node(LockNode::RemovalCause::idle_lapse);
  return false;
}

void Cohort::hand_to_next() {
  Waiting next = take_next();
  if (hand_to(next.member)) return;
  waiting_.push_front(std::move(next));
  queue_waiting();
}

void Cohort::count_if_due() {
  if (state_ != State::held || waiting_.empty() || !budget_.is_count_due()) return;
  // Another program can delete a marker, so a number of children would not say what they are.
  const bool lists = node_->may_have_marker();
  client::Operation operation = client::request::CountChildren{path_.path().str()};
  if (lists) operation = client::request::ListChildren{path_.path().str()};
  path_.core().coordinator().submit(
      {.operation = std::move(operation), .session = node_->machine().node().session()},
      under_lock(
          weak_from_this(), path_,
          epoch_.guard([this, lists](const client::Reply& reply) ZKLOCK_REQUIRES(path_mutex) {
            on_counted(reply, lists ? core::contenders(reply.children).size()
                                    : static_cast<std::size_t>(reply.child_count));
          })));
  budget_.on_count_requested();  // last: if submit() throws, no request is under way
}

void Cohort::on_counted(const client::Reply& reply, std::size_t contenders) {
  path_.record_stat(reply);
  budget_.on_counted(reply.status == core::Status::ok && contenders == 1 &&
                     !path_.counter_has_ended());
  if (state_ != State::idle) return count_if_due();  // grants were made since the request
  if (waiting_.empty()) {
    if (cohort_policy_.keep_idle_for.count() == 0) return end_idling();
    return look_for_arrivals();  // a list shows which children are contenders
  }
  if (budget_.others_wait()) return end_idling();
  if (!may_serve_idle()) return look_for_arrivals();
  serve_idle();
}

// ---- idle ---------------------------------------------------------------------------------------

void Cohort::become_idle() {
  state_ = State::idle;
  idle_since_ = path_.core().scheduler().now();
  member_.reset();
}

bool Cohort::may_serve_idle() const {
  return budget_.has_grants_left() || arrivals_.armed();
}

void Cohort::serve_idle() {
  hand_to_next();
  if (cohort_policy_.batch == 1) queue_waiting();
}

void Cohort::end_idling() {
  if (state_ != State::idle) return;
  delete_node(LockNode::RemovalCause::release);
  queue_waiting();
}

void Cohort::look_for_arrivals() {
  arrivals_.look(weak_from_this(), node_->machine().node().session(),
                 {.listed = [this](const client::Reply& reply)
                                ZKLOCK_REQUIRES(path_mutex) { on_listed(reply); },
                  .arrived = [this]() ZKLOCK_REQUIRES(path_mutex) { on_arrival(); }});
}

// The list shows whether the change was a contender. While the lock node is held, that can wait.
void Cohort::on_arrival() {
  if (state_ == State::idle) look_for_arrivals();
}

void Cohort::on_listed(const client::Reply& reply) {
  path_.record_stat(reply);
  const bool ok = reply.status == core::Status::ok;
  const auto queue = ok ? core::contenders(reply.children) : std::vector<core::ZnodeName>{};
  const bool there =
      std::ranges::find(queue, node_->own_name(), &core::ZnodeName::text) != queue.end() &&
      reply.token < node_->machine().node().token();
  if (reply.status == core::Status::no_node || (ok && !there)) return node_->on_own_node_deleted();
  // Contenders that cannot be seen may be there. At the counter's end they wait without a znode.
  if (!ok || queue.size() > 1 || path_.counter_has_ended()) {
    budget_.on_others_found();
    return end_idling();
  }
  if (state_ == State::idle && !waiting_.empty()) serve_idle();
}

// ---- positions ----------------------------------------------------------------------------------

void Cohort::on_position(std::size_t position) {
  position_ = position;
  if (const auto member = member_.lock()) member->on_position(position);
  notify_positions(0);
}

void Cohort::notify_position(std::size_t index) {
  if (position_) waiting_[index].member->on_position(*position_ + index + 1);
}

void Cohort::notify_positions(std::size_t from) {
  for (std::size_t i = from; position_ && i < waiting_.size(); ++i) notify_position(i);
}

}  // namespace zklock::detail
