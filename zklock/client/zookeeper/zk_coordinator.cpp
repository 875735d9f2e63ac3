// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/zk_coordinator.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "zklock/client/port/scheduler.h"
#include "zklock/client/threads/backoff.h"
#include "zklock/client/threads/start_thread.h"
#include "zklock/client/zookeeper/credentials.h"
#include "zklock/core/cause_texts.h"
#include "zklock/core/znode_data.h"
#include "zklock/error.h"

namespace zklock::client {
namespace {

std::vector<DigestCredential> credentials_of(const ClientOptions& options) {
  std::vector<DigestCredential> credentials = {random_credential()};
  if (options.digest) credentials.push_back(*options.digest);
  return credentials;
}

// The pause between two checks whether an unreadable znode exists.
constexpr std::chrono::seconds kPresenceInterval{1};

}  // namespace

ZkCoordinator::ZkCoordinator(const ClientOptions& options, std::shared_ptr<Log> log)
    : options_(options),
      credentials_(credentials_of(options)),
      node_acl_(node_acl(options.acl, credentials_.front(), options.digest)),
      parent_acl_(parent_acl(options.acl, options.digest)),
      log_(std::move(log)),
      log_bridge_(log_, log_secrets(credentials_, options.tls), [this] { refresh_servers(); }),
      hosts_(ConnectionString::parse(options.hosts)),
      timeout_(options.session_timeout),
      disconnected_since_(boot_time()),
      watches_(options.max_watch_bytes),
      nodes_(options.max_node_bytes),
      local_replies_("zklock-replies") {
  local_replies_.at({}, &use_batch_scheduling);
}

ZkCoordinator::~ZkCoordinator() {
  close();
}

void ZkCoordinator::start(SessionObserver& observer) {
  observer_ = &observer;
  Backoff pauses(options_.retry_delay_min, options_.retry_delay_max);  // here, because it can throw
  const MutexLock guard(mutex_);
  disconnected_since_ = boot_time();
  if (!closing_) {
    session_thread_.start("zklock-session",
                          [this, pauses = std::move(pauses)]() mutable { run_sessions(pauses); });
  }
}

RequestId ZkCoordinator::submit(Request request, ReplyHandler handler) noexcept {
  const MutexLock guard(mutex_);
  const RequestId id = next_id();
  if (request.wanted_since == Instant{}) request.wanted_since = boot_time();
  const auto call = make_call(
      hosts_.chroot(), std::move(request.operation),
      {id, request.session, std::move(handler), request.wanted_since, request.fail_if_disconnected},
      options_.create_chroot);
  if (closing_) {
    answer(call, Status::closed, {});
  } else if (request.session != SessionId{} && request.session != session_) {
    answer(call, Status::session_ended, {});
  } else if (credential_refused_ && phase_ != Phase::dead) {
    answer(call, Status::auth_failed, connection_problem_text());
  } else if (request.fail_if_disconnected && !ready()) {
    answer(call, Status::not_sent, {});
  } else {
    pump();
    if (!queued_.empty() || !may_send() || !send(call)) queued_.push_back(call);
    if (!ready() && request.session == SessionId{}) check_soon();
  }
  return id;
}

bool ZkCoordinator::cancel_unsent(RequestId request) noexcept {
  const MutexLock guard(mutex_);
  const auto found = find_queued(request);
  if (found == queued_.end()) return false;
  answer(*found, Status::not_sent, {});
  queued_.erase(found);
  return true;
}

void ZkCoordinator::unwatch(RequestId request) noexcept {
  const MutexLock guard(mutex_);
  if (const auto found = find_queued(request); found != queued_.end()) {
    (*found)->forget_watch();
    return;
  }
  if (auto unused = watches_.cancel(request)) remove_watch(std::move(*unused));
}

void ZkCoordinator::close() {
  {
    const MutexLock guard(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  session_thread_.join();  // closes the handle
  {
    const MutexLock guard(mutex_);
    answer_queued(any_call, Status::closed, {});
  }
  local_replies_.wait_idle();
}

bool ZkCoordinator::is_own_thread() const noexcept {
  return HandleListener::runs_here() || session_thread_.runs_here() ||
         local_replies_.is_timer_thread();
}

void ZkCoordinator::set_hosts(const std::string& hosts) {
  constexpr const char* kOperation = "set hosts";
  ConnectionString parsed = ConnectionString::parse(hosts, kOperation);
  const MutexLock guard(mutex_);
  if (parsed.chroot() != hosts_.chroot()) {
    throw Error(Errc::invalid_hosts, kOperation, core::printable(hosts, 256),
                "the chroot of a client cannot change");
  }
  hosts_ = std::move(parsed);
}

ConnectionString ZkCoordinator::present_hosts() const {
  const MutexLock guard(mutex_);
  return hosts_;
}

std::string ZkCoordinator::connection_problem() const {
  const MutexLock guard(mutex_);
  return connection_problem_text();
}

CoordinatorStats ZkCoordinator::stats() const {
  CoordinatorStats stats{.node_limit_bytes = options_.max_node_bytes,
                         .watch_limit_bytes = options_.max_watch_bytes};
  for (std::size_t i = 0; i < durations_.size(); ++i) stats.requests.at(i) = durations_[i].read();
  const MutexLock guard(mutex_);
  stats.node_bytes = nodes_.bytes();
  stats.watch_bytes = watches_.bytes();
  return stats;
}

CallContext ZkCoordinator::call_context(Reply& reply, std::optional<Watch>& unused_watch) {
  return {handle_ ? handle_->get() : nullptr,
          reply,
          pending_,
          watches_,
          nodes_,
          node_acl_,
          parent_acl_,
          hosts_,
          options_.digest ? std::string_view(options_.digest->user) : std::string_view(),
          unused_watch};
}

bool ZkCoordinator::send(const CallPtr& call) {
  assert(call->header().session == SessionId{} || call->header().session == session_);
  // The connection or session may be lost, with the event still to come. After a loss, the C client
  // would send the request over the next connection, before the observer is notified of that
  // connection. After an expiry, zoo_amulti would free memory that it has not allocated.
  if (!handle_->is_connected()) return false;
  std::optional<Watch> unused_watch;  // only a completion sets it
  Reply refusal;
  const CallContext context = call_context(refusal, unused_watch);
  call->begin_send();
  const int code = call->issue(context);
  if (code == ZOK) {
    call->end_send(session_);
    return true;
  }
  if (code == ZINVALIDSTATE) return false;  // the session has ended
  if (code != Call::kRefused) Call::set_status(context, code);
  answer(call, refusal.status, std::move(refusal.detail));
  return true;
}

void ZkCoordinator::pump() {
  while (!queued_.empty() && may_send() && send(queued_.front())) queued_.pop_front();
}

void ZkCoordinator::enqueue(CallPtr call) {
  if (phase_ == Phase::dead || phase_ == Phase::none || session_ == SessionId{}) return;
  queued_.push_back(std::move(call));
}

ZkCoordinator::Queue::iterator ZkCoordinator::find_queued(RequestId request) {
  const auto found = std::ranges::lower_bound(queued_, request, {}, &Call::id);
  return found != queued_.end() && (*found)->id() == request ? found : queued_.end();
}

void ZkCoordinator::remove_watch(Watch watch) {
  enqueue(make_watch_removal(std::move(watch), own_header()));
  pump();
}

void ZkCoordinator::answer(const CallPtr& call, Status status, std::string detail) {
  ReplyHandler handler = std::move(call->header().handler);
  if (!handler) return;
  Reply reply = call->blank_reply();
  reply.status = status;
  reply.detail = std::move(detail);
  // Replies run in this order, because their times are equal.
  local_replies_.at({}, [handler = std::move(handler), reply = std::move(reply)]() mutable {
    handler(std::move(reply));
  });
}

Instant ZkCoordinator::due(const Call& call) const {
  return std::max(call.header().wanted_since, disconnected_since_) + options_.connection_timeout;
}

void ZkCoordinator::check_presence(Instant now) {
  if (!watches_.has_unreadable_paths()) return;
  if (now < next_presence_check_) return check_at(next_presence_check_);
  next_presence_check_ = now + kPresenceInterval;
  check_at(next_presence_check_);
  // A check can wait behind queued calls for longer than the interval. A path has one check at
  // most, so the checks do not fill the queue.
  for (const std::string& path : watches_.begin_presence_checks()) {
    CallHeader header = own_header();
    header.handler = [this, watch = Watch{path}](const Reply& reply) {
      {
        const MutexLock guard(mutex_);
        watches_.end_presence_check(watch.path);
      }
      // no_auth: the server requires READ permission for an exists, and the znode exists.
      if (reply.status == Status::no_node) on_absent(watch);
    };
    enqueue(make_call({}, request::Exists{path}, std::move(header)));
  }
  pump();
}

void ZkCoordinator::on_absent(const Watch& watch) {
  bool is_at_servers = false;
  {
    const MutexLock guard(mutex_);
    is_at_servers = watches_.is_at_servers(watch);
  }
  deliver_watch_event(watch.path, request::WatchEvent::deleted);
  if (!is_at_servers) return;
  const MutexLock guard(mutex_);
  remove_watch(watch);
}

void ZkCoordinator::check_at(Instant when) {
  if (when >= next_check_) return;
  local_replies_.cancel(check_timer_);
  next_check_ = when;
  check_timer_ = local_replies_.at(when, [this] { do_what_is_due(); });
}

void ZkCoordinator::do_what_is_due() {
  {
    const MutexLock guard(mutex_);
    next_check_ = Instant::max();
  }
  end_overdue_session();
  replace_overdue_handle();
  const MutexLock guard(mutex_);
  const Instant now = boot_time();
  if (ready()) return check_presence(now);
  // The C client repeats failed attempts to connect without an event. Between two attempts, the
  // next handshake is certain to be sent after `now`.
  const bool repeats = phase_ == Phase::suspended || phase_ == Phase::connecting;
  if (repeats && handle_->before_handshake()) attempt_began_ = now;
  // Calls of one session wait until it reconnects or ends.
  const auto may_go = [](const Call& call) { return call.header().session == SessionId{}; };
  answer_queued(
      [&](const Call& call) {
        mutex_.assert_held();
        return may_go(call) && due(call) <= now;
      },
      Status::not_connected,
      core::no_server_answered(options_.connection_timeout, connection_problem_text()));
  if (phase_ == Phase::suspended) check_at(session_due());
  if (repeats) check_at(now + handle_->timeout() / 96);
  Instant first = Instant::max();
  for (const CallPtr& call : queued_) {
    if (may_go(*call)) first = std::min(first, due(*call));
  }
  check_at(first);
}

void ZkCoordinator::log_info(const std::string& text) const {
  log_->write(LogLevel::info, "zklock: " + text);
}

void ZkCoordinator::log_warn(const std::string& text) const {
  log_->write_throttled(LogLevel::warning, "zklock: " + text);
}

}  // namespace zklock::client
