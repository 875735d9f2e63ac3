// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zk_coordinator.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

#include "zklock/client/digest_id.h"
#include "zklock/client/zk_error.h"

namespace zklock::client {
namespace {

std::vector<std::string> secrets_of(const ClientOptions& options, const DigestCredential& own) {
  std::vector<std::string> secrets = {own.password};
  if (options.digest) {
    secrets.push_back(digest_secret(*options.digest));
    secrets.push_back(options.digest->password);
  }
  if (options.tls) secrets.push_back(options.tls->key_password);
  return secrets;
}

Backoff make_backoff(const ClientOptions& options) {
  auto random = [engine = std::minstd_rand(std::random_device{}())]() mutable {
    return std::uniform_real_distribution<>(0, 1)(engine);
  };
  return {options.retry_delay_min, options.retry_delay_max, random};
}

std::string seconds_since(Instant then) {
  const auto elapsed = LeaseClock::now() - then;
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()) +
         " ms";
}

}  // namespace

ZkCoordinator::ZkCoordinator(const ClientOptions& options)
    : options_(options),
      hosts_(ConnectionString::parse(options.hosts)),
      own_credential_(random_credential()),
      node_acl_(node_acl(options.acl, own_credential_, options.digest)),
      parent_acl_(parent_acl(options.acl, options.digest)),
      log_bridge_(options.logger, secrets_of(options, own_credential_)),
      disconnected_since_(LeaseClock::now()),
      watches_(options.max_watch_bytes),
      nodes_(options.max_node_bytes),
      answers_([this] { return answer_overdue(); }),
      session_thread_(*this, make_backoff(options)) {}

ZkCoordinator::~ZkCoordinator() { close(); }

void ZkCoordinator::start(SessionObserver& observer) {
  {
    const std::lock_guard guard(telling_);
    observer_ = &observer;
  }
  {
    const std::lock_guard guard(mutex_);
    disconnected_since_ = LeaseClock::now();
  }
  session_thread_.start();
}

RequestId ZkCoordinator::submit(Request request, ReplyHandler handler) {
  const std::lock_guard guard(mutex_);
  const RequestId id{++last_id_};
  const auto call = make_call(hosts_.chroot(), id, std::move(request), std::move(handler),
                              LeaseClock::now());
  if (closing_) {
    answer(call, Status::closed, {});
  } else if (call->bound_to() != SessionId{} && call->bound_to() != session_) {
    answer(call, Status::session_ended, {});
  } else if (refused_ && phase_ != Phase::dead) {
    answer(call, Status::auth_failed, trouble_text());
  } else {
    const bool first = held_.empty();
    held_.emplace(id, call);
    pump();
    if (first && !ready()) answers_.poke();
  }
  return id;
}

void ZkCoordinator::abandon(RequestId request) {
  const std::lock_guard guard(mutex_);
  const auto found = held_.find(request);
  if (found == held_.end()) return;
  answer(found->second, Status::not_sent, {});
  held_.erase(found);
}

void ZkCoordinator::unwatch(RequestId get_and_watch) {
  const std::lock_guard guard(mutex_);
  if (const auto found = held_.find(get_and_watch); found != held_.end()) {
    found->second->forget_watch();
    return;
  }
  std::vector<std::string> paths;
  if (auto path = watches_.cancel(get_and_watch); !path.empty()) paths.push_back(std::move(path));
  hold_removals(paths);
  pump();
}

void ZkCoordinator::close() {
  {
    const std::lock_guard guard(mutex_);
    closing_ = true;
  }
  session_thread_.stop();  // shuts the handle
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [id, call] : held_) answer(call, Status::closed, {});
    held_.clear();
  }
  answers_.wait_idle();
}

std::string ZkCoordinator::trouble() const {
  const std::lock_guard guard(mutex_);
  return trouble_text();
}

std::string ZkCoordinator::trouble_text() const {
  if (refused_) return "the servers refused the credential";
  switch (phase_) {
    case Phase::none:
      if (!open_error_.empty()) return open_error_;
      return "no session is open to " + hosts_.servers_text();
    case Phase::connecting:
      return "no session could be opened with " + hosts_.servers_text() + " for " +
             seconds_since(disconnected_since_);
    case Phase::suspended:
      return "the connection to " + hosts_.servers_text() + " has been lost for " +
             seconds_since(disconnected_since_);
    case Phase::dead: return "the session with " + hosts_.servers_text() + " has ended";
    case Phase::greeting:
    case Phase::connected: return {};
  }
  return {};
}

Wire ZkCoordinator::wire(std::vector<std::string>& removals) {
  return {handle_ ? handle_->get() : nullptr,
          session_,
          *this,
          flights_,
          watches_,
          nodes_,
          node_acl_,
          parent_acl_,
          removals};
}

bool ZkCoordinator::send(const CallPtr& call) {
  // Between a loss and the event that tells of it, the C client would take the request along to the
  // next connection, before the observer has heard of that; or, when the session has expired,
  // zoo_amulti would free memory that it has not allocated.
  if (!handle_->connected()) return false;
  std::vector<std::string> removals;
  const Call::Sent sent = call->send(wire(removals));
  switch (sent) {
    case Call::Sent::yes: return true;
    case Call::Sent::handle_is_dead: return false;
    case Call::Sent::refused:
      answers_.post(std::move(call->handler()), std::move(call->reply()));
      return true;
  }
  return true;
}

void ZkCoordinator::pump() {
  while (ready() && !held_.empty() && flights_.size() < options_.max_in_flight) {
    const auto first = held_.begin();
    // Taken out before: the call may be completed on another thread as soon as mutex_ is free.
    const CallPtr call = first->second;
    if (!send(call)) return;
    held_.erase(first);
  }
}

void ZkCoordinator::hold_removals(std::vector<std::string>& paths) {
  if (phase_ == Phase::dead || phase_ == Phase::none || session_ == SessionId{}) return;
  for (std::string& path : paths) {
    const RequestId id{++last_id_};
    held_.emplace(id, make_watch_removal(id, session_, std::move(path), LeaseClock::now()));
  }
}

void ZkCoordinator::answer(const CallPtr& call, Status status, std::string detail) {
  if (!call->handler()) return;
  Reply reply = std::move(call->reply());
  reply.status = status;
  reply.detail = std::move(detail);
  answers_.post(std::move(call->handler()), std::move(reply));
}

Instant ZkCoordinator::due(const Call& call) const {
  return std::max(call.submitted(), disconnected_since_) + options_.connection_timeout;
}

std::optional<Instant> ZkCoordinator::answer_overdue() {
  const std::lock_guard guard(mutex_);
  if (ready()) return std::nullopt;
  const Instant now = LeaseClock::now();
  for (auto next = held_.begin(); next != held_.end();) {
    const CallPtr& call = next->second;
    if (call->bound_to() != SessionId{}) {
      ++next;  // it waits for its session to come back or to end
      continue;
    }
    if (due(*call) > now) return due(*call);  // the others were submitted later
    answer(call, Status::not_connected, trouble_text());
    next = held_.erase(next);
  }
  return std::nullopt;
}

void ZkCoordinator::log_info(const std::string& text) const {
  if (options_.logger) options_.logger->info("zklock: {}", text);
}

void ZkCoordinator::log_warn(const std::string& text) const {
  if (options_.logger) options_.logger->warn("zklock: {}", text);
}

}  // namespace zklock::client
