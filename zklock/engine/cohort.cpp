// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/cohort.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "zklock/core/queue_rule.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/lock_node.h"
#include "zklock/engine/path_lock.h"

namespace zklock::detail {

namespace request = client::request;

Cohort::Cohort(PathLock& path_lock, core::AcquireFsm::Policy policy, core::CohortPolicy terms)
    : path_lock_(path_lock), policy_(std::move(policy)), terms_(terms), allowance_(terms.batch) {}

Cohort::~Cohort() = default;

bool Cohort::agrees(const core::AcquireFsm::Policy& policy,
                    const core::CohortPolicy& terms) const noexcept {
  return terms == terms_ && policy.queue_again == policy_.queue_again &&
         policy.lock_delay == policy_.lock_delay && policy.rule == policy_.rule;
}

std::shared_ptr<const LockNode> Cohort::idle_node() const noexcept {
  return state_ == State::idle ? node_ : nullptr;
}

// ---- contenders arrive and leave ----------------------------------------------------------------

void Cohort::begin(const std::shared_ptr<Contender>& who, const Requester& requester) {
  if (state_ == State::idle && waiting_.empty()) {
    // The count, or the list, is still under way.
    if (!may_serve_idle()) return wait_behind(who, requester);
    try {
      if (hand_to(who)) return;
    } catch (...) {  // no memory: the lock node stays idle
      node_->vacate();
      state_ = State::idle;
      throw;
    }
  }
  if (state_ != State::none) {
    who->waits_for(node_);
    if (!who->waits()) return who->attempt_ended();
    // If the lock node is idle, earlier contenders wait for the count and must not be overtaken.
    if (terms_.batch > 1 || state_ == State::idle) return wait_behind(who, requester);
  }
  queue(who, requester);
}

void Cohort::wait_behind(const std::shared_ptr<Contender>& who, const Requester& requester) {
  who->waits_for(node_);
  waiting_.push_back({who, requester});
  notify_position(waiting_.size() - 1);
  ask_if_due();
}

Cohort::Waiting Cohort::take_next() {
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  return next;
}

void Cohort::queue(const std::shared_ptr<Contender>& who, Requester requester) {
  core::AcquireFsm::Policy policy = policy_;
  policy.wait = who->waits();
  policy.lists = who->is_heard();
  policy.counts = !path_lock_.goes_by_number();
  const auto lock_node = std::make_shared<LockNode>(
      path_lock_.shared_from_this(), std::move(requester), std::move(policy), shared_from_this());
  const bool apart = !who->waits() || terms_.batch == 1;
  who->stands_in(lock_node);
  if (!apart) stand(lock_node, State::queued);
  lock_node->start();
}

void Cohort::stand(std::shared_ptr<LockNode> lock_node, State state) {
  node_ = std::move(lock_node);
  state_ = state;
  allowance_ = core::CohortBudget(terms_.batch);
  turns_ = 0;
  asked_for_ = false;
  position_.reset();
}

std::shared_ptr<LockNode> Cohort::forget_node() noexcept {
  state_ = State::none;
  return std::exchange(node_, nullptr);
}

/// Deletes the lock node, which has no holder. So it leaves no lock delay behind.
void Cohort::remove_place(LockNode::Manner manner) {
  node_->cancel_lock_delay();
  node_->remove(manner);
  node_->end_watches();
  forget_node();  // last: if remove() throws, the lock node is not forgotten
}

void Cohort::queue_the_rest() {
  while (!waiting_.empty() && (state_ == State::none || terms_.batch == 1)) {
    Waiting next = take_next();
    queue(next.who, std::move(next.requester));
  }
  for (const Waiting& each : waiting_) each.who->waits_for(node_);
}

bool Cohort::leave(const Contender& who) {
  const auto behind =
      std::ranges::find_if(waiting_, [&](const Waiting& each) { return each.who.get() == &who; });
  if (behind != waiting_.end()) {
    tell_positions(static_cast<std::size_t>(waiting_.erase(behind) - waiting_.begin()));
    return true;
  }
  if (state_ != State::queued || node_->contender().get() != &who) return false;
  if (waiting_.empty()) {
    forget_node();
    return false;
  }
  const Waiting next = take_next();
  next.who->stands_in(node_);
  if (position_) next.who->waits_at(*position_);
  tell_positions(0);
  return true;
}

std::size_t Cohort::before(const Contender& who) const {
  const auto behind =
      std::ranges::find_if(waiting_, [&](const Waiting& each) { return each.who.get() == &who; });
  return behind == waiting_.end() ? 0 : static_cast<std::size_t>(behind - waiting_.begin()) + 1;
}

void Cohort::gone(const LockNode& lock_node) {
  if (!is_shared(lock_node)) return;
  forget_node();
  queue_the_rest();
}

void Cohort::failed(const LockNode& lock_node, Errc error, const std::string& cause) {
  if (!is_shared(lock_node)) return;
  forget_node();
  for (const Waiting& each : std::exchange(waiting_, {})) each.who->refused(error, cause);
}

void Cohort::connection_timed_out(const LockNode& lock_node, const std::string& cause) {
  if (!is_shared(lock_node)) return;
  std::vector<std::shared_ptr<Contender>> behind;  // a copy: a call can change waiting_
  for (const Waiting& each : waiting_) behind.push_back(each.who);
  for (const auto& who : behind) who->connection_timed_out(cause);
}

void Cohort::close() {
  if (const auto lock_node = forget_node()) lock_node->end_watches();
  waiting_.clear();
}

// ---- grants -------------------------------------------------------------------------------------

std::uint64_t Cohort::granted(const std::shared_ptr<LockNode>& lock_node) {
  if (state_ == State::none) stand(lock_node, State::held);
  if (!is_shared(*lock_node)) return 0;
  state_ = State::held;
  position_ = 0;
  allowance_.granted();
  ask_if_due();
  return turns_++;
}

bool Cohort::keeps(const LockNode& lock_node) {
  // Without its delay marker the znode would leave no lock delay after a loss. No marker is created
  // again.
  const bool intact = policy_.lock_delay.count() == 0 || lock_node.leaves_delay();
  if (!is_shared(lock_node) || asked_for_ || !intact) return false;
  if (waiting_.empty()) return goes_idle();
  if (!allowance_.left()) return awaits_answer();
  hand_to_next();
  return true;
}

/// Grants the lock node to `who` and returns true. If the lease is not valid, deletes the lock node
/// and returns false.
bool Cohort::hand_to(const std::shared_ptr<Contender>& who) {
  if (state_ == State::idle && node_->arrivals().armed()) allowance_.nobody_known();
  who->stands_in(node_);
  if (node_->lease_valid()) {
    who->granted();
    return true;
  }
  node_->vacate();
  remove_place(LockNode::Manner::with_care);
  return false;
}

void Cohort::hand_to_next() {
  Waiting next = take_next();
  if (hand_to(next.who)) return;
  waiting_.push_front(std::move(next));
  queue_the_rest();
}

void Cohort::ask_if_due() {
  if (state_ != State::held || waiting_.empty() || !allowance_.worth_asking()) return;
  path_lock_.core().coordinator().submit(
      {.operation = request::CountChildren{path_lock_.path().str()}, .session = node_->session()},
      node_->entering([](LockNode& p, const client::Reply& r) { p.local()->counted(p, r); }));
  allowance_.asks();  // last: if submit() throws, no request is under way
}

void Cohort::counted(const LockNode& lock_node, const client::Reply& reply) {
  if (!is_shared(lock_node)) return;
  path_lock_.path_seen(reply);
  allowance_.answered(reply.status == core::Status::ok && reply.child_count == own_children() &&
                      !path_lock_.counter_has_ended());
  if (state_ != State::idle) return ask_if_due();  // grants were made since the request
  if (waiting_.empty()) {
    if (terms_.keep_idle_for.count() == 0) return end_idling();
    return node_->arrivals().look();  // a list tells contenders from other children
  }
  if (allowance_.others_wait()) return end_idling();
  if (!may_serve_idle()) return node_->arrivals().look();
  serve_idle();
}

std::int32_t Cohort::own_children() const {
  return node_->leaves_delay() ? 2 : 1;
}

void Cohort::on_release_requested(const LockNode& lock_node) {
  if (!is_shared(lock_node)) return;
  asked_for_ = true;
  end_idling();
}

// ---- idle ---------------------------------------------------------------------------------------

bool Cohort::goes_idle() {
  const bool is_kept = terms_.keep_idle_for.count() > 0 && !allowance_.others_wait();
  if (!is_kept || !path_lock_.is_used() || path_lock_.anyone_waits()) return false;
  become_idle();
  node_->arrivals().look();
  return true;
}

/// If the count is under way, the lock node becomes idle until it arrives, and true is returned.
/// That is faster than a release and a new znode that prove unnecessary. But if the lock node had
/// to wait for a predecessor, that client probably waits again: returns false.
bool Cohort::awaits_answer() {
  if (!allowance_.asking() || allowance_.others_wait() || node_->waited()) return false;
  become_idle();
  return true;
}

void Cohort::become_idle() {
  state_ = State::idle;
  idle_since_ = path_lock_.core().scheduler().now();
  node_->vacate();
}

bool Cohort::may_serve_idle() const {
  return allowance_.left() || node_->arrivals().armed();
}

void Cohort::serve_idle() {
  hand_to_next();
  if (terms_.batch == 1) queue_the_rest();
}

void Cohort::end_idling() {
  if (state_ != State::idle) return;
  remove_place(LockNode::Manner::release);
  queue_the_rest();
}

void Cohort::lapsed(const LockNode& lock_node) {
  if (!is_idle(lock_node)) return;
  remove_place(LockNode::Manner::with_care);
  queue_the_rest();
}

void Cohort::node_gone(const LockNode& lock_node) {
  if (!is_idle(lock_node)) return;
  const auto left = forget_node();
  left->cancel_lock_delay();
  left->remove_unwanted_delay_marker();
  left->end_watches();
  queue_the_rest();
}

void Cohort::on_path_recreated() {
  if (const auto lock_node = state_ == State::idle ? node_ : nullptr)
    lock_node->on_path_recreated();
}

void Cohort::tick(const LockNode& lock_node) {
  if (!is_idle(lock_node) || !waiting_.empty()) return;
  const auto idle = path_lock_.core().scheduler().now() - idle_since_;
  if (std::chrono::floor<std::chrono::milliseconds>(idle) >= terms_.keep_idle_for) end_idling();
}

// The list shows whether the change was a contender. While the lock node is held, that can wait.
void Cohort::somebody_came(const LockNode& lock_node) {
  if (is_idle(lock_node)) node_->arrivals().look();
}

void Cohort::listed(const LockNode& lock_node, const client::Reply& reply) {
  if (!is_shared(lock_node)) return;
  path_lock_.path_seen(reply);
  const bool ok = reply.status == core::Status::ok;
  const auto queue = ok ? core::contenders(reply.children) : std::vector<core::ZnodeName>{};
  const bool there =
      std::ranges::find(queue, lock_node.own_name(), &core::ZnodeName::text) != queue.end() &&
      reply.token < lock_node.token();
  if (reply.status == core::Status::no_node || (ok && !there)) return node_->on_own_node_deleted();
  // Contenders that cannot be seen may be there. At the counter's end they wait without a znode.
  if (!ok || queue.size() > 1 || path_lock_.counter_has_ended()) {
    allowance_.others_found();
    return end_idling();
  }
  if (state_ == State::idle && !waiting_.empty()) serve_idle();
}

// ---- positions ----------------------------------------------------------------------------------

void Cohort::stands_at(const LockNode& lock_node, std::size_t position) {
  if (!is_shared(lock_node)) return;
  position_ = position;
  tell_positions(0);
}

void Cohort::notify_position(std::size_t index) {
  if (position_) waiting_[index].who->waits_at(*position_ + index + 1);
}

void Cohort::tell_positions(std::size_t from) {
  for (std::size_t i = from; i < waiting_.size(); ++i) notify_position(i);
}

}  // namespace zklock::detail
