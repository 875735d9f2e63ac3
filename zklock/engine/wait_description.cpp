// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/wait_description.h"

#include <string>
#include <utility>

#include "zklock/client/port/coordinator.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/queue_view.h"
#include "zklock/lock_state.h"

namespace zklock::detail {

namespace {

namespace request = client::request;
using core::Status;

/// Lives until the last reply.
///
/// Thread-safety: none; used by start(), then by one reply at a time.
class WaitDescription : public std::enable_shared_from_this<WaitDescription> {
 public:
  WaitDescription(std::shared_ptr<PathLock> path_lock, std::shared_ptr<void> turn)
      : path_lock_(std::move(path_lock)), turn_(std::move(turn)) {}
  void start();

 private:
  using Step = void (WaitDescription::*)(const client::Reply&);
  void submit(client::Operation operation, Step step);
  void children_counted(const client::Reply& reply);
  void listed(const client::Reply& reply);
  void read(const client::Reply& reply);
  /// Reads the next znode, or logs the view.
  void read_next();

  const std::shared_ptr<PathLock> path_lock_;
  const std::shared_ptr<void> turn_;
  ViewBuilder view_;
};

void WaitDescription::start() {
  submit(request::Exists{path_lock_->path().str()}, &WaitDescription::children_counted);
}

void WaitDescription::submit(client::Operation operation, Step step) {
  path_lock_->context().coordinator().submit(
      {.operation = std::move(operation), .fail_if_disconnected = true},
      [self = shared_from_this(), step](const client::Reply& reply) {
        (self.get()->*step)(reply);
      });
}

void WaitDescription::children_counted(const client::Reply& reply) {
  if (reply.status != Status::ok) return;
  if (reply.child_count > kMostListed) {
    return path_lock_->log_wait("the path has " + std::to_string(reply.child_count) + " znodes");
  }
  submit(request::ListChildren{path_lock_->path().str()}, &WaitDescription::listed);
}

void WaitDescription::listed(const client::Reply& reply) {
  if (reply.status != Status::ok) return;
  view_ = ViewBuilder(reply, ViewScope::first_holder());
  read_next();
}

void WaitDescription::read_next() {
  if (view_.reads().empty()) return path_lock_->log_wait(to_string(view_.view().lock));
  submit(request::Get{path_lock_->child(view_.reads().front().child)}, &WaitDescription::read);
}

// If the holder has released meanwhile, the wait is about to end.
void WaitDescription::read(const client::Reply& reply) {
  if (view_.is_outdated_by(reply) || view_.lacks(reply)) return;
  view_.take(reply, OwnZnodes(path_lock_->context().keeper().session(), path_lock_->nodes()));
  read_next();
}

}  // namespace

void describe_wait(std::shared_ptr<PathLock> path_lock, std::shared_ptr<void> turn) {
  std::make_shared<WaitDescription>(std::move(path_lock), std::move(turn))->start();
}

}  // namespace zklock::detail
