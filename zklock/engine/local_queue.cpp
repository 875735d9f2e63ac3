// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/local_queue.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>
#include <vector>

#include "zklock/core/queue_rule.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

LocalQueue::LocalQueue(LockNode& node, core::CohortPolicy policy, Waiters behind)
    : node_(node),
      policy_(policy),
      behind_(std::move(behind)),
      budget_(policy.batch),
      may_listen_(std::ranges::any_of(
          behind_, [](const Waiting& each) { return each.contender->has_listener(); })) {}

void LocalQueue::assert_invariants() const noexcept {
  assert(!ended_ || behind_.empty());
  // Contenders behind an idle lock node wait for a reply.
  assert(!node_.is_idle() || behind_.empty() || budget_.is_counting() ||
         (!arrivals_armed_ && !arrivals_.is_free()));
}

PathLock& LocalQueue::path() const noexcept {
  return node_.path_lock();
}

// ---- contenders arrive and leave ----------------------------------------------------------------

// Behind an idle lock node, earlier contenders wait for the count and must not be overtaken.
bool LocalQueue::accepts(bool waits) const noexcept {
  return !waits || policy_.batch > 1 || node_.is_idle();
}

void LocalQueue::admit(const std::shared_ptr<Contender>& contender, const Caller& caller) {
  assert(accepts(contender->waits()));
  const bool may_be_next = node_.is_idle() && behind_.empty();
  if (!may_be_next && !contender->waits()) return contender->on_ended();
  behind_.push_back({contender, caller});
  may_listen_ |= contender->has_listener();
  if (may_be_next && may_serve_idle()) return serve_idle();
  behind_.back().caller.record_thread_name();
  notify_positions(behind_.size() - 1);
  count_if_due();
}

LocalQueue::Waiting LocalQueue::take_next() {
  Waiting next = std::move(behind_.front());
  behind_.pop_front();
  return next;
}

LocalQueue::Waiters::const_iterator LocalQueue::find(const Contender& contender) const {
  const auto is_its = [&](const Waiting& each) { return each.contender.get() == &contender; };
  if (!behind_.empty() && is_its(behind_.back())) return behind_.end() - 1;
  return std::ranges::find_if(behind_, is_its);
}

bool LocalQueue::leave(const Contender& contender) {
  const auto place = find(contender);
  if (place == behind_.end()) return false;
  notify_positions(static_cast<std::size_t>(behind_.erase(place) - behind_.begin()));
  return true;
}

bool LocalQueue::replace_front() {
  if (behind_.empty()) return false;
  const Waiting next = take_next();
  node_.set_front(next.contender);
  if (position_) next.contender->on_position(*position_);
  notify_positions(0);
  return true;
}

std::size_t LocalQueue::count_ahead_of(const Contender& contender) const {
  const auto place = find(contender);
  return place == behind_.end() ? 0 : static_cast<std::size_t>(place - behind_.begin()) + 1;
}

LocalQueue::Waiters LocalQueue::end() {
  ended_ = true;
  arrivals_armed_ = false;
  arrivals_.disarm(path().context());
  return std::exchange(behind_, {});
}

// ---- grants -------------------------------------------------------------------------------------

std::uint64_t LocalQueue::on_grant() {
  position_ = 0;
  assert(budget_.has_grants_left());
  budget_.on_grant();
  count_if_due();
  return grants_++;
}

bool LocalQueue::on_release() {
  // Without its delay marker the znode would leave no lock delay after a loss. No marker is created
  // again.
  const core::AcquireFsm& machine = node_.machine();
  const bool intact = machine.policy().lock_delay.count() == 0 || machine.delay_markers().has_own();
  if (release_requested_ || !intact) return false;
  if (behind_.empty()) {
    if (!may_idle()) return false;
    become_idle();
    look_for_arrivals();
    return true;
  }
  if (budget_.has_grants_left()) {
    grant_next();
    return true;
  }
  // Waiting for the count is faster than an unnecessary release and create. But if the lock node
  // had a predecessor, that client probably waits again.
  const bool awaits_count =
      budget_.is_counting() && !budget_.others_wait() && !machine.predecessors().has_waited();
  if (awaits_count) become_idle();
  return awaits_count;
}

bool LocalQueue::may_idle() const {
  const bool is_retained = policy_.keep_idle_for.count() > 0 && !budget_.others_wait();
  return is_retained && path().is_used() && !path().anyone_waits();
}

/// Grants the lock node to the first contender behind it. If the lease is not valid, deletes the
/// znode instead.
void LocalQueue::grant_next() {
  const core::Instant now = path().context().scheduler().now();
  if (!node_.lease()->check(now)) {
    behind_.front().caller.record_thread_name();  // admit() has not, and a znode is made for it
    return node_.remove(LockNode::RemovalCause::lapse_without_holder);
  }
  if (node_.is_idle() && arrivals_armed_) budget_.on_watched_grant();
  const Waiting next = take_next();
  node_.set_front(next.contender);
  next.contender->on_granted(now);
}

void LocalQueue::count_if_due() {
  if (!node_.is_held() || behind_.empty() || !budget_.is_count_due()) return;
  // Another program can delete a marker, so a number of children would not say what they are.
  const bool lists = node_.may_have_marker();
  client::Operation operation = client::request::Exists{path().path().str()};
  if (lists) operation = client::request::ListChildren{path().path().str()};
  budget_.on_count_requested();
  path().context().coordinator().submit(
      {.operation = std::move(operation), .session = node_.session()},
      under_lock(node_.weak_from_this(), [this, lists](const client::Reply& reply) {
        on_counted(reply, lists ? core::contenders(reply.children).size()
                                : static_cast<std::size_t>(reply.child_count));
      }));
}

void LocalQueue::on_counted(const client::Reply& reply, std::size_t contenders) {
  if (ended_) return;
  path().knowledge().record_stat(reply);
  budget_.on_counted(reply.status == core::Status::ok && contenders == 1 &&
                     !path().knowledge().counter_has_ended());
  if (!node_.is_idle()) return count_if_due();  // grants were made since the request
  if (behind_.empty()) {
    if (policy_.keep_idle_for.count() == 0) return end_idling();
    return look_for_arrivals();  // a list shows which children are contenders
  }
  if (budget_.others_wait()) return end_idling();
  if (!may_serve_idle()) return look_for_arrivals();
  serve_idle();
}

// ---- idle ---------------------------------------------------------------------------------------

void LocalQueue::become_idle() {
  idle_since_ = path().context().scheduler().now();
  node_.set_front(nullptr);
}

bool LocalQueue::may_serve_idle() const {
  return budget_.has_grants_left() || arrivals_armed_;
}

void LocalQueue::serve_idle() {
  grant_next();
  if (policy_.batch == 1) node_.requeue(std::exchange(behind_, {}));
}

void LocalQueue::end_idling() {
  if (node_.is_idle()) node_.remove(LockNode::RemovalCause::release);
}

void LocalQueue::on_release_requested() {
  release_requested_ = true;
  end_idling();
}

void LocalQueue::on_tick() {
  if (!node_.is_idle() || !behind_.empty()) return;
  const auto idle = path().context().scheduler().now() - idle_since_;
  if (std::chrono::floor<std::chrono::milliseconds>(idle) >= policy_.keep_idle_for) end_idling();
}

// The list shows whether the change was a contender. While the lock node is held, that can wait.
void LocalQueue::look_for_arrivals() {
  if (!arrivals_.is_free()) return;
  arrivals_.watch<client::request::ListAndWatch>(
      node_, path().path().str(), node_.session(),
      [this](const client::Reply& reply) {
        arrivals_armed_ = reply.status == core::Status::ok;
        if (!arrivals_armed_) arrivals_.mark_free();
        on_listed(reply);
      },
      [this](client::request::WatchEvent) {
        arrivals_armed_ = false;
        arrivals_.mark_free();
        if (node_.is_idle()) look_for_arrivals();
      });
}

void LocalQueue::on_listed(const client::Reply& reply) {
  path().knowledge().record_stat(reply);
  const bool ok = reply.status == core::Status::ok;
  const auto queue = ok ? core::contenders(reply.children) : std::vector<core::ZnodeName>{};
  const bool there =
      std::ranges::find(queue, node_.own_name(), &core::ZnodeName::text) != queue.end() &&
      reply.token < node_.machine().node().token();
  if (reply.status == core::Status::no_node || (ok && !there)) return node_.on_own_node_deleted();
  // If the list failed, assume other contenders. At the counter's end they wait without a znode.
  if (!ok || queue.size() > 1 || path().knowledge().counter_has_ended()) {
    budget_.on_others_found();
    return end_idling();
  }
  if (node_.is_idle() && !behind_.empty()) serve_idle();
}

// ---- positions ----------------------------------------------------------------------------------

void LocalQueue::on_position(std::size_t position) {
  position_ = position;
  notify_positions(0);
}

void LocalQueue::notify_positions(std::size_t from) {
  if (!position_ || !(may_listen_ || path().context().logs(LogLevel::debug))) return;
  for (std::size_t i = from; i < behind_.size(); ++i) {
    behind_[i].contender->on_position(*position_ + i + 1);
  }
}

}  // namespace zklock::detail
