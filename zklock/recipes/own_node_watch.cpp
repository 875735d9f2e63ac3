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
  const client::RequestId id = id_;
  forget();
  if (id != client::RequestId{}) place_.core().coordinator().unwatch(id);
}

void OwnNodeWatch::forget() noexcept {
  id_ = {};
  ++round_;
}

void OwnNodeWatch::tick() {
  if (id_ == client::RequestId{} && std::exchange(due_, true)) arm();
}

/// `step`, unless this watch has moved on meanwhile.
template <class Step>
auto OwnNodeWatch::step(Step step) {
  return place_.entering(
      [this, round = round_, step = std::move(step)](Place&, const auto&... news) {
        if (round == round_) step(news...);  // the place is alive, and so is its part
      });
}

void OwnNodeWatch::arm() {
  request::GetAndWatch watch{.path = place_.engine().path().child(place_.own_name()),
                             .on_event = {}};
  watch.on_event = step([this](SessionId, request::WatchEvent event) {
    id_ = {};  // if it was only changed: again at the next tick
    if (event == request::WatchEvent::deleted) place_.own_node_gone();
  });
  id_ = place_.core().coordinator().submit(
      {.operation = std::move(watch), .session = place_.session()},
      step([this](const client::Reply& reply) {
        // Where the parent was deleted, and made anew, another node may have the same name.
        const bool there = reply.status == core::Status::ok;
        const bool gone = reply.status == core::Status::no_node || (there && !place_.is_own(reply));
        if (there && !gone) return;
        if (there) disarm();
        id_ = {};  // again at the next tick
        if (gone) place_.own_node_gone();
      }));
}

}  // namespace zklock::recipes
