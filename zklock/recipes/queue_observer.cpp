// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/queue_observer.h"

#include <chrono>
#include <string>
#include <utility>

#include "zklock/recipes/queue_reader.h"

namespace zklock::recipes {

namespace {

using core::Status;

constexpr std::chrono::milliseconds pause_before_next_turn{250};

/// A port of the client, which lives as long as its core.
std::shared_ptr<client::Dispatcher> dispatcher_of(const std::shared_ptr<LockEngine>& engine) {
  return {engine, &engine->core().dispatcher()};
}

}  // namespace

QueueObserver::QueueObserver(std::shared_ptr<LockEngine> engine)
    : engine_(std::move(engine)), listeners_(dispatcher_of(engine_)) {}

Subscription QueueObserver::add(LockObserver::Listener listener) {
  core().check_usable("observe", engine_->path().str());
  const std::lock_guard guard(mutex_);
  Subscription added = listeners_.add(std::move(listener), known_);
  if (state_ == State::idle) {
    // The watches of a session go with it, without a word.
    sessions_ = core().add_listener([weak = weak_from_this()](ConnectionState state) {
      const auto self = weak.lock();
      if (!self || state != ConnectionState::connected) return;
      const std::lock_guard again(self->mutex_);
      if (self->state_ != State::over) self->list();
    });
    list();
  }
  return added;
}

void QueueObserver::stop() {
  Subscription sessions;
  {
    const std::lock_guard guard(mutex_);
    state_ = State::over;
    ++turn_;
    sessions = std::move(sessions_);
    end_watch();
    core().coordinator().abandon(request_);
    core().scheduler().cancel(timer_);
  }
  listeners_.remove_all();
}

// ---- steps ----------------------------------------------------------------------------------------

template <class Step>
client::RequestId QueueObserver::submit(client::Operation operation, Step step) {
  return core().coordinator().submit(
      {.operation = std::move(operation)},
      [weak = weak_from_this(), turn = turn_, step](const client::Reply& reply) {
        const auto self = weak.lock();
        if (!self) return;
        const std::lock_guard guard(self->mutex_);
        if (self->turn_ == turn && self->goes_on(reply)) ((*self).*step)(reply);
      });
}

client::request::OnWatchEvent QueueObserver::on_watch() {
  return [weak = weak_from_this(), turn = turn_](SessionId, client::request::WatchEvent) {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard guard(self->mutex_);
    if (self->turn_ != turn) return;
    // What is being read is told first: a queue that never rests would never be told of.
    if (self->state_ == State::describing) {
      self->fired_ = true;
    } else {
      self->list();
    }
  };
}

void QueueObserver::end_watch() {
  core().coordinator().unwatch(std::exchange(watch_, client::RequestId{}));
}

bool QueueObserver::goes_on(const client::Reply& reply) {
  const bool over = reply.status == Status::closed || reply.status == Status::auth_failed;
  if (over) state_ = State::over;
  return !over;
}

void QueueObserver::list() {
  end_watch();
  core().scheduler().cancel(std::exchange(timer_, client::TimerId{}));
  ++turn_;
  fired_ = false;
  state_ = State::listing;
  watch_ = request_ = submit(client::request::ListAndWatch{engine_->path().str(), on_watch()},
                             &QueueObserver::listed);
}

void QueueObserver::listed(const client::Reply& reply) {
  if (reply.status == Status::no_node) return await();
  if (reply.status != Status::ok) return pause(reply);
  queue_ = core::contenders(reply.children);
  if (queue_.empty()) return rest({});
  describe();
}

void QueueObserver::describe() {
  state_ = State::describing;
  request_ = submit(client::request::Get{engine_->path().child(queue_.front().text)},
                    &QueueObserver::described);
}

void QueueObserver::described(const client::Reply& reply) {
  if (reply.status == Status::no_node) return list();
  if (reply.status != Status::ok && reply.status != Status::no_auth) return pause(reply);
  rest(state_of(*engine_, queue_, reply));
}

void QueueObserver::await() {
  state_ = State::awaiting;
  watch_ = request_ = submit(client::request::ExistsAndWatch{engine_->path().str(), on_watch()},
                             &QueueObserver::awaited);
}

void QueueObserver::awaited(const client::Reply& reply) {
  if (reply.status == Status::ok) return list();
  if (reply.status != Status::no_node) return pause(reply);
  rest({});
}

void QueueObserver::rest(LockState state) {
  state_ = State::resting;
  known_ = std::move(state);
  listeners_.tell(*known_);
  if (fired_) list();
}

void QueueObserver::pause(const client::Reply& reply) {
  const bool will_pass = reply.status == Status::unknown || reply.status == Status::session_ended ||
                         reply.status == Status::throttled || reply.status == Status::not_connected;
  if (!will_pass && !std::exchange(warned_, true)) {
    core().warn("observe " + engine_->path().str() + ": " + std::string(to_string(reply.status)));
  }
  state_ = State::pausing;
  timer_ = core().scheduler().at(core().scheduler().now() + pause_before_next_turn,
                                 [weak = weak_from_this(), turn = turn_] {
                                   const auto self = weak.lock();
                                   if (!self) return;
                                   const std::lock_guard guard(self->mutex_);
                                   if (self->turn_ == turn) self->list();
                                 });
}

}  // namespace zklock::recipes
