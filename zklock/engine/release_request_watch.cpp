// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/release_request_watch.h"

#include <utility>

#include "zklock/core/release_request_data.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace request = client::request;
using core::Status;

void ReleaseRequestWatch::look() {
  disarm();
  request::ExistsAndWatch watch{.path = node_.release_request_path(), .on_event = {}};
  watch.on_event = on_event([this](request::WatchEvent) { read(true); });
  ask(std::move(watch), [this](const client::Reply& reply) {
    if (reply.status == Status::ok) return read(true);
    if (reply.status != Status::no_node) again();
  });
}

void ReleaseRequestWatch::read(bool anew) {
  disarm();
  request::GetAndWatch watch{.path = node_.release_request_path(), .on_event = {}};
  watch.on_event = on_event([this](request::WatchEvent event) {
    event == request::WatchEvent::changed ? read(false) : look();
  });
  ask(std::move(watch), [this, anew](const client::Reply& reply) {
    if (reply.status == Status::no_node) return look();
    if (reply.status != Status::ok) {
      again();
    } else if (reply.data == core::release_request_forces) {
      node_.on_release_forced();
    } else if (anew) {
      node_.on_release_requested();
    }
  });
}

}  // namespace zklock::detail
