// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/own_node_watch.h"

#include <utility>

#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace request = client::request;

void OwnNodeWatch::begin() {
  request::GetAndWatch watch{.path = node_.path_lock().path().child(node_.own_name()),
                             .on_event = {}};
  watch.on_event = on_event([this](request::WatchEvent event) {
    again();  // also after a change of the data
    if (event == request::WatchEvent::deleted) node_.on_own_node_deleted();
  });
  ask(std::move(watch), [this](const client::Reply& reply) {
    // If the path was recreated, another znode may have this name.
    const bool there = reply.status == core::Status::ok;
    const bool gone = reply.status == core::Status::no_node || (there && !node_.is_own(reply));
    if (there && !gone) return;
    there ? disarm() : again();
    if (gone) node_.on_own_node_deleted();
  });
}

}  // namespace zklock::detail
