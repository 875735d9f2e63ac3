// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/recipes/ticked_watch.h"

namespace zklock::recipes {

/// A holder's watch for the marker of who wants it to let go; see core/revocation.h.
///
/// | set, and then | event                                   | next                             |
/// |---------------|-----------------------------------------|----------------------------------|
/// | looking       | none; it comes                          | looking; reading                 |
/// |               | there is one                            | reading                          |
/// | reading       | it asks, or forces: the holder is told  | reading, when it is changed      |
/// |               | it is gone                              | looking                          |
/// | both          | a request failed                        | due                              |
///
/// Thread-safety: within a Section of the engine. Part of its place.
class RevocationWatch final : public TickedWatch {
 public:
  using TickedWatch::TickedWatch;

 private:
  void begin() override { look(); }
  void look();
  void read(bool anew);
};

}  // namespace zklock::recipes
