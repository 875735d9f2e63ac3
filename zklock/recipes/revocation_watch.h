// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "zklock/client/coordinator.h"

namespace zklock::recipes {

class Place;

/// A holder's watch for the marker of who wants it to let go; see core/revocation.h.
///
/// | state    | event                                   | next                                  |
/// |----------|-----------------------------------------|---------------------------------------|
/// | young    | tick()                                  | due                                   |
/// | due      | tick()                                  | looking: is there a marker?           |
/// | looking  | none; it comes                          | looking; reading                      |
/// |          | there is one                            | reading                               |
/// | reading  | it asks, or forces: the holder is told  | reading, when it is changed           |
/// |          | it is gone                              | looking                               |
/// | any      | a request failed                        | due                                   |
/// |          | disarm()                                | due                                   |
///
/// Thread-safety: within a Section of the engine. Part of its place.
class RevocationWatch {
 public:
  explicit RevocationWatch(Place& place) : place_(place) {}

  void tick();
  void disarm() noexcept;

 private:
  template <class Step>
  auto step(Step step);
  void look();
  void read(bool anew);

  Place& place_;
  client::RequestId id_{};
  std::uint64_t round_ = 0;  ///< what was asked in an earlier one is not listened to
  bool due_ = false;
};

}  // namespace zklock::recipes
