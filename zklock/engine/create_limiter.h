// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

namespace zklock::detail {

class LockNode;

/// Limits how many lock nodes of one lock path have their create under way at a time. The other
/// lock nodes wait in a line, in the order of their numbers.
///
/// Thousands of lock nodes can arrive in one burst. Without the limit, each would queue two requests
/// in the coordinator. A request takes much more memory than an entry of the line. And a release, or
/// a request for another path, would wait until all of these were sent.
///
/// A lock node that was let through may send its create, and may repeat it, until it has passed. It
/// has passed when it has its znode, has failed, or has an unknown outcome. If it has to create a
/// znode again later, it waits in the line again, ahead of all newer lock nodes.
///
/// Thread-safety: none. REQUIRES: within a Section of the path lock, which owns this object.
class CreateLimiter {
 public:
  /// `at_once`: the limit, at least 1.
  explicit CreateLimiter(std::size_t at_once) : at_once_(at_once) {}
  CreateLimiter(const CreateLimiter&) = delete;
  CreateLimiter& operator=(const CreateLimiter&) = delete;

  /// Calls lock node->let_through() now, or later when the limit permits it.
  void enter(const std::shared_ptr<LockNode>& lock_node);
  /// Records that a lock node has passed, and lets waiting lock nodes through.
  void passed();
  /// Removes `lock node` from the line. Returns false if it is not in the line.
  bool withdraw(const LockNode& lock_node);
  /// Empties the line: no waiting lock node is let through any more.
  void close() noexcept { line_.clear(); }

 private:
  using Line = std::deque<std::shared_ptr<LockNode>>;
  Line::iterator where(const LockNode& lock_node);
  void let_through(LockNode& lock_node);

  const std::size_t at_once_;
  std::size_t under_way_ = 0;
  /// Waiting lock nodes, by their numbers. Empty while fewer than at_once_ are under way.
  Line line_;
};

}  // namespace zklock::detail
