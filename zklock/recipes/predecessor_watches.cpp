// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/predecessor_watches.h"

#include <utility>

#include "zklock/recipes/contender.h"

namespace zklock::recipes {

namespace request = client::request;

void PredecessorWatches::watch(const std::string& node, SessionId session) {
  request::GetAndWatch watch{.path = contender_.engine().path().child(node), .on_event = {}};
  watch.on_event = contender_.entering(
      [node, own = contender_.own_name()](Contender& c, SessionId of, request::WatchEvent event) {
        if (of != c.session() || own != c.own_name()) return;
        c.predecessors().forget(node);
        c.predecessor_event(node, event);
      });
  const auto id = contender_.core().coordinator().submit(
      {.operation = std::move(watch), .session = session},
      contender_.entering([node](Contender& c, const client::Reply& reply) {
        if (reply.status != core::Status::ok) c.predecessors().forget(node);
        c.predecessor_watched(node, reply);
      }));
  watches_.push_back({node, id});
}

void PredecessorWatches::forget(const std::string& node) noexcept {
  std::erase_if(watches_, [&](const Watch& each) { return each.node == node; });
}

void PredecessorWatches::end() noexcept {
  for (const Watch& each : watches_) contender_.core().coordinator().unwatch(each.id);
  watches_.clear();
}

}  // namespace zklock::recipes
