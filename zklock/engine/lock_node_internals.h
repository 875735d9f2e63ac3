// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/path_queue.h"
#include "zklock/engine/session/background_work.h"

namespace zklock::detail {

class LockNode;

/// The members of LockNode that its NodeWatches and its Downgrade use. REQUIRES: path_mutex is
/// held.
class LockNodeInternals {
 public:
  virtual std::weak_ptr<LockNode> weak_self() noexcept = 0;
  virtual PathQueue& path_queue() const noexcept = 0;
  virtual core::SessionId session() const noexcept ZKLOCK_REQUIRES(path_mutex) = 0;
  virtual core::Sequence sequence() const noexcept ZKLOCK_REQUIRES(path_mutex) = 0;
  virtual const std::string& own_name() const noexcept ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Returns whether `node`, the reply to a Get of the own name, describes the own znode.
  virtual bool is_own(const client::Reply& node) const ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Returns whether `path`, a stat of the lock path, shows the path in which this contender's znode
  /// was created: it was not recreated since. Then a child with that name is this znode, because
  /// sequence numbers do not repeat.
  virtual bool is_path_of_own_znode(const client::Reply& path) const
      ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Returns whether grants follow the sequence numbers: the rule is that of a mutex, without a
  /// gate.
  virtual bool is_mutex() const noexcept ZKLOCK_REQUIRES(path_mutex) = 0;

  /// Records that `reply` has shown the own znode.
  virtual void saw_own_node(const client::Reply& reply) noexcept ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Returns whether the own znode was not seen since the last reconnect. The path may have been
  /// recreated meanwhile, and another znode can have the name.
  virtual bool is_unseen() const noexcept ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Records that the own znode was deleted, but not by this client.
  virtual void on_own_node_deleted() ZKLOCK_REQUIRES(path_mutex) = 0;
  virtual void on_release_requested(bool force) ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Handles the reply to the read of a predecessor.
  virtual void on_predecessor_read(const std::string& node, const client::Reply& reply)
      ZKLOCK_REQUIRES(path_mutex) = 0;
  /// `which`: the index of the predecessor in the machine's list.
  virtual void on_predecessor_event(std::size_t which, client::request::WatchEvent event)
      ZKLOCK_REQUIRES(path_mutex) = 0;

  // For a downgrade.
  /// Returns the id of the attempt in the data of the own znode.
  virtual std::string attempt() const ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Returns the data of the reader's znode that replaces a writer's znode.
  virtual std::string data_as_reader() const ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Returns the name of the own delay marker that is to be deleted with the znode, in one
  /// transaction, if it still exists. Empty if there is none.
  virtual const std::string& unwanted_delay_marker() const noexcept ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Returns unwanted_delay_marker() and forgets it. REQUIRES: the marker is deleted, or the caller
  /// deletes it.
  virtual std::string take_unwanted_delay_marker() ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Deletes the unwanted delay marker in the background, but not the znode.
  virtual void remove_unwanted_delay_marker(BackgroundWork::Id work)
      ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Removes the watch on the own znode.
  virtual void disarm_own_watch() noexcept ZKLOCK_REQUIRES(path_mutex) = 0;

 protected:
  ~LockNodeInternals() = default;
};

}  // namespace zklock::detail
