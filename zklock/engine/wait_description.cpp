// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/wait_description.h"

#include <string>
#include <utility>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/queue_reader.h"
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
  void permits_read(const client::Reply& reply);
  void find_holders(std::int32_t permits);
  void read_holder(const client::Reply& reply);
  /// `replies`: the reply to the Get of the first holder; none if no contender holds.
  void log(const std::vector<client::Reply>& replies);

  const std::shared_ptr<PathLock> path_lock_;
  const std::shared_ptr<void> turn_;
  Queue queue_;
  std::vector<core::ZnodeName> holders_;
};

void WaitDescription::start() {
  submit(request::CountChildren{path_lock_->path().str()}, &WaitDescription::children_counted);
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
  queue_ = Queue::of(reply);
  if (!shares_count(queue_.contenders)) return find_holders(0);
  submit(request::Get{path_lock_->child(core::kCountNode)}, &WaitDescription::permits_read);
}

void WaitDescription::permits_read(const client::Reply& reply) {
  find_holders(count_in(reply));
}

void WaitDescription::find_holders(std::int32_t permits) {
  holders_ = holders_in(ViewKind::first_holder, queue_, permits);
  if (holders_.empty()) return log({});
  submit(request::Get{path_lock_->child(holders_.front().text)}, &WaitDescription::read_holder);
}

// If the holder has released meanwhile, the wait is about to end.
void WaitDescription::read_holder(const client::Reply& reply) {
  std::vector<client::Reply> replies{reply};
  queue_.mark_recreated(replies);
  const Status status = replies.front().status;
  if (status == Status::ok || status == Status::no_auth) log(replies);
}

void WaitDescription::log(const std::vector<client::Reply>& replies) {
  QueueView view = view_of(*path_lock_, path_lock_->nodes(), ViewKind::first_holder, queue_,
                           holders_, replies, {});
  path_lock_->log_wait(to_string(lock_state_of(std::move(view))));
}

}  // namespace

void describe_wait(std::shared_ptr<PathLock> path_lock, std::shared_ptr<void> turn) {
  std::make_shared<WaitDescription>(std::move(path_lock), std::move(turn))->start();
}

}  // namespace zklock::detail
