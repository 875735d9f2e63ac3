// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/recipes/ticked_watch.h"

namespace zklock::recipes {

/// The watch on the own znode of a place. It shows that another client has deleted the znode.
///
/// | event while the watch is set              | next                                 |
/// |-------------------------------------------|--------------------------------------|
/// | the data changed, or the request failed   | due                                  |
/// | deleted, or no such znode                 | due; Place::own_node_gone()          |
///
/// Thread-safety: none. REQUIRES: within a Section of the engine. Part of its place.
class OwnNodeWatch final : public TickedWatch {
 public:
  using TickedWatch::TickedWatch;

 private:
  void begin() override;
};

}  // namespace zklock::recipes
