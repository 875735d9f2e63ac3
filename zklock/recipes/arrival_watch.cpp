// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/arrival_watch.h"

#include <utility>

#include "zklock/recipes/local_queue.h"
#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;

void ArrivalWatch::begin() {
  request::ListAndWatch watch{.path = place_.engine().path().str(), .on_event = {}};
  watch.on_event = on_event([this](request::WatchEvent) {
    armed_ = false;
    again();
    place_.local()->somebody_came(place_);
  });
  ask(std::move(watch), [this](const client::Reply& reply) {
    armed_ = reply.status == core::Status::ok;
    if (!armed_) again();
    place_.local()->listed(place_, reply);
  });
}

void ArrivalWatch::end() noexcept {
  armed_ = false;
  disarm();
}

}  // namespace zklock::recipes
