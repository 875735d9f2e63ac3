// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <boost/container/small_vector.hpp>

#include "zklock/client/port/coordinator.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/watch_slot.h"
#include "zklock/fencing_token.h"

namespace zklock::detail {

class LockNode;

/// The watches of one lock node. Their events go to the lock node.
///
/// | watch           | requested            | event                      | reported as            |
/// |-----------------|----------------------|----------------------------|------------------------|
/// | own znode       | at a tick, again     | another client deleted the | on_own_node_deleted()  |
/// |                 | after each event     | znode                      |                        |
/// | release request | at a tick while      | a release request was      | on_release_requested() |
/// |                 | granted, again after | created, or changed to one |                        |
/// |                 | each event           | that forces the release    |                        |
/// | predecessors    | by the acquire       | a predecessor was deleted  | on_predecessor_event() |
/// |                 | machine              | or changed                 |                        |
///
/// There is one predecessor, or several in the queue of a semaphore. While the watched predecessor
/// is a znode of this client and session, the lock node is registered in the path's SessionHandoff.
///
/// Most lock nodes end before the first tick, and need only the watch on the predecessor.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. Part of its lock node.
class NodeWatches {
 public:
  explicit NodeWatches(LockNode& lock_node) : node_(lock_node) {}
  NodeWatches(const NodeWatches&) = delete;
  NodeWatches& operator=(const NodeWatches&) = delete;

  /// Sets the watch on the lock znode. Returns false if it was set already.
  bool watch_own();
  void disarm_own() noexcept { own_.disarm(path().context()); }
  /// Forgets the watch on the lock znode, which is being deleted.
  void forget_own() noexcept { own_.forget(); }
  /// Sets the watch on the release request, if it is not set.
  void watch_release_requests();
  /// Removes the watches on the lock znode and on the release request.
  void disarm() noexcept;

  /// Reads and watches the child `node`, the predecessor with this index in the machine's list.
  void watch_predecessor(const std::string& node, std::size_t which, core::SessionId session);
  /// Forgets and removes all watches on predecessors.
  void unwatch_predecessors() noexcept;
  /// Forgets all watches on predecessors without removing them. REQUIRES: the watched znode or its
  /// own is deleted, or the session has ended, or one of these is about to happen.
  void forget_predecessors() noexcept;
  /// Returns whether the latest watch on a predecessor was set on the current connection.
  bool is_predecessor_watch_current() const noexcept;

 private:
  PathLock& path() const noexcept;
  void on_own_read(const client::Reply& reply);
  /// Checks whether the path was recreated; if so, the watched znode is another contender's.
  void check_path_recreated();
  std::string release_request_path() const;
  /// Watches for the create of a release request.
  void await_release_request();
  /// Reads and watches a release request. `is_new`: it was created, not changed.
  void read_release_request(bool is_new);
  void on_predecessor_read(std::size_t which, const client::Reply& reply);
  /// Forgets one watch. Returns false if it has fired.
  bool forget_predecessor(std::size_t which) noexcept;

  LockNode& node_;
  WatchSlot own_;
  WatchSlot release_request_;
  /// By the index in the machine's list. 0: not watched, or the watch has fired.
  boost::container::small_vector<client::RequestId, 1> predecessors_;
  Epoch predecessors_epoch_;
  FencingToken predecessor_{};    ///< czxid of the last one watched
  std::uint64_t connection_ = 0;  ///< on which the last one was watched
};

}  // namespace zklock::detail
