// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/revocation_watch.h"

#include <utility>

#include "zklock/core/revocation.h"
#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;
using core::Status;

void RevocationWatch::look() {
  disarm();
  request::ExistsAndWatch watch{.path = place_.revocation_marker(), .on_event = {}};
  watch.on_event = on_event([this](request::WatchEvent) { read(true); });
  ask(std::move(watch), [this](const client::Reply& reply) {
    if (reply.status == Status::ok) return read(true);
    if (reply.status != Status::no_node) again();
  });
}

void RevocationWatch::read(bool anew) {
  disarm();
  request::GetAndWatch watch{.path = place_.revocation_marker(), .on_event = {}};
  watch.on_event = on_event([this](request::WatchEvent event) {
    event == request::WatchEvent::changed ? read(false) : look();
  });
  ask(std::move(watch), [this, anew](const client::Reply& reply) {
    if (reply.status == Status::no_node) return look();
    if (reply.status != Status::ok) {
      again();
    } else if (reply.data == core::revocation_forces) {
      place_.forced_to_release();
    } else if (anew) {
      place_.asked_to_release();
    }
  });
}

}  // namespace zklock::recipes
