// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/own_node_watch.h"

#include <utility>

#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;

void OwnNodeWatch::renew() noexcept {
  disarm();
  due_ = false;
}

void OwnNodeWatch::disarm() noexcept {
  if (id_ == client::RequestId{}) return;
  place_.core().coordinator().unwatch(std::exchange(id_, {}));
}

void OwnNodeWatch::tick() {
  if (id_ == client::RequestId{} && std::exchange(due_, true)) arm();
}

void OwnNodeWatch::arm() {
  const std::string name = place_.own_name();
  request::GetAndWatch watch{.path = place_.engine().path().child(name), .on_event = {}};
  watch.on_event = place_.entering([name](Place& p, SessionId, request::WatchEvent event) {
    if (p.own_name() != name) return;
    p.own_watch().id_ = {};  // if it was only changed: again at the next tick
    if (event == request::WatchEvent::deleted) p.own_node_gone();
  });
  id_ = place_.core().coordinator().submit(
      {.operation = std::move(watch), .session = place_.session()},
      place_.entering([name](Place& p, const client::Reply& reply) {
        if (p.own_name() != name) return;
        // Where the parent was deleted, and made anew, another node may have the same name.
        const bool there = reply.status == core::Status::ok;
        const bool gone = reply.status == core::Status::no_node || (there && !p.is_own(reply));
        if (there && !gone) return;
        if (there) p.own_watch().disarm();
        p.own_watch().id_ = {};  // again at the next tick
        if (gone) p.own_node_gone();
      }));
}

}  // namespace zklock::recipes
