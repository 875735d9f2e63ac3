// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/own_node_watch.h"

#include <utility>

#include "zklock/recipes/contender.h"

namespace zklock::recipes {

namespace request = client::request;

void OwnNodeWatch::renew() noexcept {
  disarm();
  due_ = false;
}

void OwnNodeWatch::disarm() noexcept {
  if (id_ == client::RequestId{}) return;
  contender_.core().coordinator().unwatch(std::exchange(id_, {}));
}

void OwnNodeWatch::tick() {
  if (id_ == client::RequestId{} && std::exchange(due_, true)) arm();
}

void OwnNodeWatch::arm() {
  const std::string name = contender_.own_name();
  request::GetAndWatch watch{.path = contender_.engine().path().child(name), .on_event = {}};
  watch.on_event = contender_.entering([name](Contender& c, SessionId, request::WatchEvent event) {
    if (c.own_name() != name) return;
    c.own_watch().id_ = {};  // if it was only changed: again at the next tick
    if (event == request::WatchEvent::deleted) c.own_node_gone();
  });
  id_ = contender_.core().coordinator().submit(
      {.operation = std::move(watch), .session = contender_.session()},
      contender_.entering([name](Contender& c, const client::Reply& reply) {
        if (c.own_name() != name) return;
        // Where the parent was deleted, and made anew, another node may have the same name.
        const bool there = reply.status == core::Status::ok;
        const bool gone = reply.status == core::Status::no_node || (there && !c.is_own(reply));
        if (there && !gone) return;
        if (there) c.own_watch().disarm();
        c.own_watch().id_ = {};  // again at the next tick
        if (gone) c.own_node_gone();
      }));
}

}  // namespace zklock::recipes
