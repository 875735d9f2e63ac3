// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/queue_reader.h"

namespace zklock::detail {

/// Describes in the log what the contenders of this client at one path wait for. Counts the
/// children, and reads the list of them, the shared permit count if there is one, and the znode of
/// the first holder. Sends one request after the other, and occupies no thread meanwhile. If a
/// request fails, or the client is disconnected, nothing is logged.
///
/// If the path has more than kMostListed children, only their number is logged. Otherwise all
/// clients of a long queue would read the whole queue, at a cost of the square of its length.
///
/// Thread-safety: none; used by start(), and by one reply after the other. Made by
/// std::make_shared. Lives until the last reply.
class WaitDescription : public std::enable_shared_from_this<WaitDescription> {
 public:
  static constexpr std::int32_t kMostListed = 200;

  /// `turn`: retained until the end.
  WaitDescription(std::shared_ptr<PathLock> path_lock, std::shared_ptr<void> turn);
  /// Sends the first request. Any mutex of a path may be held.
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

}  // namespace zklock::detail
