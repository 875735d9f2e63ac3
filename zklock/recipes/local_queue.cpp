// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/local_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "zklock/core/queue.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/lock_engine.h"
#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;

LocalQueue::LocalQueue(LockEngine& engine, core::AcquireFsm::Policy policy, core::LocalTerms terms)
    : engine_(engine), policy_(std::move(policy)), terms_(terms), allowance_(terms.batch) {}

LocalQueue::~LocalQueue() = default;

bool LocalQueue::agrees(const core::AcquireFsm::Policy& policy,
                        const core::LocalTerms& terms) const noexcept {
  return terms == terms_ && policy.queue_again == policy_.queue_again &&
         policy.lock_delay == policy_.lock_delay && policy.rule == policy_.rule;
}

std::shared_ptr<const Place> LocalQueue::idle_place() const noexcept {
  return state_ == State::idle ? place_ : nullptr;
}

// ---- contenders arrive and leave ----------------------------------------------------------------

void LocalQueue::begin(const std::shared_ptr<Contender>& who, const Requester& requester) {
  if (state_ == State::idle && waiting_.empty()) {
    // The count, or the list, is still under way.
    if (!may_serve_idle()) return wait_behind(who, requester);
    try {
      if (hand_to(who)) return;
    } catch (...) {  // no memory: the place stays idle
      place_->vacate();
      state_ = State::idle;
      throw;
    }
  }
  if (state_ != State::none) {
    who->waits_for(place_);
    if (!who->waits()) return who->attempt_ended();
    // If the place is idle, earlier contenders wait for the count and must not be overtaken.
    if (terms_.batch > 1 || state_ == State::idle) return wait_behind(who, requester);
  }
  queue(who, requester);
}

void LocalQueue::wait_behind(const std::shared_ptr<Contender>& who, const Requester& requester) {
  who->waits_for(place_);
  waiting_.push_back({who, requester});
  tell_position(waiting_.size() - 1);
  ask_if_due();
}

LocalQueue::Waiting LocalQueue::take_next() {
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  return next;
}

void LocalQueue::queue(const std::shared_ptr<Contender>& who, Requester requester) {
  core::AcquireFsm::Policy policy = policy_;
  policy.wait = who->waits();
  policy.lists = who->is_heard();
  policy.counts = !engine_.goes_by_number();
  const auto place = std::make_shared<Place>(engine_.shared_from_this(), std::move(requester),
                                             std::move(policy), shared_from_this());
  const bool apart = !who->waits() || terms_.batch == 1;
  who->stands_in(place);
  if (!apart) stand(place, State::queued);
  place->start();
}

void LocalQueue::stand(std::shared_ptr<Place> place, State state) {
  place_ = std::move(place);
  state_ = state;
  allowance_ = core::LocalAllowance(terms_.batch);
  turns_ = 0;
  asked_for_ = false;
  position_.reset();
}

std::shared_ptr<Place> LocalQueue::forget_place() noexcept {
  state_ = State::none;
  return std::exchange(place_, nullptr);
}

/// Deletes the place, which has no holder. So it leaves no lock delay behind.
void LocalQueue::remove_place(Place::Manner manner) {
  place_->leave_no_delay();
  place_->remove(manner);
  place_->leave_session();
  forget_place();  // last: if remove() throws, the place is not forgotten
}

void LocalQueue::queue_the_rest() {
  while (!waiting_.empty() && (state_ == State::none || terms_.batch == 1)) {
    Waiting next = take_next();
    queue(next.who, std::move(next.requester));
  }
  for (const Waiting& each : waiting_) each.who->waits_for(place_);
}

bool LocalQueue::leave(const Contender& who) {
  const auto behind =
      std::ranges::find_if(waiting_, [&](const Waiting& each) { return each.who.get() == &who; });
  if (behind != waiting_.end()) {
    tell_positions(static_cast<std::size_t>(waiting_.erase(behind) - waiting_.begin()));
    return true;
  }
  if (state_ != State::queued || place_->contender().get() != &who) return false;
  if (waiting_.empty()) {
    forget_place();
    return false;
  }
  const Waiting next = take_next();
  next.who->stands_in(place_);
  if (position_) next.who->waits_at(*position_);
  tell_positions(0);
  return true;
}

std::size_t LocalQueue::before(const Contender& who) const {
  const auto behind =
      std::ranges::find_if(waiting_, [&](const Waiting& each) { return each.who.get() == &who; });
  return behind == waiting_.end() ? 0 : static_cast<std::size_t>(behind - waiting_.begin()) + 1;
}

void LocalQueue::gone(const Place& place) {
  if (!is_shared(place)) return;
  forget_place();
  queue_the_rest();
}

void LocalQueue::failed(const Place& place, Errc error, const std::string& cause) {
  if (!is_shared(place)) return;
  forget_place();
  for (const Waiting& each : std::exchange(waiting_, {})) each.who->refused(error, cause);
}

void LocalQueue::connection_timed_out(const Place& place, const std::string& cause) {
  if (!is_shared(place)) return;
  std::vector<std::shared_ptr<Contender>> behind;  // a copy: a call can change waiting_
  for (const Waiting& each : waiting_) behind.push_back(each.who);
  for (const auto& who : behind) who->connection_timed_out(cause);
}

void LocalQueue::close() {
  if (const auto place = forget_place()) place->leave_session();
  waiting_.clear();
}

// ---- grants -------------------------------------------------------------------------------------

std::uint64_t LocalQueue::granted(const std::shared_ptr<Place>& place) {
  if (state_ == State::none) stand(place, State::held);
  if (!is_shared(*place)) return 0;
  state_ = State::held;
  position_ = 0;
  allowance_.granted();
  ask_if_due();
  return turns_++;
}

bool LocalQueue::keeps(const Place& place) {
  // Without its delay marker the znode would leave no lock delay after a loss. No marker is created
  // again.
  const bool intact = policy_.lock_delay.count() == 0 || place.leaves_delay();
  if (!is_shared(place) || asked_for_ || !intact) return false;
  if (waiting_.empty()) return goes_idle();
  if (!allowance_.left()) return awaits_answer();
  hand_to_next();
  return true;
}

/// Grants the place to `who` and returns true. If the lease is not valid, deletes the place and
/// returns false.
bool LocalQueue::hand_to(const std::shared_ptr<Contender>& who) {
  if (state_ == State::idle && place_->arrivals().armed()) allowance_.nobody_known();
  who->stands_in(place_);
  if (place_->lease_valid()) {
    who->granted();
    return true;
  }
  place_->vacate();
  remove_place(Place::Manner::with_care);
  return false;
}

void LocalQueue::hand_to_next() {
  Waiting next = take_next();
  if (hand_to(next.who)) return;
  waiting_.push_front(std::move(next));
  queue_the_rest();
}

void LocalQueue::ask_if_due() {
  if (state_ != State::held || waiting_.empty() || !allowance_.worth_asking()) return;
  engine_.core().coordinator().submit(
      {.operation = request::CountChildren{engine_.path().str()}, .session = place_->session()},
      place_->entering([](Place& p, const client::Reply& r) { p.local()->counted(p, r); }));
  allowance_.asks();  // last: if submit() throws, no request is under way
}

void LocalQueue::counted(const Place& place, const client::Reply& reply) {
  if (!is_shared(place)) return;
  engine_.path_seen(reply);
  allowance_.answered(reply.status == core::Status::ok && reply.child_count == own_children() &&
                      !engine_.counter_has_ended());
  if (state_ != State::idle) return ask_if_due();  // grants were made since the request
  if (waiting_.empty()) {
    if (terms_.keep_idle.count() == 0) return end_idling();
    return place_->arrivals().look();  // a list tells contenders from other children
  }
  if (allowance_.others_wait()) return end_idling();
  if (!may_serve_idle()) return place_->arrivals().look();
  serve_idle();
}

std::int32_t LocalQueue::own_children() const {
  return place_->leaves_delay() ? 2 : 1;
}

void LocalQueue::asked_to_release(const Place& place) {
  if (!is_shared(place)) return;
  asked_for_ = true;
  end_idling();
}

// ---- idle ---------------------------------------------------------------------------------------

bool LocalQueue::goes_idle() {
  const bool is_kept = terms_.keep_idle.count() > 0 && !allowance_.others_wait();
  if (!is_kept || !engine_.is_used() || engine_.anyone_waits()) return false;
  become_idle();
  place_->arrivals().look();
  return true;
}

/// If the count is under way, the place becomes idle until it arrives, and true is returned. That
/// is faster than a release and a new znode that prove unnecessary. But if the place had to wait
/// for a predecessor, that client probably waits again: returns false.
bool LocalQueue::awaits_answer() {
  if (!allowance_.asking() || allowance_.others_wait() || place_->waited()) return false;
  become_idle();
  return true;
}

void LocalQueue::become_idle() {
  state_ = State::idle;
  idle_since_ = engine_.core().scheduler().now();
  place_->vacate();
}

bool LocalQueue::may_serve_idle() const {
  return allowance_.left() || place_->arrivals().armed();
}

void LocalQueue::serve_idle() {
  hand_to_next();
  if (terms_.batch == 1) queue_the_rest();
}

void LocalQueue::end_idling() {
  if (state_ != State::idle) return;
  remove_place(Place::Manner::release);
  queue_the_rest();
}

void LocalQueue::lapsed(const Place& place) {
  if (!is_idle(place)) return;
  remove_place(Place::Manner::with_care);
  queue_the_rest();
}

void LocalQueue::node_gone(const Place& place) {
  if (!is_idle(place)) return;
  const auto left = forget_place();
  left->leave_no_delay();
  left->remove_unwanted_delay_marker();
  left->leave_session();
  queue_the_rest();
}

void LocalQueue::path_began_again() {
  if (const auto place = state_ == State::idle ? place_ : nullptr) place->path_began_again();
}

void LocalQueue::tick(const Place& place) {
  if (!is_idle(place) || !waiting_.empty()) return;
  const auto idle = engine_.core().scheduler().now() - idle_since_;
  if (std::chrono::floor<std::chrono::milliseconds>(idle) >= terms_.keep_idle) end_idling();
}

// The list shows whether the change was a contender. While the place is held, that can wait.
void LocalQueue::somebody_came(const Place& place) {
  if (is_idle(place)) place_->arrivals().look();
}

void LocalQueue::listed(const Place& place, const client::Reply& reply) {
  if (!is_shared(place)) return;
  engine_.path_seen(reply);
  const bool ok = reply.status == core::Status::ok;
  const auto queue = ok ? core::contenders(reply.children) : std::vector<core::NodeName>{};
  const bool there =
      std::ranges::find(queue, place.own_name(), &core::NodeName::text) != queue.end() &&
      reply.token < place.token();
  if (reply.status == core::Status::no_node || (ok && !there)) return place_->own_node_gone();
  // Contenders that cannot be seen may be there. At the counter's end they wait without a znode.
  if (!ok || queue.size() > 1 || engine_.counter_has_ended()) {
    allowance_.others_found();
    return end_idling();
  }
  if (state_ == State::idle && !waiting_.empty()) serve_idle();
}

// ---- positions ----------------------------------------------------------------------------------

void LocalQueue::stands_at(const Place& place, std::size_t position) {
  if (!is_shared(place)) return;
  position_ = position;
  tell_positions(0);
}

void LocalQueue::tell_position(std::size_t index) {
  if (position_) waiting_[index].who->waits_at(*position_ + index + 1);
}

void LocalQueue::tell_positions(std::size_t from) {
  for (std::size_t i = from; i < waiting_.size(); ++i) tell_position(i);
}

}  // namespace zklock::recipes
