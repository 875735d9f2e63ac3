// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/predecessor_watches.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace request = client::request;

namespace {

std::uint32_t connection_of(const LockNode& lock_node) noexcept {
  return static_cast<std::uint32_t>(lock_node.core().keeper().connection());
}

}  // namespace

void PredecessorWatches::watch(LockNode& lock_node, const std::string& node, SessionId session) {
  // The znode may be watched again while an event of its earlier watch is under way.
  const std::uint32_t serial = ++last_;
  connection_ = connection_of(lock_node);
  // While the watch is not forgotten, the machine's list of predecessors does not change. So an
  // index is enough to name the znode.
  const auto& all = lock_node.waited_for();
  const auto which = static_cast<std::uint32_t>(std::ranges::find(all, node) - all.begin());
  request::GetAndWatch watch{.path = lock_node.path_lock().path().child(node), .on_event = {}};
  watch.on_event =
      lock_node.entering([which, serial](LockNode& p, SessionId, request::WatchEvent event) {
        if (p.predecessors().forget(p, serial)) p.predecessor_event(which, event);
      });
  const auto id = lock_node.core().coordinator().submit(
      {.operation = std::move(watch), .session = session},
      lock_node.entering([node, serial](LockNode& p, const client::Reply& reply) {
        p.predecessors().answered(p, serial, reply);
        p.predecessor_watched(node, reply);
      }));
  watches_.push_back({.serial = serial, .id = id});
}

bool PredecessorWatches::on_same_connection(const LockNode& lock_node) const noexcept {
  return connection_ == connection_of(lock_node);
}

void PredecessorWatches::answered(LockNode& lock_node, std::uint32_t serial,
                                  const client::Reply& reply) {
  if (reply.status != core::Status::ok) {
    forget(lock_node, serial);
    return;
  }
  const bool stands = std::ranges::find(watches_, serial, &Watch::serial) != watches_.end();
  const bool own = reply.ephemeral_owner == lock_node.session();
  if (stands) token_ = reply.token;
  if (!stands || !own || !lock_node.stands_by_number()) return;
  try {
    lock_node.path_lock().local_handoff().wait(reply.token, lock_node.weak_from_this());
  } catch (const std::exception&) {  // no memory: the watch event arrives anyway
  }
}

bool PredecessorWatches::forget(LockNode& lock_node, std::uint32_t serial) noexcept {
  const auto watch = std::ranges::find(watches_, serial, &Watch::serial);
  if (watch == watches_.end()) return false;
  watches_.erase(watch);
  if (watches_.empty()) drop(lock_node);
  return true;
}

void PredecessorWatches::end(LockNode& lock_node) noexcept {
  for (const Watch& each : watches_) lock_node.core().coordinator().unwatch(each.id);
  drop(lock_node);
}

void PredecessorWatches::drop(LockNode& lock_node) noexcept {
  watches_.clear();
  auto& successors = lock_node.path_lock().local_handoff();
  if (!successors.empty()) successors.leave(token_, lock_node.weak_from_this());
}

}  // namespace zklock::detail
