// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/ticked_watch.h"

#include <utility>

#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace request = client::request;

bool TickedWatch::tick() {
  if (id_ != client::RequestId{}) return false;
  begin();
  return true;
}

void TickedWatch::disarm() noexcept {
  const client::RequestId id = id_;
  forget();
  if (id != client::RequestId{}) node_.core().coordinator().unwatch(id);
}

void TickedWatch::forget() noexcept {
  id_ = {};
  ++round_;
}

void TickedWatch::ask(client::Operation watch, std::function<void(const client::Reply&)> answered) {
  id_ = node_.core().coordinator().submit(
      {.operation = std::move(watch), .session = node_.session()},
      node_.entering([this, round = round_, answered = std::move(answered)](
                         LockNode&, const client::Reply& reply) {
        if (round == round_) answered(reply);  // the lock node exists, so this part of it does too
      }));
}

request::OnWatchEvent TickedWatch::on_event(std::function<void(request::WatchEvent)> happened) {
  return node_.entering([this, round = round_, happened = std::move(happened)](
                            LockNode&, core::SessionId, request::WatchEvent event) {
    if (round == round_) happened(event);
  });
}

}  // namespace zklock::detail
