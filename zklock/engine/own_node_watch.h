// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/engine/ticked_watch.h"

namespace zklock::detail {

/// The watch on the own znode of a lock node. It shows that another client has deleted the znode.
///
/// | event while the watch is set            | next                                 |
/// |-----------------------------------------|--------------------------------------|
/// | the data changed, or the request failed | due                                  |
/// | deleted, or no such znode               | due; LockNode::on_own_node_deleted() |
///
/// Thread-safety: none. REQUIRES: within a Section of the path lock. Part of its lock node.
class OwnNodeWatch final : public TickedWatch {
 public:
  using TickedWatch::TickedWatch;

 private:
  void begin() override;
};

}  // namespace zklock::detail
