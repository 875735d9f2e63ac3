// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/watch_registry.h"

#include <algorithm>

namespace zklock::client {

bool WatchRegistry::expect(RequestId id, const Watch& watch, OnEvent on_event) {
  Paths& paths = of_kind(watch.kind);
  auto found = paths.find(watch.path);
  if (found == paths.end()) {
    if (watch.path.size() > max_bytes_ - bytes_) return false;
    found = paths.emplace(watch.path, Watched{watch.kind}).first;
    bytes_ += watch.path.size();
  }
  interests_.try_emplace(id, id, *found, std::move(on_event));
  ++found->second.in_flight;
  return true;
}

std::optional<Watch> WatchRegistry::settle(RequestId id, ServerWatch at_servers) noexcept {
  const auto found = interests_.find(id);
  if (found == interests_.end() || found->second.entry == nullptr) return std::nullopt;
  Interest& interest = found->second;
  Watched& watched = interest.entry->second;
  const bool has_watch = at_servers != ServerWatch::nothing && at_servers != ServerWatch::refused;
  if (has_watch) watched.server_watches = true;
  if (at_servers == ServerWatch::nothing || at_servers == ServerWatch::kept) return drop(found);
  const bool unreadable = at_servers != ServerWatch::armed;
  if (unreadable && !std::exchange(watched.unreadable, true)) ++unreadable_;
  if (!interest.on_event) return drop(found);
  watched.armed.push_back(interest);
  --watched.in_flight;
  return std::nullopt;
}

std::optional<Watch> WatchRegistry::cancel(RequestId id) noexcept {
  const auto found = interests_.find(id);
  if (found == interests_.end()) return std::nullopt;
  if (found->second.entry == nullptr) {  // fired
    interests_.erase(found);
    return std::nullopt;
  }
  if (found->second.is_linked()) return drop(found);
  // The server may set the watch at any moment. If the reply confirms it, settle() has it removed.
  found->second.on_event = nullptr;
  return std::nullopt;
}

std::vector<RequestId> WatchRegistry::fire(const std::string& path, request::WatchEvent event) {
  std::vector<RequestId> ids;
  for (const WatchKind kind : {WatchKind::data, WatchKind::children}) {
    if (!concerns(event, kind)) continue;
    const auto found = of_kind(kind).find(path);
    if (found == of_kind(kind).end()) continue;
    Watched& watched = found->second;
    watched.server_watches = false;
    while (!watched.armed.empty()) {
      ids.push_back(watched.armed.front().id);
      detach(watched.armed.front());
    }
    end_if_idle(*found);
  }
  std::ranges::sort(ids);
  return ids;
}

WatchRegistry::OnEvent WatchRegistry::take_fired(RequestId id) {
  auto fired = interests_.extract(id);
  return fired ? std::move(fired.mapped().on_event) : OnEvent();
}

std::vector<std::string> WatchRegistry::begin_presence_checks() {
  std::vector<std::string> paths;
  for (Paths& watched : watched_) {
    for (auto& [path, watch] : watched) {
      if (!watch.unreadable || watch.is_being_checked) continue;
      paths.push_back(path);
      watch.is_being_checked = true;
    }
  }
  return paths;
}

void WatchRegistry::end_presence_check(const std::string& path) noexcept {
  for (Paths& watched : watched_) {
    if (const auto found = watched.find(path); found != watched.end()) {
      found->second.is_being_checked = false;
    }
  }
}

bool WatchRegistry::is_at_servers(const Watch& watch) const {
  const auto found = of_kind(watch.kind).find(watch.path);
  return found != of_kind(watch.kind).end() && found->second.server_watches;
}

bool WatchRegistry::begin_removal(const Watch& watch) {
  const auto found = of_kind(watch.kind).find(watch.path);
  if (found == of_kind(watch.kind).end()) return true;
  found->second.server_watches = true;
  return false;
}

void WatchRegistry::clear() noexcept {
  interests_.clear();
  for (Paths& paths : watched_) paths.clear();
  bytes_ = 0;
  unreadable_ = 0;
}

void WatchRegistry::detach(Interest& interest) noexcept {
  if (interest.is_linked()) {
    interest.unlink();
  } else {
    --interest.entry->second.in_flight;
  }
  interest.entry = nullptr;
}

std::optional<Watch> WatchRegistry::drop(Interests::iterator interest) noexcept {
  Entry& entry = *interest->second.entry;
  detach(interest->second);
  interests_.erase(interest);
  return end_if_idle(entry);
}

std::optional<Watch> WatchRegistry::end_if_idle(Entry& entry) noexcept {
  if (!entry.second.armed.empty() || entry.second.in_flight > 0) return std::nullopt;
  Paths& paths = of_kind(entry.second.kind);
  auto idle = paths.extract(paths.find(entry.first));
  bytes_ -= idle.key().size();
  if (idle.mapped().unreadable) --unreadable_;
  if (!idle.mapped().server_watches) return std::nullopt;
  return Watch{std::move(idle.key()), idle.mapped().kind};
}

}  // namespace zklock::client
