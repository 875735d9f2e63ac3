// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/watch_registry.h"

#include <utility>

namespace zklock::client {

bool WatchRegistry::expect(RequestId id, const std::string& path, OnEvent on_event) {
  const auto found = paths_.find(path);
  if (found == paths_.end()) {
    if (path.size() > max_bytes_ - bytes_) return false;
    bytes_ += path.size();
  }
  paths_[path].interests.insert(id);
  interests_[id] = {path, State::expected, std::move(on_event)};
  return true;
}

std::string WatchRegistry::arm(RequestId id, bool mute) {
  const auto found = interests_.find(id);
  if (found == interests_.end()) return {};
  Path& path = paths_[found->second.path];
  path.server_watches = true;
  path.mute = path.mute || mute;
  if (found->second.state == State::unwanted) return drop(id);
  found->second.state = State::armed;
  return {};
}

std::string WatchRegistry::fail(RequestId id, bool server_watches) {
  const auto found = interests_.find(id);
  if (found == interests_.end()) return {};
  if (server_watches) paths_[found->second.path].server_watches = true;
  return drop(id);
}

std::string WatchRegistry::cancel(RequestId id) {
  fired_.erase(id);
  const auto found = interests_.find(id);
  if (found == interests_.end()) return {};
  if (found->second.state == State::armed) return drop(id);
  // The watch may be set at any moment: it is removed when the reply tells.
  found->second.state = State::unwanted;
  found->second.on_event = nullptr;
  return {};
}

std::vector<RequestId> WatchRegistry::fire(const std::string& path) {
  const auto found = paths_.find(path);
  if (found == paths_.end()) return {};
  found->second.server_watches = false;
  std::vector<RequestId> ids;
  for (const RequestId id : found->second.interests) {
    if (interests_[id].state == State::armed) ids.push_back(id);
  }
  for (const RequestId id : ids) {
    fired_[id] = std::move(interests_[id].on_event);
    (void)drop(id);
  }
  return ids;
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
  for (const auto& [path, entry] : paths_) {
    if (entry.mute) paths.push_back(path);
  }
  return paths;
}

bool WatchRegistry::may_remove(const std::string& path) {
  const auto found = paths_.find(path);
  if (found == paths_.end()) return true;
  found->second.server_watches = true;
  return false;
}

void WatchRegistry::clear() noexcept {
  interests_.clear();
  paths_.clear();
  fired_.clear();
  bytes_ = 0;
}

std::string WatchRegistry::drop(RequestId id) {
  const auto found = interests_.find(id);
  const auto path = paths_.find(found->second.path);
  path->second.interests.erase(id);
  std::string remove;
  if (path->second.interests.empty()) {
    if (path->second.server_watches) remove = path->first;
    bytes_ -= path->first.size();
    paths_.erase(path);
  }
  interests_.erase(found);
  return remove;
}

}  // namespace zklock::client
