// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/own_node_watch.h"

#include <utility>

#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;

void OwnNodeWatch::begin() {
  request::GetAndWatch watch{.path = place_.engine().path().child(place_.own_name()),
                             .on_event = {}};
  watch.on_event = on_event([this](request::WatchEvent event) {
    again();  // also after a change of the data
    if (event == request::WatchEvent::deleted) place_.own_node_gone();
  });
  ask(std::move(watch), [this](const client::Reply& reply) {
    // If the path was recreated, another znode may have this name.
    const bool there = reply.status == core::Status::ok;
    const bool gone = reply.status == core::Status::no_node || (there && !place_.is_own(reply));
    if (there && !gone) return;
    there ? disarm() : again();
    if (gone) place_.own_node_gone();
  });
}

}  // namespace zklock::recipes
