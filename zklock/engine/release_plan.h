// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zklock::detail {

/// Says what happens to a lock znode after the last count of its holder was released.
/// Contender::decide_release() and Cohort::decide_release() decide it without an effect; their
/// execute() carries it out.
enum class ReleasePlan {
  /// Nothing: a count is left, or the hold was lost before. After a loss, LossNotification deletes
  /// the znode.
  none,
  /// The cohort grants the lock node to the next contender behind it.
  hand_off,
  /// The cohort retains the lock node idle, and looks for other contenders.
  retain,
  /// The cohort retains the lock node idle until the count under way arrives.
  await_count,
  /// The znode is deleted, and the lock node of this client behind it is granted at once.
  to_successor,
  /// The znode is deleted.
  remove,
  /// The znode is deleted, but not the delay marker: the work under the lock may be unfinished.
  remove_unfinished,
};

}  // namespace zklock::detail
