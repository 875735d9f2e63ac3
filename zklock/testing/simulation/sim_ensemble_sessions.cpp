// SPDX-License-Identifier: Apache-2.0
// The sessions of a simulated ensemble, and the restart of its servers.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zklock/testing/simulation/sim_ensemble.h"

namespace zklock::model {

SessionId SimEnsemble::open_session(Duration timeout, Credential client) {
  const SessionId id{++last_session_};
  ++zxid_;
  Session& session = sessions_[id];
  session.timeout = timeout;
  session.client = client;
  session.last_touch = clock_.now();
  watch_over(id, session);
  return id;
}

void SimEnsemble::watch_over(SessionId id, Session& session) {
  if (session.timeout == Duration::zero()) return;
  session.timer = clock_.at(session.last_touch + session.timeout, [this, id] {
    Session& own = sessions_.at(id);
    own.timer = {};
    if (!has_leader_) own.last_touch = clock_.now();
    if (leader_is_paused_) return;
    if (own.last_touch + own.timeout <= clock_.now()) {
      end_session(id);
    } else {
      watch_over(id, own);
    }
  });
}

void SimEnsemble::touch(SessionId session) {
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) found->second.last_touch = clock_.now();
}

void SimEnsemble::set_timeout(SessionId session, Duration timeout) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.timeout == timeout) return;
  clock_.cancel(std::exchange(found->second.timer, {}));
  found->second.timeout = timeout;
  watch_over(session, found->second);
}

void SimEnsemble::end_session(SessionId session) {
  auto ended = sessions_.extract(session);
  if (ended.empty()) return;
  clock_.cancel(ended.mapped().timer);
  ++zxid_;
  acting_ = session;
  for (const std::string& path : ended.mapped().ephemerals) erase(path);
  acting_ = {};
  for (Server* server : servers_) server->on_session_gone(session);
}

std::optional<Instant> SimEnsemble::last_touch(SessionId session) const {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return std::nullopt;
  return found->second.last_touch;
}

std::vector<std::string> SimEnsemble::ephemerals(SessionId session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? std::vector<std::string>() : found->second.ephemerals;
}

void SimEnsemble::restart() {
  zxid_ = ((zxid_ >> 32) + 1) << 32;
  has_leader_ = true;
  for (auto& [id, session] : sessions_) session.last_touch = clock_.now();
  resume_leader();
}

void SimEnsemble::resume_leader() {
  if (!std::exchange(leader_is_paused_, false)) return;
  std::vector<SessionId> overdue;
  for (auto& [id, session] : sessions_) {
    if (session.timeout == Duration::zero() || session.timer != TimerId{}) continue;
    if (session.last_touch + session.timeout <= clock_.now()) {
      overdue.push_back(id);
    } else {
      watch_over(id, session);
    }
  }
  for (const SessionId id : overdue) end_session(id);
  for (Server* server : servers_) server->on_leader_resumed();
}

void SimEnsemble::empty() {
  auto sessions = std::exchange(sessions_, {});
  for (auto& [id, session] : sessions) clock_.cancel(session.timer);
  tree_ = Tree();
  zxid_ = kFirstZxid;
  for (const auto& [id, session] : sessions) {
    for (Server* server : servers_) server->on_session_gone(id);
  }
}

}  // namespace zklock::model
