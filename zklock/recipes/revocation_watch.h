// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/recipes/ticked_watch.h"

namespace zklock::recipes {

/// A holder's watch for the marker znode by which another client requests or forces the release;
/// see core/revocation.h.
///
/// | state (set)   | reply or event                          | next                             |
/// |---------------|-----------------------------------------|----------------------------------|
/// | looking       | the marker does not exist               | looking                          |
/// |               | the marker exists, or is created        | reading                          |
/// | reading       | the data request or force a release     | reading; the place is notified   |
/// |               | the data changed                        | reading                          |
/// |               | the marker does not exist, or is deleted| looking                          |
/// | both          | a request failed                        | due                              |
///
/// A marker that requests a release notifies the place once, even if its data change. Data that
/// force a release always notify it.
///
/// Thread-safety: none. REQUIRES: within a Section of the engine. Part of its place.
class RevocationWatch final : public TickedWatch {
 public:
  using TickedWatch::TickedWatch;

 private:
  void begin() override { look(); }
  void look();
  void read(bool anew);
};

}  // namespace zklock::recipes
