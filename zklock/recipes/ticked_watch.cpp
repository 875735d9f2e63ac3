// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/ticked_watch.h"

#include <utility>

#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;

bool TickedWatch::tick() {
  if (id_ != client::RequestId{}) return false;
  begin();
  return true;
}

void TickedWatch::disarm() noexcept {
  const client::RequestId id = id_;
  forget();
  if (id != client::RequestId{}) place_.core().coordinator().unwatch(id);
}

void TickedWatch::forget() noexcept {
  id_ = {};
  ++round_;
}

void TickedWatch::ask(client::Operation watch, std::function<void(const client::Reply&)> answered) {
  id_ = place_.core().coordinator().submit(
      {.operation = std::move(watch), .session = place_.session()},
      place_.entering([this, round = round_, answered = std::move(answered)](
                          Place&, const client::Reply& reply) {
        if (round == round_) answered(reply);  // the place exists, so this part of it does too
      }));
}

request::OnWatchEvent TickedWatch::on_event(std::function<void(request::WatchEvent)> happened) {
  return place_.entering([this, round = round_, happened = std::move(happened)](
                             Place&, core::SessionId, request::WatchEvent event) {
    if (round == round_) happened(event);
  });
}

}  // namespace zklock::recipes
