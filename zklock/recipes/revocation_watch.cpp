// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/revocation_watch.h"

#include <string>
#include <utility>

#include "zklock/core/revocation.h"
#include "zklock/recipes/contender.h"

namespace zklock::recipes {

namespace request = client::request;
using core::Status;

/// `step`, unless this watch has moved on meanwhile.
template <class Step>
auto RevocationWatch::step(Step step) {
  return contender_.entering(
      [this, round = round_, step = std::move(step)](Contender&, const auto&... news) {
        if (round == round_) step(news...);  // the contender is alive, and so is its part
      });
}

void RevocationWatch::tick() {
  if (id_ == client::RequestId{} && std::exchange(due_, true)) look();
}

void RevocationWatch::disarm() noexcept {
  ++round_;
  if (id_ == client::RequestId{}) return;
  contender_.core().coordinator().unwatch(std::exchange(id_, {}));
}

void RevocationWatch::look() {
  disarm();
  request::ExistsAndWatch watch{.path = contender_.revocation_marker(), .on_event = {}};
  watch.on_event = step([this](SessionId, request::WatchEvent) { read(true); });
  id_ = contender_.core().coordinator().submit(
      {.operation = std::move(watch), .session = contender_.session()},
      step([this](const client::Reply& reply) {
        if (reply.status == Status::ok) return read(true);
        if (reply.status != Status::no_node) id_ = {};  // again at the next tick
      }));
}

void RevocationWatch::read(bool anew) {
  disarm();
  request::GetAndWatch watch{.path = contender_.revocation_marker(), .on_event = {}};
  watch.on_event = step([this](SessionId, request::WatchEvent event) {
    event == request::WatchEvent::changed ? read(false) : look();
  });
  id_ = contender_.core().coordinator().submit(
      {.operation = std::move(watch), .session = contender_.session()},
      step([this, anew](const client::Reply& reply) {
        if (reply.status == Status::no_node) return look();
        if (reply.status != Status::ok) {
          id_ = {};  // again at the next tick
        } else if (reply.data == core::revocation_forces) {
          contender_.forced_to_release();
        } else if (anew) {
          contender_.asked_to_release();
        }
      }));
}

}  // namespace zklock::recipes
