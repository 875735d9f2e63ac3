// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/predecessor_watches.h"

#include <utility>

#include "zklock/recipes/contender.h"

namespace zklock::recipes {

namespace request = client::request;

void PredecessorWatches::watch(const std::string& node, SessionId session) {
  // The same node may be watched again while an event of its earlier watch is on its way.
  const std::uint64_t serial = ++last_;
  request::GetAndWatch watch{.path = contender_.engine().path().child(node), .on_event = {}};
  watch.on_event =
      contender_.entering([node, serial](Contender& c, SessionId, request::WatchEvent event) {
        if (c.predecessors().forget(serial)) c.predecessor_event(node, event);
      });
  const auto id = contender_.core().coordinator().submit(
      {.operation = std::move(watch), .session = session},
      contender_.entering([node, serial](Contender& c, const client::Reply& reply) {
        if (reply.status != core::Status::ok) c.predecessors().forget(serial);
        c.predecessor_watched(node, reply);
      }));
  watches_.push_back({serial, id});
}

bool PredecessorWatches::forget(std::uint64_t serial) noexcept {
  return std::erase_if(watches_, [&](const Watch& each) { return each.serial == serial; }) > 0;
}

void PredecessorWatches::end() noexcept {
  for (const Watch& each : watches_) contender_.core().coordinator().unwatch(each.id);
  watches_.clear();
}

}  // namespace zklock::recipes
