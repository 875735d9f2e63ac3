// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {

/// Makes callbacks that are ignored after their activity has ended: a reply, a watch event or a
/// timer can still arrive after it was cancelled.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held; this object exists when a callback is
/// called.
class Epoch {
 public:
  /// Returns a callback that calls `step(arguments...)`. It does nothing after end().
  template <class Step>
  auto guard(Step step) const {
    return [this, epoch = epoch_, step = std::move(step)](const auto&... arguments) {
      if (epoch == epoch_) step(arguments...);
    };
  }
  /// Ends the activity: the callbacks made so far do nothing from now on.
  void end() noexcept { ++epoch_; }

 private:
  std::uint64_t epoch_ = 0;
};

}  // namespace zklock::detail
