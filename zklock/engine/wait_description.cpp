// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/wait_description.h"

#include <cstddef>
#include <string>
#include <utility>

#include "zklock/core/permit_count_data.h"

namespace zklock::detail {

namespace {

namespace request = client::request;
using core::Status;

std::string waiting_text(std::size_t waiting) {
  return std::to_string(waiting) + (waiting == 1 ? " waits" : " wait");
}

/// Returns a text for people about the first holder, and how many contenders hold and wait.
std::string state_text(const Participant& first, std::size_t holding, std::size_t waiting) {
  std::string text = "held by ";
  if (first.host.empty()) {
    text += "znode " + first.node;
  } else {
    text += first.host + " pid " + std::to_string(first.pid);
  }
  if (!first.application.empty()) text += " (" + first.application + ")";
  if (holding > 1) text += " and " + std::to_string(holding - 1) + " more";
  return text + "; " + waiting_text(waiting);
}

}  // namespace

WaitDescription::WaitDescription(std::shared_ptr<PathLock> path_lock, std::shared_ptr<void> turn)
    : path_lock_(std::move(path_lock)), turn_(std::move(turn)) {}

void WaitDescription::start() {
  submit(request::ListChildren{path_lock_->path().str()}, &WaitDescription::listed);
}

void WaitDescription::submit(client::Operation operation, Step step) {
  path_lock_->core().coordinator().submit(
      {.operation = std::move(operation), .fail_if_disconnected = true},
      [self = shared_from_this(), step](const client::Reply& reply) {
        (self.get()->*step)(reply);
      });
}

void WaitDescription::listed(const client::Reply& reply) {
  if (reply.status != Status::ok) return;
  queue_ = Queue::of(reply);
  if (!shares_count(queue_.contenders)) return find_holders(0);
  submit(request::Get{path_lock_->child(core::kCountNode)}, &WaitDescription::counted);
}

void WaitDescription::counted(const client::Reply& reply) {
  find_holders(count_in(reply));
}

void WaitDescription::find_holders(std::int32_t permits) {
  holders_ = holders_in(ViewKind::lock, queue_, permits);
  if (holders_.empty()) {
    return path_lock_->log_wait("not held; " + waiting_text(queue_.contenders.size()));
  }
  submit(request::Get{path_lock_->child(holders_.front().text)}, &WaitDescription::read_holder);
}

// If the holder has released meanwhile, the wait is about to end.
void WaitDescription::read_holder(const client::Reply& reply) {
  std::vector<client::Reply> replies{reply};
  queue_.mark_recreated(replies);
  const Status status = replies.front().status;
  if (status != Status::ok && status != Status::no_auth) return;
  const QueueView view =
      view_of(*path_lock_, ViewKind::lock, queue_, {holders_.front()}, replies, {});
  path_lock_->log_wait(state_text(view.holders.front(), holders_.size(),
                                  queue_.contenders.size() - holders_.size()));
}

}  // namespace zklock::detail
