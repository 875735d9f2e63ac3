// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/arrival_watch.h"

#include <utility>

#include "zklock/engine/cohort.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace request = client::request;

void ArrivalWatch::begin() {
  request::ListAndWatch watch{.path = node_.path_lock().path().str(), .on_event = {}};
  watch.on_event = on_event([this](request::WatchEvent) {
    armed_ = false;
    again();
    node_.local()->somebody_came(node_);
  });
  ask(std::move(watch), [this](const client::Reply& reply) {
    armed_ = reply.status == core::Status::ok;
    if (!armed_) again();
    node_.local()->listed(node_, reply);
  });
}

void ArrivalWatch::end() noexcept {
  armed_ = false;
  disarm();
}

}  // namespace zklock::detail
