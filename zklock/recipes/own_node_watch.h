// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/recipes/ticked_watch.h"

namespace zklock::recipes {

/// The watch on a place's own node, so that somebody else's deleting it is noticed.
///
/// | set; and then                  | next                        |
/// |--------------------------------|-----------------------------|
/// | changed, or the request failed | due                         |
/// | deleted, or no node            | due; the place is told      |
///
/// Thread-safety: within a Section of the engine. Part of its place.
class OwnNodeWatch final : public TickedWatch {
 public:
  using TickedWatch::TickedWatch;

 private:
  void begin() override;
};

}  // namespace zklock::recipes
