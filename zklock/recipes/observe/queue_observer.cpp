// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/observe/queue_observer.h"

#include <algorithm>
#include <cassert>
#include <functional>
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

/// Returns whether the next attempt may succeed.
bool is_temporary_failure(const client::Reply& reply) noexcept {
  return core::is_temporary_failure(reply.status) || reply.status == Status::not_connected;
}

}  // namespace

std::shared_ptr<QueueObserver> QueueObserver::make(Client& client, std::string path,
                                                   ViewScope scope, Executor executor) {
  return std::make_shared<QueueObserver>(
      ClientCore::of(client)->usable_path_lock("observe", std::move(path)), scope,
      std::move(executor));
}

void QueueObserver::object_destroyed(std::shared_ptr<QueueObserver> observer) noexcept {
  if (observer->context().forked()) return keep_for_ever(std::move(observer));
  observer->stop();
}

QueueObserver::QueueObserver(std::shared_ptr<PathLock> path_lock, ViewScope scope,
                             Executor executor)
    : path_lock_(std::move(path_lock)),
      scope_(scope),
      executor_(std::move(executor)),
      listeners_(context().shared_listener_dispatcher(executor_.revocable())) {}

Subscription QueueObserver::add(std::function<void(const QueueView&)> listener) {
  context().check_usable("observe", path());
  const EngineLock lock(entry());
  Subscription added = listeners_.add(std::move(listener), last_view_);
  if (state_ == State::idle) {
    // The watches of a session end with it, without an event.
    if (!std::exchange(is_session_listener_, true)) {
      context().add_session_listener(shared_from_this());
    }
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
    end_round();
  }
  listeners_.stop();
  listeners_.wait();
  listeners_.forget();
  executor_.revoke();
}

// ---- steps -------------------------------------------------------------------------------------

template <class Step>
auto QueueObserver::in_round(Step step) {
  return under_lock(weak_from_this(),
                    round_.guard([this, step](const client::Reply& reply, const auto&... more) {
                      if (!end_if_over(reply)) std::invoke(step, *this, reply, more...);
                    }));
}

void QueueObserver::submit(client::Operation operation, client::ReplyHandler handler) {
  requests_.push_back(context().coordinator().submit(
      {.operation = std::move(operation), .session = session_}, std::move(handler)));
}

request::OnWatchEvent QueueObserver::on_watch() {
  return under_lock(weak_from_this(), round_.guard([this](SessionId, request::WatchEvent) {
    // The view that is being read is reported first. Otherwise a queue that changes all the time
    // would never be reported.
    fired_ = true;
    if (state_ == State::resting) list_when_due();
  }));
}

void QueueObserver::assert_invariants() const noexcept {
  assert(state_ != State::idle || (!last_view_ && requests_.empty()));
  assert(state_ != State::resting || last_view_);
}

void QueueObserver::end_round() {
  round_.end();
  for (const auto id : std::exchange(requests_, {})) {
    context().coordinator().cancel_unsent(id);
    context().coordinator().unwatch(id);
  }
}

bool QueueObserver::end_if_over(const client::Reply& reply) {
  const bool is_over = core::sort_of(reply.status) == core::StatusSort::client_ended;
  if (is_over) state_ = State::over;
  return is_over;
}

void QueueObserver::begin_round() {
  end_round();
  fired_ = false;
  if (listeners_.is_empty()) return be_idle();
  state_ = State::reading;
  if (session_ != SessionId{}) return list();
  submit(request::Check{path()}, in_round(&QueueObserver::caught_up));
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
  listed_at_ = context().scheduler().now();
  submit(request::ListAndWatch{path(), on_watch()},
         [scope = scope_, then = in_round(&QueueObserver::listed)](const client::Reply& reply) {
           // The list can be long, so it is read without the engine mutex.
           then(reply, std::make_shared<ViewBuilder>(reply, scope));
         });
}

void QueueObserver::list_when_due() {
  const auto due = listed_at_ + kLeastBetweenLists;
  if (due <= context().scheduler().now()) return begin_round();
  pause_until(due);
}

void QueueObserver::listed(const client::Reply& reply, const std::shared_ptr<ViewBuilder>& view) {
  if (reply.status == Status::no_node) return await();
  if (reply.status != Status::ok) return pause(reply);
  view_ = view;
  describe();
}

void QueueObserver::describe() {
  const auto reads = view_->reads();
  if (reads.empty()) return rest(view_->view());
  replies_.assign(reads.size(), {});
  outstanding_ = reads.size();
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const std::string node = path_lock_->path().child(reads[i].child);
    const auto on_reply = in_round([i](QueueObserver& self, const client::Reply& reply) {
      self.replies_[i] = reply;
      if (reply.unreadable && reply.status == Status::ok) self.replies_[i].status = Status::no_auth;
      if (--self.outstanding_ == 0) self.described();
    });
    if (reads[i].can_change()) {
      submit(request::GetAndWatch{node, on_watch()}, on_reply);
    } else {
      submit(request::Get{node}, on_reply);
    }
  }
}

void QueueObserver::described() {
  const OwnZnodes own(context().keeper().session(), path_lock_->own_node_names());
  const auto replies = std::exchange(replies_, {});
  const client::Reply* missing_value = nullptr;
  for (const client::Reply& reply : replies) {
    if (view_->is_outdated_by(reply)) return list_when_due();
    if (view_->lacks(reply)) {
      if (view_->reads().front().what != ViewBuilder::Read::What::proclaimed_value) {
        return pause(reply);
      }
      missing_value = &reply;
    }
    view_->take(reply, own);
  }
  if (missing_value == nullptr) return describe();
  // Only a new leader is reported without its value. A known leader would seem to have withdrawn
  // it.
  const QueueView& view = view_->view();
  const bool same_leader =
      last_view_ && !last_view_->lock.holders.empty() &&
      is_same_contender(last_view_->lock.holders.front(), view.lock.holders.front());
  if (missing_value->status == Status::no_auth && !same_leader) {
    listeners_.notify(view);
    last_view_ = view;
  }
  pause(*missing_value);
}

void QueueObserver::await() {
  submit(request::ExistsAndWatch{path(), on_watch()}, in_round(&QueueObserver::awaited));
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
  context().scheduler().at(when,
                           under_lock(weak_from_this(), round_.guard([this] { begin_round(); })));
}

}  // namespace zklock::detail
