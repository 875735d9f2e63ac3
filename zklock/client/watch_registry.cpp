// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/watch_registry.h"

#include <algorithm>
#include <utility>

namespace zklock::client {

bool WatchRegistry::expect(RequestId id, const Watch& watch, OnEvent on_event) {
  auto found = watched_.find(watch);
  if (found == watched_.end()) {
    if (watch.path.size() > max_bytes_ - bytes_) return false;
    found = watched_.try_emplace(watch).first;
    bytes_ += watch.path.size();
  }
  found->second.interests.push_back({id, State::expected, std::move(on_event)});
  entries_[id] = &*found;
  return true;
}

std::optional<Watch> WatchRegistry::arm(RequestId id, bool mute) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = *found->second;
  entry.second.server_watches = true;
  if (mute && !std::exchange(entry.second.mute, true)) ++mute_;
  State& state = interest(entry, id).state;
  if (state == State::unwanted) return drop(entry, id);
  state = State::armed;
  return std::nullopt;
}

std::optional<Watch> WatchRegistry::fail(RequestId id, bool server_watches) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = *found->second;
  if (server_watches) entry.second.server_watches = true;
  return drop(entry, id);
}

std::optional<Watch> WatchRegistry::cancel(RequestId id) {
  fired_.erase(id);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = *found->second;
  Interest& cancelled = interest(entry, id);
  if (cancelled.state == State::armed) return drop(entry, id);
  // The watch may be set at any moment: it is removed when the reply tells.
  cancelled.state = State::unwanted;
  cancelled.on_event = nullptr;
  return std::nullopt;
}

std::vector<RequestId> WatchRegistry::fire(const std::string& path, request::WatchEvent event) {
  std::vector<RequestId> ids;
  for (const WatchKind kind : {WatchKind::data, WatchKind::children}) {
    if (!concerns(event, kind)) continue;
    const auto found = watched_.find({path, kind});
    if (found == watched_.end()) continue;
    Watched& watched = found->second;
    watched.server_watches = false;
    std::erase_if(watched.interests, [&](Interest& each) {
      if (each.state != State::armed) return false;
      ids.push_back(each.id);
      fired_[each.id] = std::move(each.on_event);
      entries_.erase(each.id);
      return true;
    });
    if (watched.interests.empty()) end(*found);
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
  entries_.clear();
  watched_.clear();
  fired_.clear();
  bytes_ = 0;
  mute_ = 0;
}

WatchRegistry::Interest& WatchRegistry::interest(Entry& entry, RequestId id) noexcept {
  return *std::ranges::find(entry.second.interests, id, &Interest::id);
}

std::optional<Watch> WatchRegistry::drop(Entry& entry, RequestId id) {
  entries_.erase(id);
  auto& [watch, watched] = entry;
  std::swap(interest(entry, id), watched.interests.back());
  watched.interests.pop_back();
  if (!watched.interests.empty()) return std::nullopt;
  std::optional<Watch> remove;
  if (watched.server_watches) remove = watch;
  end(entry);
  return remove;
}

void WatchRegistry::end(const Entry& entry) {
  bytes_ -= entry.first.path.size();
  if (entry.second.mute) --mute_;
  watched_.erase(watched_.find(entry.first));
}

}  // namespace zklock::client
