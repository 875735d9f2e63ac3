// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/watch_registry.h"

#include <algorithm>
#include <utility>

namespace zklock::client {

bool WatchRegistry::expect(RequestId id, const Watch& watch, OnEvent on_event) {
  Paths& paths = of_kind(watch.kind);
  auto found = paths.find(watch.path);
  if (found == paths.end()) {
    if (watch.path.size() > max_bytes_ - bytes_) return false;
    found = paths.emplace(watch.path, Watched{watch.kind}).first;
    bytes_ += watch.path.size();
  }
  Interests::value_type*& first = found->second.interests;
  first = &*interests_.emplace(id, Interest{&*found, first, std::move(on_event)}).first;
  return true;
}

std::optional<Watch> WatchRegistry::arm(RequestId id, bool mute) {
  const auto found = interests_.find(id);
  if (found == interests_.end()) return std::nullopt;
  Interest& interest = found->second;
  Watched& watched = interest.entry->second;
  watched.server_watches = true;
  if (mute && !std::exchange(watched.mute, true)) ++mute_;
  if (interest.state == State::unwanted) return drop(found);
  interest.state = State::armed;
  return std::nullopt;
}

std::optional<Watch> WatchRegistry::fail(RequestId id, bool server_watches) {
  const auto found = interests_.find(id);
  if (found == interests_.end()) return std::nullopt;
  if (server_watches) found->second.entry->second.server_watches = true;
  return drop(found);
}

std::optional<Watch> WatchRegistry::cancel(RequestId id) {
  fired_.erase(id);
  const auto found = interests_.find(id);
  if (found == interests_.end()) return std::nullopt;
  Interest& cancelled = found->second;
  if (cancelled.state == State::armed) return drop(found);
  // The watch may be set at any moment: it is removed when the reply tells.
  cancelled.state = State::unwanted;
  cancelled.on_event = nullptr;
  return std::nullopt;
}

std::vector<RequestId> WatchRegistry::fire(const std::string& path, request::WatchEvent event) {
  std::vector<RequestId> ids;
  for (const WatchKind kind : {WatchKind::data, WatchKind::children}) {
    if (!concerns(event, kind)) continue;
    const auto found = of_kind(kind).find(path);
    if (found == of_kind(kind).end()) continue;
    found->second.server_watches = false;
    for (auto** link = &found->second.interests; *link != nullptr;) {
      auto& [id, interest] = **link;
      if (interest.state != State::armed) {
        link = &interest.next;
        continue;
      }
      ids.push_back(id);
      fired_[id] = std::move(interest.on_event);
      *link = interest.next;
      interests_.erase(ids.back());
    }
    end_if_idle(*found);
  }
  std::ranges::sort(ids);
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
  for (const Paths& watched : watched_) {
    for (const auto& [path, watch] : watched) {
      if (watch.mute) paths.push_back(path);
    }
  }
  return paths;
}

bool WatchRegistry::may_remove(const Watch& watch) {
  const auto found = of_kind(watch.kind).find(watch.path);
  if (found == of_kind(watch.kind).end()) return true;
  found->second.server_watches = true;
  return false;
}

void WatchRegistry::clear() noexcept {
  interests_.clear();
  for (Paths& paths : watched_) paths.clear();
  fired_.clear();
  bytes_ = 0;
  mute_ = 0;
}

std::optional<Watch> WatchRegistry::drop(Interests::iterator interest) {
  Entry& entry = *interest->second.entry;
  auto** link = &entry.second.interests;
  while (*link != &*interest) link = &(*link)->second.next;
  *link = interest->second.next;
  interests_.erase(interest);
  return end_if_idle(entry);
}

std::optional<Watch> WatchRegistry::end_if_idle(Entry& entry) {
  const auto& [path, watched] = entry;
  if (watched.interests != nullptr) return std::nullopt;
  std::optional<Watch> remove;
  if (watched.server_watches) remove = Watch{path, watched.kind};
  bytes_ -= path.size();
  if (watched.mute) --mute_;
  Paths& paths = of_kind(watched.kind);
  paths.erase(paths.find(path));
  return remove;
}

}  // namespace zklock::client
