// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/watch_registry.h"

#include <utility>

namespace zklock::client {

bool WatchRegistry::expect(RequestId id, const Watch& watch, OnEvent on_event) {
  if (!watched_.contains(watch)) {
    if (watch.path.size() > max_bytes_ - bytes_) return false;
    bytes_ += watch.path.size();
  }
  watched_[watch].interests.insert(id);
  interests_[id] = {watch, State::expected, std::move(on_event)};
  return true;
}

std::optional<Watch> WatchRegistry::arm(RequestId id, bool mute) {
  const auto found = interests_.find(id);
  if (found == interests_.end()) return std::nullopt;
  Watched& watched = watched_[found->second.watch];
  watched.server_watches = true;
  if (mute && !std::exchange(watched.mute, true)) ++mute_;
  if (found->second.state == State::unwanted) return drop(id);
  found->second.state = State::armed;
  return std::nullopt;
}

std::optional<Watch> WatchRegistry::fail(RequestId id, bool server_watches) {
  const auto found = interests_.find(id);
  if (found == interests_.end()) return std::nullopt;
  if (server_watches) watched_[found->second.watch].server_watches = true;
  return drop(id);
}

std::optional<Watch> WatchRegistry::cancel(RequestId id) {
  fired_.erase(id);
  const auto found = interests_.find(id);
  if (found == interests_.end()) return std::nullopt;
  if (found->second.state == State::armed) return drop(id);
  // The watch may be set at any moment: it is removed when the reply tells.
  found->second.state = State::unwanted;
  found->second.on_event = nullptr;
  return std::nullopt;
}

std::vector<RequestId> WatchRegistry::fire(const std::string& path, request::WatchEvent event) {
  std::set<RequestId> ids;
  for (const WatchKind kind : {WatchKind::data, WatchKind::children}) {
    if (!concerns(event, kind)) continue;
    const auto found = watched_.find({path, kind});
    if (found == watched_.end()) continue;
    found->second.server_watches = false;
    for (const RequestId id : found->second.interests) {
      if (interests_[id].state == State::armed) ids.insert(id);
    }
  }
  for (const RequestId id : ids) {
    fired_[id] = std::move(interests_[id].on_event);
    (void)drop(id);
  }
  return {ids.begin(), ids.end()};
}

WatchRegistry::OnEvent WatchRegistry::take_fired(RequestId id) {
  const auto found = fired_.find(id);
  if (found == fired_.end()) return {};
  OnEvent on_event = std::move(found->second);
  fired_.erase(found);
  return on_event;
}

std::vector<std::string> WatchRegistry::mute_paths() const {
  std::vector<std::string> paths;
  for (const auto& [watch, entry] : watched_) {
    if (entry.mute) paths.push_back(watch.path);
  }
  return paths;
}

bool WatchRegistry::may_remove(const Watch& watch) {
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return true;
  found->second.server_watches = true;
  return false;
}

void WatchRegistry::clear() noexcept {
  interests_.clear();
  watched_.clear();
  fired_.clear();
  bytes_ = 0;
  mute_ = 0;
}

std::optional<Watch> WatchRegistry::drop(RequestId id) {
  const auto found = interests_.find(id);
  const auto watched = watched_.find(found->second.watch);
  watched->second.interests.erase(id);
  std::optional<Watch> remove;
  if (watched->second.interests.empty()) {
    if (watched->second.server_watches) remove = watched->first;
    bytes_ -= watched->first.path.size();
    if (watched->second.mute) --mute_;
    watched_.erase(watched);
  }
  interests_.erase(found);
  return remove;
}

}  // namespace zklock::client
