// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/arrival_watch.h"

#include <utility>

namespace zklock::detail {

namespace request = client::request;

void ArrivalWatch::look(std::weak_ptr<void> owner, core::SessionId session, Handlers handlers) {
  if (!slot_.is_free()) return;
  request::ListAndWatch watch{.path = path_.path().str(), .on_event = {}};
  watch.on_event = slot_.on_event(
      owner, path_, [this, arrived = std::move(handlers.arrived)](request::WatchEvent) {
        armed_ = false;
        slot_.mark_free();
        arrived();
      });
  slot_.submit(std::move(owner), path_, std::move(watch), session,
               [this, listed = std::move(handlers.listed)](const client::Reply& reply) {
                 armed_ = reply.status == core::Status::ok;
                 if (!armed_) slot_.mark_free();
                 listed(reply);
               });
}

void ArrivalWatch::end() noexcept {
  armed_ = false;
  slot_.disarm(path_);
}

}  // namespace zklock::detail
