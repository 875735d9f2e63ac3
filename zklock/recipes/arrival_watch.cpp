// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/arrival_watch.h"

#include <utility>

#include "zklock/recipes/local_queue.h"
#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;

void ArrivalWatch::look() {
  if (state_ != State::off) return;
  state_ = State::asking;
  request::ListAndWatch watch{.path = place_.engine().path().str(), .on_event = {}};
  watch.on_event = on_event([this](request::WatchEvent) {
    state_ = State::off;
    again();
    place_.local()->somebody_came(place_);
  });
  ask(std::move(watch), [this](const client::Reply& reply) {
    const bool listed = reply.status == core::Status::ok;
    state_ = listed ? State::armed : State::off;
    if (!listed) again();
    place_.local()->listed(place_, reply);
  });
}

void ArrivalWatch::end() noexcept {
  state_ = State::off;
  disarm();
}

}  // namespace zklock::recipes
