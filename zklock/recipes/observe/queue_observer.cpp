// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/observe/queue_observer.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <tuple>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/engine/session/process.h"

namespace zklock::detail {

namespace {

using core::Status;
namespace request = client::request;

constexpr std::chrono::milliseconds kPauseAfterFailure{250};

/// Its description can change: Participant::held_since appears.
bool is_same_contender(const Participant& a, const Participant& b) {
  return a.node == b.node && a.token == b.token;
}

}  // namespace

std::shared_ptr<QueueObserver> QueueObserver::make(Client& client, std::string path, ViewKind kind,
                                                   Executor executor) {
  return std::make_shared<QueueObserver>(
      ClientCore::of(client)->usable_path_lock("observe", std::move(path)), kind,
      std::move(executor));
}

void QueueObserver::object_destroyed(std::shared_ptr<QueueObserver> observer) noexcept {
  if (observer->context().forked()) return keep_for_ever(std::move(observer));
  observer->stop();
}

QueueObserver::QueueObserver(std::shared_ptr<PathLock> path_lock, ViewKind kind, Executor executor)
    : path_lock_(std::move(path_lock)),
      kind_(kind),
      executor_(std::move(executor)),
      listeners_(context().shared_listener_dispatcher(executor_.lent())) {}

Subscription QueueObserver::add(std::function<void(const QueueView&)> listener) {
  context().check_usable("observe", path());
  const EngineLock lock(entry());
  Subscription added = listeners_.add(std::move(listener), last_view_);
  if (state_ == State::idle) {
    // The watches of a session end with it, without an event.
    if (round_ == 0) context().add_session_listener(shared_from_this());
    begin_round();
  }
  return added;
}

void QueueObserver::session_began() {
  const EngineLock lock(entry());
  session_ = {};
  if (state_ != State::over) begin_round();
}

void QueueObserver::stop() {
  {
    const EngineLock lock(entry());
    state_ = State::over;
    ++round_;
    end_watches();
    for (const auto id : requests_) context().coordinator().cancel_unsent(id);
    context().scheduler().cancel(timer_);
  }
  listeners_.stop();
  listeners_.wait();
  listeners_.forget();
  executor_.give_back();
}

// ---- steps -------------------------------------------------------------------------------------

template <class Step, class... Read>
client::RequestId QueueObserver::submit(client::Operation operation, Step step, Read... read) {
  requests_.push_back(context().coordinator().submit(
      {.operation = std::move(operation), .session = session_},
      [weak = weak_from_this(), round = round_, step, read...](const client::Reply& reply) {
        const auto self = weak.lock();
        if (!self) return;
        auto results = std::tuple(read(reply)...);
        const EngineLock lock(self->entry());
        if (self->round_ != round || self->end_if_over(reply)) return;
        std::apply([&](auto&... result) { std::invoke(step, *self, reply, std::move(result)...); },
                   results);
      }));
  return requests_.back();
}

request::OnWatchEvent QueueObserver::on_watch() {
  return [weak = weak_from_this(), round = round_](SessionId, request::WatchEvent) {
    const auto self = weak.lock();
    if (!self) return;
    const EngineLock lock(self->entry());
    if (self->round_ != round) return;
    // The view that is being read is reported first. Otherwise a queue that changes all the time
    // would never be reported.
    if (self->state_ == State::describing) {
      self->fired_ = true;
    } else if (self->state_ == State::resting) {
      self->list_when_due();
    }
  };
}

void QueueObserver::assert_invariants() const noexcept {
  assert(state_ != State::idle || (!last_view_ && watches_.empty() && requests_.empty()));
  assert(state_ != State::resting || last_view_);
  assert(timer_ == client::TimerId{} || state_ == State::pausing || state_ == State::over);
}

void QueueObserver::end_watches() {
  for (const auto id : std::exchange(watches_, {})) context().coordinator().unwatch(id);
}

bool QueueObserver::is_temporary_failure(const client::Reply& reply) noexcept {
  return core::is_temporary_failure(reply.status) || reply.status == Status::not_connected;
}

bool QueueObserver::end_if_over(const client::Reply& reply) {
  const bool is_over = core::sort_of(reply.status) == core::StatusSort::client_ended;
  if (is_over) state_ = State::over;
  return is_over;
}

void QueueObserver::begin_round() {
  end_watches();
  context().scheduler().cancel(std::exchange(timer_, client::TimerId{}));
  ++round_;
  fired_ = false;
  requests_.clear();
  if (listeners_.is_empty()) return be_idle();
  if (session_ != SessionId{}) return list();
  state_ = State::catching_up;
  submit(request::Check{path()}, &QueueObserver::caught_up);
}

// Called when there is no listener.
void QueueObserver::be_idle() {
  state_ = State::idle;
  last_view_.reset();  // outdated when the next listener is added
}

void QueueObserver::caught_up(const client::Reply& reply) {
  const bool answered_by_quorum = reply.status == Status::ok || reply.status == Status::no_node ||
                                  reply.status == Status::no_auth;
  if (!answered_by_quorum) return pause(reply);
  session_ = reply.session;
  list();
}

void QueueObserver::list() {
  state_ = State::listing;
  listed_at_ = context().scheduler().now();
  watches_.push_back(
      submit(request::ListAndWatch{path(), on_watch()}, &QueueObserver::listed,
             [kind = kind_](const client::Reply& reply) { return read_list(reply, kind); }));
}

QueueObserver::Listed QueueObserver::read_list(const client::Reply& reply, ViewKind kind) {
  if (reply.status != Status::ok) return {};
  Listed list{.queue = Queue::of(reply), .holders = {}};
  list.shares_count = zklock::detail::shares_count(list.queue.contenders);
  if (!list.shares_count) list.holders = holders_in(kind, list.queue, 0);
  return list;
}

void QueueObserver::list_when_due() {
  const auto due = listed_at_ + kLeastBetweenLists;
  if (due <= context().scheduler().now()) return begin_round();
  pause_until(due);
}

void QueueObserver::listed(const client::Reply& reply, Listed list) {
  if (reply.status == Status::no_node) return await();
  if (reply.status != Status::ok) return pause(reply);
  queue_ = std::move(list.queue);
  if (list.shares_count) return get_permit_count();
  holders_ = std::move(list.holders);
  const bool proclaimed =
      kind_ == ViewKind::leadership && !holders_.empty() &&
      std::ranges::count(reply.children, core::proclamation_node(holders_.front().sequence)) > 0;
  describe(proclaimed);
}

void QueueObserver::get_permit_count() {
  state_ = State::describing;
  const std::string node = path_lock_->path().child(std::string(core::kCountNode));
  watches_.push_back(
      submit(request::GetAndWatch{node, on_watch()}, &QueueObserver::got_permit_count));
}

void QueueObserver::got_permit_count(const client::Reply& reply) {
  if (is_temporary_failure(reply)) return pause(reply);
  holders_ = holders_in(kind_, queue_, count_in(reply));
  describe(false);
}

void QueueObserver::describe(bool proclaimed) {
  state_ = State::describing;
  replies_.assign(holders_.size(), {});
  proclaimed_.reset();
  outstanding_ = holders_.size() + (proclaimed ? 1 : 0);
  if (outstanding_ == 0) return all_described();
  if (proclaimed) {
    // The value first: if a later reply still has the leader's znode, it led when the value was
    // read.
    const auto node = core::proclamation_node(holders_.front().sequence);
    watches_.push_back(submit(request::GetAndWatch{path_lock_->path().child(node), on_watch()},
                              [](QueueObserver& self, const client::Reply& reply) {
                                self.proclaimed_ = reply;
                                if (reply.unreadable) self.proclaimed_->status = Status::no_auth;
                                if (--self.outstanding_ == 0) self.all_described();
                              }));
  }
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    submit(request::Get{path_lock_->path().child(holders_[i].text)},
           [i](QueueObserver& self, const client::Reply& reply) {
             self.replies_[i] = reply;
             if (--self.outstanding_ == 0) self.all_described();
           });
  }
}

void QueueObserver::all_described() {
  const auto is_missing = [](const client::Reply& r) { return r.status == Status::no_node; };
  const auto failed = [](const client::Reply& r) {
    return r.status != Status::ok && r.status != Status::no_auth;
  };
  queue_.mark_recreated(replies_);
  if (std::ranges::any_of(replies_, is_missing)) return list_when_due();
  if (proclaimed_ && is_missing(*proclaimed_)) return list_when_due();
  const auto bad = std::ranges::find_if(replies_, failed);
  if (bad != replies_.end()) return pause(*bad);
  QueueView view =
      view_of(*path_lock_, path_lock_->own_node_names(), kind_, queue_, holders_, replies_,
              proclaimed_ ? std::string_view(proclaimed_->data) : std::string_view());
  if (!proclaimed_ || proclaimed_->status == Status::ok) return rest(std::move(view));
  // Only a new leader is reported without its value. A known leader would seem to have withdrawn
  // it.
  const bool same_leader = last_view_ && !last_view_->holders.empty() &&
                           is_same_contender(last_view_->holders.front(), view.holders.front());
  const bool unreadable = proclaimed_->status == Status::no_auth;
  if (unreadable && !same_leader) {
    listeners_.notify(view);
    last_view_ = std::move(view);
  }
  pause(*proclaimed_);
}

void QueueObserver::await() {
  state_ = State::awaiting;
  watches_.push_back(submit(request::ExistsAndWatch{path(), on_watch()}, &QueueObserver::awaited));
}

void QueueObserver::awaited(const client::Reply& reply) {
  if (reply.status == Status::ok) return list_when_due();
  if (reply.status != Status::no_node) return pause(reply);
  rest({});
}

void QueueObserver::rest(QueueView view) {
  state_ = State::resting;
  last_view_ = std::move(view);
  listeners_.notify(*last_view_);
  if (fired_) list_when_due();
}

void QueueObserver::pause(const client::Reply& reply) {
  if (!is_temporary_failure(reply) && !std::exchange(warned_, true)) {
    warn(std::string(to_string(reply.status)));
  }
  if (reply.status == Status::session_ended) session_ = {};
  pause_until(context().scheduler().now() + kPauseAfterFailure);
}

void QueueObserver::pause_until(core::Instant when) {
  state_ = State::pausing;
  timer_ = context().scheduler().at(when, [weak = weak_from_this(), round = round_] {
    const auto self = weak.lock();
    if (!self) return;
    const EngineLock lock(self->entry());
    if (self->round_ == round) self->begin_round();
  });
}

}  // namespace zklock::detail
