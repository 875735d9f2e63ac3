// SPDX-License-Identifier: Apache-2.0
// The session as the C client's completion thread reports it: connection, loss, expiry, watch
// events and completions. And why there is no connection.
#include <algorithm>
#include <cassert>
#include <cstdio>

#include "zklock/client/port/scheduler.h"
#include "zklock/client/zookeeper/quirks/connect_failure.h"
#include "zklock/client/zookeeper/zk_coordinator.h"
#include "zklock/client/zookeeper/zk_error.h"
#include "zklock/core/cause_texts.h"

namespace zklock::client {
namespace {

std::string hex(SessionId session) {
  char text[24] = {};
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(session.value));
  return text;
}

std::string in_ms(core::Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) +
         " ms";
}

}  // namespace

template <typename Notify>
void ZkCoordinator::notify_observer(SessionId session, Notify&& notify) {
  // Not mutex_: the observer may call members that acquire it.
  const MutexLock guard(observer_mutex_);
  if (observer_ == nullptr || session == SessionId{} || session == last_ended_session_) return;
  notify(*observer_);
}

void ZkCoordinator::notify_ended(SessionId session, Status why) {
  const MutexLock guard(observer_mutex_);
  if (observer_ == nullptr) return;
  // The servers may refuse a client before it has a session.
  const bool has_one = session != SessionId{};
  if (has_one ? session == last_ended_session_ : why != Status::auth_failed) return;
  last_ended_session_ = session;
  observer_->on_ended(session, why);
}

void ZkCoordinator::on_session_event(int state) {
  {
    const MutexLock guard(mutex_);
    // The first event may precede the end of open().
    while (phase_ == Phase::none) changed_.wait(mutex_);
    if (phase_ == Phase::dead) return;
  }
  if (state == ZOO_CONNECTED_STATE) {
    on_connected();
  } else if (state == ZOO_READONLY_STATE) {
    on_foreign_server();  // a server of ZooKeeper grants that only to clients that request it
  } else if (state == ZOO_CONNECTING_STATE) {
    on_suspended();
  } else if (state == ZOO_EXPIRED_SESSION_STATE) {
    on_ended(Status::session_ended);
  } else if (state == ZOO_AUTH_FAILED_STATE) {
    on_ended(Status::auth_failed);
  }
}

void ZkCoordinator::on_connected() {
  const ZkHandle* handle = nullptr;
  {
    const MutexLock guard(mutex_);
    handle = handle_.get();
  }
  // Not under mutex_, because it reads every descriptor of the process. The handle is not destroyed
  // before this thread has returned from the event.
  if (handle != nullptr) handle->mark_close_on_exec();
  if (handle != nullptr && !is_session_timeout(handle->timeout())) return on_foreign_server();
  SessionInfo info;
  core::Duration expected{};
  {
    const MutexLock guard(mutex_);
    if (phase_ == Phase::dead) return;
    // This fails if the connection is lost again. The next connection calls on_connected() again.
    if (!handle_->authenticate(credentials_)) return;
    info.id = handle_->session();
    info.timeout = handle_->timeout();
    info.is_new = session_ == SessionId{};
    // If this connection is already lost, attempt_began_ may belong to a later attempt.
    info.attempt_began = info.is_new || handle_->is_connected() ? attempt_began_ : last_contact_;
    last_contact_ = info.attempt_began;
    session_ = info.id;
    expected = std::exchange(timeout_, info.timeout);
    if (info.is_new) connected_since_ = boot_time();
    phase_ = Phase::notifying;
  }
  log_info(std::string("session ") + hex(info.id) + (info.is_new ? " opened" : " reconnected") +
           ", timeout " + in_ms(info.timeout));
  if (info.timeout != expected) {
    log_warn("session " + hex(info.id) + ": the server granted a timeout of " +
             in_ms(info.timeout) + ", not " + in_ms(expected) +
             "; a crashed holder's lock is released after that time. Adjust "
             "ClientOptions::session_timeout, or the server's minSessionTimeout and "
             "maxSessionTimeout");
  }
  notify_observer(info.id, [&](SessionObserver& observer) { observer.on_connected(info); });
  const MutexLock guard(mutex_);
  if (phase_ != Phase::notifying) return;
  phase_ = Phase::connected;
  pump();
  check_soon();  // no call is overdue now, but unreadable paths may need a check
}

/// A server of another protocol has answered. The handle would never notice that: it takes some
/// bytes of the answer for a long session timeout. So it is closed, and later another is opened.
void ZkCoordinator::on_foreign_server() {
  std::string text;
  {
    const MutexLock guard(mutex_);
    if (phase_ == Phase::dead) return;
    assert(session_ == SessionId{} && phase_ == Phase::connecting);
    phase_ = Phase::dead;
    text = connection_problem_text();
  }
  log_warn(text);
  retire();
}

void ZkCoordinator::on_suspended() {
  const Instant noticed = boot_time();
  SessionId session;
  {
    const MutexLock guard(mutex_);
    if (phase_ != Phase::connected) return;
    phase_ = Phase::suspended;
    disconnected_since_ = noticed;
    session = session_;
    answer_calls_that_do_not_wait();
    // The event may have waited for this thread while the C client continued. The next handshake is
    // certain to be sent after `noticed` only if the C client has not sent it yet.
    attempt_began_ = handle_->before_handshake() ? noticed : last_contact_;
  }
  log_warn("session " + hex(session) + " has lost its connection");
  notify_observer(session, [&](SessionObserver& observer) { observer.on_suspended(session); });
  const MutexLock guard(mutex_);
  check_soon();
}

/// Answers not_sent to the queued calls that must not wait for a connection.
void ZkCoordinator::answer_calls_that_do_not_wait() {
  answer_queued([](const Call& call) { return call.header().fail_if_disconnected; },
                Status::not_sent, {});
}

void ZkCoordinator::on_ended(Status why) {
  SessionId session;
  {
    const MutexLock guard(mutex_);
    if (phase_ == Phase::dead) return;
    session = mark_session_dead(why);
  }
  finish_session_end(session, why, std::string(core::to_string(why)));
}

void ZkCoordinator::end_overdue_session() {
  SessionId session;
  core::Duration timeout{};
  {
    const MutexLock guard(mutex_);
    if (phase_ != Phase::suspended || boot_time() < session_due()) return;
    session = mark_session_dead(Status::session_ended);
    timeout = timeout_;
  }
  finish_session_end(
      session, Status::session_ended,
      "no connection for its timeout of " + in_ms(timeout) +
          "; the client ends it, its holds are lost, and a new session will be opened");
}

SessionId ZkCoordinator::mark_session_dead(Status why) {
  assert(phase_ != Phase::none && phase_ != Phase::dead && handle_);
  if (phase_ == Phase::connected) disconnected_since_ = boot_time();
  phase_ = Phase::dead;
  credential_refused_ = why == Status::auth_failed;
  return session_;
}

void ZkCoordinator::finish_session_end(SessionId session, Status why, const std::string& cause) {
  log_warn("session " + hex(session) + ": " + cause);
  notify_ended(session, why);
  retire();
}

void ZkCoordinator::on_watch_event(int type, const std::string& path) {
  // The types are variables in the C header, so they cannot be cases of a switch.
  if (type == ZOO_CREATED_EVENT) {
    deliver_watch_event(path, request::WatchEvent::created);
  } else if (type == ZOO_CHANGED_EVENT) {
    deliver_watch_event(path, request::WatchEvent::changed);
  } else if (type == ZOO_CHILD_EVENT) {
    deliver_watch_event(path, request::WatchEvent::children);
  } else if (type == ZOO_DELETED_EVENT) {
    deliver_watch_event(path, request::WatchEvent::deleted);
  }
}

void ZkCoordinator::deliver_watch_event(const std::string& path, request::WatchEvent event) {
  SessionId session;
  std::vector<RequestId> ids;
  {
    const MutexLock guard(mutex_);
    if (phase_ == Phase::dead || phase_ == Phase::none) return;
    session = session_;
    if (event == request::WatchEvent::deleted) nodes_.missing(path);
    ids = watches_.fire(path, event);
  }
  for (const RequestId id : ids) {
    WatchRegistry::OnEvent on_event;
    {
      const MutexLock guard(mutex_);
      on_event = watches_.take_fired(id);
    }
    if (on_event) on_event(session, event);
  }
}

void ZkCoordinator::correct_status(Status& status) const {
  // The C client reports `closed` when its handle is closed. Without close() the handle is closed
  // because the session has ended or was refused.
  if (status == Status::closed && !closing_) {
    status = credential_refused_ ? Status::auth_failed : Status::session_ended;
  }
  // A server can report the expiry before the C client notices it, on its next connection. No
  // handler is notified of an expiry before the observer is.
  if (status == Status::session_ended && phase_ != Phase::dead) status = Status::unknown;
}

void ZkCoordinator::completed(PendingId id, const Completion& completion) {
  CallPtr call;
  Reply reply;
  bool complete = false;
  SessionId session;
  Instant sent_at;
  std::optional<AnsweredBy> evidence;  // for the observer
  bool is_refused = false;
  {
    const MutexLock guard(mutex_);
    auto pending = pending_.take(id);
    if (!pending) return;
    call = std::move(pending->call);
    if (withheld_) {
      withheld_->emplace(call->id(), call);
      if (pending_.empty()) changed_.notify_all();
      return;
    }

    reply = call->blank_reply();
    session = reply.session;
    sent_at = reply.sent_at;
    const auto by = answered_by(completion.code, pending->kind);
    if (by) last_contact_ = std::max(last_contact_, sent_at);
    // A read that was sent together with a write proves no more than the write.
    const bool proves = pending->kind != RequestKind::read || pending->sub_request == 0;
    if (proves && phase_ != Phase::dead) evidence = by;
    std::optional<Watch> unused_watch;
    complete = call->complete(pending->sub_request, completion, call_context(reply, unused_watch));
    if (const auto operation = call->header().operation; operation && complete && by) {
      durations_.at(*operation).add(boot_time() - sent_at);
    }
    if (completion.code == ZOK) {
      was_served_ = true;
      other_scheme_required_ = false;
    }
    // The server closes the connection. The C client connects to the next one. If all servers are
    // alike, it would do so for ever.
    if (completion.code == ZSESSIONCLOSEDREQUIRESASLAUTH && phase_ != Phase::dead) {
      other_scheme_required_ = true;
      is_refused = !was_served_;
      if (is_refused) mark_session_dead(Status::auth_failed);
    }
    if (unused_watch) enqueue(make_watch_removal(std::move(*unused_watch), own_header()));
    pump();                              // there is room for another call now
    if (reply.unreadable) check_soon();  // the znode must be checked repeatedly
    correct_status(reply.status);
    if (reply.status == Status::auth_failed) reply.detail = refused_text();
  }
  if (evidence) observer_->on_answered(session, sent_at, *evidence);
  if (is_refused) finish_session_end(session, Status::auth_failed, connection_problem());
  if (complete && call->header().handler) call->header().handler(std::move(reply));
}

std::string ZkCoordinator::connection_problem_text() const {
  if (credential_refused_) return refused_text();
  if (phase_ == Phase::none && !open_error_.empty()) return open_error_;
  const std::string servers = hosts_.servers_text();
  std::string cause = log_bridge_.connect_failure(servers);
  switch (phase_) {
    case Phase::notifying:
    case Phase::connected: return {};
    case Phase::suspended: {
      const std::string lost = "the connection to " + servers + " has been lost for " +
                               in_ms(boot_time() - disconnected_since_);
      return cause.empty() ? lost : lost + ": " + cause;
    }
    case Phase::none:
    case Phase::connecting:
    case Phase::dead: break;
  }
  if (!cause.empty()) return cause;
  return "no session could be opened with " + servers + " for " +
         in_ms(boot_time() - disconnected_since_);
}

std::string ZkCoordinator::refused_text() const {
  if (other_scheme_required_) {
    return "the servers require an authentication scheme that zklock does not support, such as "
           "SASL; in zoo.cfg of the servers, remove sessionRequireClientSASLAuth, or add digest to "
           "enforce.auth.schemes and set ClientOptions::digest";
  }
  if (!options_.digest) return "the servers refused the credential";
  return "the servers refused the " + core::credential_text(options_.digest->user);
}

}  // namespace zklock::client
