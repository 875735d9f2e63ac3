// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/loss_notification.h"

#include <cassert>
#include <utility>

#include "zklock/engine/callback/post_or_run.h"

namespace zklock::detail {

void post_after_unlock(const std::shared_ptr<PathLock>& path, std::function<void()> task) {
  path->after_unlock([path, task = std::move(task)] {
    EngineContext& context = path->context();
    post_or_run(context.shared_from_this(), context.loss_dispatcher(), task);
  });
}

LossNotification::LossNotification(std::shared_ptr<PathLock> path, std::stop_source loss,
                                   DeleteNode delete_node, std::string line)
    : path_(std::move(path)),
      loss_(std::move(loss)),
      line_(std::move(line)),
      delete_node_(std::move(delete_node)) {}

void LossNotification::start() {
  EngineContext& context = path_->context();
  callback_.since = context.scheduler().now();
  context.records().callbacks.add(callback_);
  if (delete_node_) {
    work_ = context.work().begin();
    limit_timer_ =
        context.scheduler().at(context.scheduler().now() + context.settings().loss_callback_limit,
                               under_lock(shared_from_this(), [this] { delete_node(); }));
  }
  post_after_unlock(path_, [self = shared_from_this()] { self->run(); });
}

std::shared_ptr<void> LossNotification::delay_delete() {
  if (!work_) return nullptr;
  ++unfinished_;
  return {this, [self = shared_from_this()](void*) {
            if (self->path_->context().forked()) return;
            const EngineLock lock(self->entry());
            self->end_part();
          }};
}

// Another thread writes the line, so a log that blocks does not delay the callbacks. And a callback
// that blocks does not delay the line.
void LossNotification::run() {
  EngineContext& context = path_->context();
  if (!line_.empty()) {
    context.log(
        {.kind = LogKind::loss, .text = std::exchange(line_, {}), .path = path_->path().str()});
  }
  assert(client::may_block_here());
  loss_.request_stop();
  if (context.forked()) return;  // the callback has called fork(), and returns in the child
  const EngineLock lock(path_->entry());
  context.records().callbacks.remove(callback_);
  end_part();
}

void LossNotification::end_part() {
  assert(unfinished_ > 0 && work_.has_value() == static_cast<bool>(delete_node_));
  if (--unfinished_ == 0) delete_node();
}

void LossNotification::delete_node() {
  if (!work_) return;
  const auto work = *std::exchange(work_, std::nullopt);
  path_->context().scheduler().cancel(limit_timer_);  // it owns this object
  delete_node_(work);
  // It may own the last reference to the contender, which may own objects of the user.
  path_->after_unlock([done = std::exchange(delete_node_, nullptr)] {});
  path_->context().work().end(work);
}

}  // namespace zklock::detail
