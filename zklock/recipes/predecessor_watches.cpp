// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/predecessor_watches.h"

#include <utility>

#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;

void PredecessorWatches::watch(const std::string& node, SessionId session) {
  // The same node may be watched again while an event of its earlier watch is on its way.
  const std::uint64_t serial = ++last_;
  request::GetAndWatch watch{.path = place_.engine().path().child(node), .on_event = {}};
  watch.on_event = place_.entering([node, serial](Place& p, SessionId, request::WatchEvent event) {
    if (p.predecessors().forget(serial)) p.predecessor_event(node, event);
  });
  const auto id = place_.core().coordinator().submit(
      {.operation = std::move(watch), .session = session},
      place_.entering([node, serial](Place& p, const client::Reply& reply) {
        if (reply.status != core::Status::ok) p.predecessors().forget(serial);
        p.predecessor_watched(node, reply);
      }));
  watches_.push_back({serial, id});
}

bool PredecessorWatches::forget(std::uint64_t serial) noexcept {
  return std::erase_if(watches_, [&](const Watch& each) { return each.serial == serial; }) > 0;
}

void PredecessorWatches::end() noexcept {
  for (const Watch& each : watches_) place_.core().coordinator().unwatch(each.id);
  watches_.clear();
}

}  // namespace zklock::recipes
