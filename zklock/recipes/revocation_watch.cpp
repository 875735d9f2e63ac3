// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/revocation_watch.h"

#include <string>
#include <utility>

#include "zklock/core/revocation.h"
#include "zklock/recipes/place.h"

namespace zklock::recipes {

namespace request = client::request;
using core::Status;

/// `step`, unless this watch has moved on meanwhile.
template <class Step>
auto RevocationWatch::step(Step step) {
  return place_.entering(
      [this, round = round_, step = std::move(step)](Place&, const auto&... news) {
        if (round == round_) step(news...);  // the contender is alive, and so is its part
      });
}

void RevocationWatch::tick() {
  if (id_ == client::RequestId{} && std::exchange(due_, true)) look();
}

void RevocationWatch::disarm() noexcept {
  ++round_;
  if (id_ == client::RequestId{}) return;
  place_.core().coordinator().unwatch(std::exchange(id_, {}));
}

void RevocationWatch::look() {
  disarm();
  request::ExistsAndWatch watch{.path = place_.revocation_marker(), .on_event = {}};
  watch.on_event = step([this](SessionId, request::WatchEvent) { read(true); });
  id_ = place_.core().coordinator().submit(
      {.operation = std::move(watch), .session = place_.session()},
      step([this](const client::Reply& reply) {
        if (reply.status == Status::ok) return read(true);
        if (reply.status != Status::no_node) id_ = {};  // again at the next tick
      }));
}

void RevocationWatch::read(bool anew) {
  disarm();
  request::GetAndWatch watch{.path = place_.revocation_marker(), .on_event = {}};
  watch.on_event = step([this](SessionId, request::WatchEvent event) {
    event == request::WatchEvent::changed ? read(false) : look();
  });
  id_ = place_.core().coordinator().submit(
      {.operation = std::move(watch), .session = place_.session()},
      step([this, anew](const client::Reply& reply) {
        if (reply.status == Status::no_node) return look();
        if (reply.status != Status::ok) {
          id_ = {};  // again at the next tick
        } else if (reply.data == core::revocation_forces) {
          place_.forced_to_release();
        } else if (anew) {
          place_.asked_to_release();
        }
      }));
}

}  // namespace zklock::recipes
