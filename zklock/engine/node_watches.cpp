// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/node_watches.h"

#include <algorithm>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace request = client::request;
using core::Status;
using request::WatchEvent;

PathLock& NodeWatches::path() const noexcept {
  return node_.path_lock();
}

// ---- its own znode ------------------------------------------------------------------------------

bool NodeWatches::watch_own() {
  if (!own_.is_free()) return false;
  own_.watch<request::GetAndWatch>(
      node_, path().child(node_.own_name()), node_.session(),
      [this](const client::Reply& reply) { on_own_read(reply); },
      [this](WatchEvent event) {
        own_.mark_free();  // even after a change of the data
        if (event == WatchEvent::deleted) node_.on_own_node_deleted();
      });
  return true;
}

void NodeWatches::on_own_read(const client::Reply& reply) {
  // If the path was recreated, another znode may have this name.
  const bool there = reply.status == Status::ok;
  if (there && reply.is_without_stat()) return check_path_recreated();
  const bool deleted = reply.status == Status::no_node || (there && !node_.is_own(reply));
  if (there && !deleted) return node_.saw_own_node(reply);
  there ? own_.disarm(path().context()) : own_.mark_free();
  if (deleted) node_.on_own_node_deleted();
}

// A znode with the name of the lock znode exists, but the client cannot see which one.
void NodeWatches::check_path_recreated() {
  path().context().coordinator().submit(
      {.operation = request::Exists{path().path().str()}, .session = node_.session()},
      under_lock(node_.weak_from_this(), [this](const client::Reply& reply) {
        if (own_.is_free()) return;
        const bool known = reply.status == Status::ok;
        if (known && node_.is_path_of_own_znode(reply)) return;
        if (reply.status == Status::no_auth) return;  // the watch stays
        own_.disarm(path().context());  // if unknown, the watch is requested again at a tick
        if (known || reply.status == Status::no_node) node_.on_own_node_deleted();
      }));
}

void NodeWatches::disarm() noexcept {
  own_.disarm(path().context());
  release_request_.disarm(path().context());
}

// ---- the release request ------------------------------------------------------------------------

std::string NodeWatches::release_request_path() const {
  return path().child(core::release_request_node(node_.machine().node().sequence()));
}

void NodeWatches::watch_release_requests() {
  if (release_request_.is_free()) await_release_request();
}

void NodeWatches::await_release_request() {
  release_request_.disarm(path().context());
  release_request_.watch<request::ExistsAndWatch>(
      node_, release_request_path(), node_.session(),
      [this](const client::Reply& reply) {
        if (reply.status == Status::ok) return read_release_request(true);
        if (reply.status != Status::no_node) release_request_.mark_free();
      },
      [this](WatchEvent) { read_release_request(true); });
}

void NodeWatches::read_release_request(bool is_new) {
  release_request_.disarm(path().context());
  release_request_.watch<request::GetAndWatch>(
      node_, release_request_path(), node_.session(),
      [this, is_new](const client::Reply& reply) {
        if (reply.status == Status::no_node) return await_release_request();
        if (reply.status != Status::ok) return release_request_.mark_free();
        const bool force = reply.data == core::kReleaseRequestForces;
        if (force || is_new) node_.on_release_requested(force);
      },
      [this](WatchEvent event) {
        event == WatchEvent::changed ? read_release_request(false) : await_release_request();
      });
}

// ---- the predecessors ---------------------------------------------------------------------------

bool NodeWatches::is_predecessor_watch_current() const noexcept {
  return connection_ == path().context().keeper().connection();
}

// While the watch is not forgotten, the machine's list of predecessors does not change. So the
// index is enough to name the znode.
void NodeWatches::watch_predecessor(const std::string& node, std::size_t which,
                                    core::SessionId session) {
  connection_ = path().context().keeper().connection();
  const auto happened = [this, which](core::SessionId, WatchEvent event) {
    if (forget_predecessor(which)) node_.on_predecessor_event(which, event);
  };
  const auto answered = [this, which](const client::Reply& reply) {
    on_predecessor_read(which, reply);
  };
  request::GetAndWatch watch{
      .path = path().child(node),
      .on_event = under_lock(node_.weak_from_this(), predecessors_epoch_.guard(happened))};
  const auto id = path().context().coordinator().submit(
      {.operation = std::move(watch), .session = session},
      under_lock(
          node_.weak_from_this(),
          [this, node, answered = predecessors_epoch_.guard(answered)](const client::Reply& reply) {
            answered(reply);
            node_.on_predecessor_read(node, reply);
          }));
  if (predecessors_.size() <= which) predecessors_.resize(which + 1);
  predecessors_[which] = id;
}

void NodeWatches::on_predecessor_read(std::size_t which, const client::Reply& reply) {
  if (reply.status != Status::ok) {
    forget_predecessor(which);
    return;
  }
  if (predecessors_[which] == client::RequestId{}) return;
  predecessor_ = reply.token;
  const bool own = reply.ephemeral_owner == node_.session();
  if (own && node_.is_mutex()) path().session_handoff().add(reply.token, node_.weak_from_this());
}

bool NodeWatches::forget_predecessor(std::size_t which) noexcept {
  const auto watch = std::exchange(predecessors_[which], client::RequestId{});
  if (watch == client::RequestId{}) return false;
  const bool was_last = std::ranges::all_of(
      predecessors_, [](client::RequestId id) { return id == client::RequestId{}; });
  if (was_last) forget_predecessors();
  return true;
}

void NodeWatches::unwatch_predecessors() noexcept {
  for (const client::RequestId each : predecessors_) {
    if (each != client::RequestId{}) path().context().coordinator().unwatch(each);
  }
  forget_predecessors();
}

void NodeWatches::forget_predecessors() noexcept {
  predecessors_.clear();
  predecessors_epoch_.end();
  auto& successors = path().session_handoff();
  if (!successors.empty()) successors.remove(predecessor_, node_.weak_from_this());
}

}  // namespace zklock::detail
