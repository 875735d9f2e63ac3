// SPDX-License-Identifier: Apache-2.0
#include "tests/differential/side.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "zklock/core/status.h"

namespace zklock::differential {
namespace {

using client::request::WatchEvent;

constexpr std::chrono::seconds kTimeout{60};

const char* to_text(WatchEvent event) {
  switch (event) {
    case WatchEvent::created: return "created";
    case WatchEvent::changed: return "changed";
    case WatchEvent::children: return "children";
    case WatchEvent::deleted: return "deleted";
  }
  return "?";
}

}  // namespace

void Journal::begin_script() {
  const std::lock_guard guard(mutex_);
  ++script_;
  labels_.clear();
  names_.clear();
  created_ms_.clear();
  for (std::size_t c = 0; c < seen_.size(); ++c) {
    Seen& seen = seen_.at(c);
    std::vector<SessionId> current;
    if (!seen.sessions.empty()) current.push_back(seen.sessions.back());
    seen = {.sessions = std::move(current),
            .facts = {},
            .is_connected = seen.is_connected,
            .unreadable_paths = {}};
    if (!seen.sessions.empty()) labels_[seen.sessions.back()] = std::to_string(c) + ".0";
  }
}

std::uint64_t Journal::script() const {
  const std::lock_guard guard(mutex_);
  return script_;
}

void Journal::connected(std::size_t client, const client::SessionInfo& session) {
  const std::lock_guard guard(mutex_);
  Seen& seen = seen_.at(client);
  seen.is_connected = true;
  changed_.notify_all();
  if (!session.is_new) return;
  labels_[session.id] = std::to_string(client) + "." + std::to_string(seen.sessions.size());
  seen.sessions.push_back(session.id);
  seen.facts.push_back({"connected, session " + label(session.id)});
}

void Journal::disconnected(std::size_t client) {
  const std::lock_guard guard(mutex_);
  seen_.at(client).is_connected = false;
  changed_.notify_all();
}

void Journal::ended(std::size_t client, Status why) {
  const std::lock_guard guard(mutex_);
  seen_.at(client).facts.push_back({"ended: " + std::string(core::to_string(why))});
}

void Journal::answered_by_quorum(std::size_t client) {
  const std::lock_guard guard(mutex_);
  seen_.at(client).quorum = true;
}

void Journal::forget_quorum(std::size_t client) {
  const std::lock_guard guard(mutex_);
  seen_.at(client).quorum = false;
}

void Journal::event(std::uint64_t script, std::size_t client, const OperationAt& watch,
                    WatchEvent event) {
  const std::lock_guard guard(mutex_);
  Seen& seen = seen_.at(client);
  if (script != script_ || seen.ignores_events) return;
  // The server sends no events of a znode that the client may not read. The real coordinator polls
  // such a znode every second, so the time at which it learns of the deletion varies.
  if (event == WatchEvent::deleted && seen.unreadable_paths.contains(watch.path)) return;
  seen.facts.push_back(
      {"watch " + watch.tag + ' ' + to_text(event), {}, watch.kind + ": event " + to_text(event)});
}

void Journal::expect_reply(std::size_t client) {
  const std::lock_guard guard(mutex_);
  ++seen_.at(client).expected;
}

void Journal::replied(std::uint64_t script, std::size_t client, const client::Reply& reply,
                      const OperationAt& operation) {
  const std::lock_guard guard(mutex_);
  if (script != script_) return;
  Seen& seen = seen_.at(client);
  seen.facts.push_back(fact_of(reply, operation));
  if (!reply.name.empty()) names_[operation.tag] = reply.name;
  if (reply.unreadable) seen.unreadable_paths.insert(operation.path);
  --seen.expected;
  changed_.notify_all();
}

void Journal::replied_to_fence(std::size_t client) {
  const std::lock_guard guard(mutex_);
  --seen_.at(client).expected;
  changed_.notify_all();
}

bool Journal::wait_for_replies() const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kTimeout, [this] { return has_all(); });
}

bool Journal::has_all_replies() const {
  const std::lock_guard guard(mutex_);
  return has_all();
}

bool Journal::has_all() const {
  return std::ranges::all_of(
      seen_, [](const Seen& seen) { return seen.expected == 0 || !seen.is_connected; });
}

bool Journal::wait_for_connection(std::size_t client, bool connected) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kTimeout,
                           [&] { return seen_.at(client).is_connected == connected; });
}

bool Journal::wait_for_session(std::size_t client, std::size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kTimeout,
                           [&] { return seen_.at(client).sessions.size() > count; });
}

std::size_t Journal::sessions(std::size_t client) const {
  const std::lock_guard guard(mutex_);
  return seen_.at(client).sessions.size();
}

SessionId Journal::current_session(std::size_t client) const {
  const std::lock_guard guard(mutex_);
  return seen_.at(client).sessions.back();
}

SessionId Journal::first_session(std::size_t client) const {
  const std::lock_guard guard(mutex_);
  return seen_.at(client).sessions.front();
}

void Journal::ignore_events(std::size_t client) {
  const std::lock_guard guard(mutex_);
  seen_.at(client).ignores_events = true;
}

std::string Journal::name_of(const std::string& tag) const {
  const std::lock_guard guard(mutex_);
  const auto found = names_.find(tag);
  return found == names_.end() ? std::string() : found->second;
}

std::vector<Fact> Journal::take() {
  const std::lock_guard guard(mutex_);
  std::vector<Fact> all;
  for (std::size_t c = 0; c < seen_.size(); ++c) {
    Seen& seen = seen_.at(c);
    const std::string client = "client " + std::to_string(c) + ": ";
    for (Fact& fact : std::exchange(seen.facts, {})) {
      fact.text.insert(0, client);
      all.push_back(std::move(fact));
    }
    if (std::exchange(seen.quorum, false)) all.push_back({client + "answered by the quorum"});
    seen.ignores_events = false;
  }
  return all;
}

std::string Journal::label(SessionId session) const {
  if (session == SessionId{}) return "none";
  const auto found = labels_.find(session);
  return found == labels_.end() ? "unknown" : found->second;
}

// The detail is not compared: it is text for people, and the simulated side has little of it.
Fact Journal::fact_of(const client::Reply& reply, const OperationAt& operation) {
  const std::string status(core::to_string(reply.status));
  Fact fact{operation.tag + ' ' + status + ", session " + label(reply.session),
            {},
            operation.kind + ": " + status + (reply.unreadable ? ", unreadable" : "") +
                (reply.path_existed ? ", path existed" : "")};
  const auto add = [&fact](const std::string& what, const std::string& value) {
    fact.text += ", " + what + ' ' + value;
  };
  const auto add_zxid = [&](const std::string& what, FencingToken zxid) {
    if (zxid == FencingToken{}) return;
    add(what, "#");
    fact.zxids.push_back(zxid.zxid);
  };
  if (!reply.name.empty()) add("name", reply.name);
  add_zxid("czxid", reply.token);
  if (reply.token != FencingToken{}) {
    // The clocks differ, but all replies must agree on the time of one znode.
    const auto known = created_ms_.emplace(reply.token.zxid, reply.created_ms).first;
    add("ctime", reply.created_ms == 0               ? "none"
                 : reply.created_ms == known->second ? "set"
                                                     : "changed");
  }
  add_zxid("pzxid", reply.pzxid);
  if (reply.child_count != 0) add("children", std::to_string(reply.child_count));
  if (!reply.children.empty()) {
    std::vector<std::string> names = reply.children;  // order is not defined
    std::sort(names.begin(), names.end());
    std::string list;
    for (const std::string& name : names) list += '[' + name + ']';
    add("list", list);
  }
  if (reply.next_sequence != core::Sequence{})
    add("next", std::to_string(reply.next_sequence.value));
  if (!reply.data.empty()) add("data", reply.data);
  if (reply.version != 0) add("version", std::to_string(reply.version));
  if (reply.ephemeral_owner != SessionId{}) add("owner", label(reply.ephemeral_owner));
  if (reply.failed_operation != -1) add("failed", std::to_string(reply.failed_operation));
  if (reply.unreadable) add("unreadable", "yes");
  if (reply.path_existed) add("path existed", "yes");
  return fact;
}

}  // namespace zklock::differential
