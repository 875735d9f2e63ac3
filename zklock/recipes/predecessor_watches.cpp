// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/predecessor_watches.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;

namespace {

std::uint32_t connection_of(const Place& place) noexcept {
  return static_cast<std::uint32_t>(place.core().keeper().connection());
}

}  // namespace

void PredecessorWatches::watch(Place& place, const std::string& node, SessionId session) {
  // The znode may be watched again while an event of its earlier watch is under way.
  const std::uint32_t serial = ++last_;
  connection_ = connection_of(place);
  // While the watch is not forgotten, the machine's list of predecessors does not change. So an
  // index is enough to name the znode.
  const auto& all = place.waited_for();
  const auto which = static_cast<std::uint32_t>(std::ranges::find(all, node) - all.begin());
  request::GetAndWatch watch{.path = place.engine().path().child(node), .on_event = {}};
  watch.on_event = place.entering([which, serial](Place& p, SessionId, request::WatchEvent event) {
    if (p.predecessors().forget(p, serial)) p.predecessor_event(which, event);
  });
  const auto id = place.core().coordinator().submit(
      {.operation = std::move(watch), .session = session},
      place.entering([node, serial](Place& p, const client::Reply& reply) {
        p.predecessors().answered(p, serial, reply);
        p.predecessor_watched(node, reply);
      }));
  watches_.push_back({.serial = serial, .id = id});
}

bool PredecessorWatches::on_same_connection(const Place& place) const noexcept {
  return connection_ == connection_of(place);
}

void PredecessorWatches::answered(Place& place, std::uint32_t serial, const client::Reply& reply) {
  if (reply.status != core::Status::ok) {
    forget(place, serial);
    return;
  }
  const bool stands = std::ranges::find(watches_, serial, &Watch::serial) != watches_.end();
  const bool own = reply.ephemeral_owner == place.session();
  if (stands) token_ = reply.token;
  if (!stands || !own || !place.stands_by_number()) return;
  try {
    place.engine().own_successors().wait(reply.token, place.weak_from_this());
  } catch (const std::exception&) {  // no memory: the watch event arrives anyway
  }
}

bool PredecessorWatches::forget(Place& place, std::uint32_t serial) noexcept {
  const auto watch = std::ranges::find(watches_, serial, &Watch::serial);
  if (watch == watches_.end()) return false;
  watches_.erase(watch);
  if (watches_.empty()) drop(place);
  return true;
}

void PredecessorWatches::end(Place& place) noexcept {
  for (const Watch& each : watches_) place.core().coordinator().unwatch(each.id);
  drop(place);
}

void PredecessorWatches::drop(Place& place) noexcept {
  watches_.clear();
  auto& successors = place.engine().own_successors();
  if (!successors.empty()) successors.leave(token_, place.weak_from_this());
}

}  // namespace zklock::recipes
