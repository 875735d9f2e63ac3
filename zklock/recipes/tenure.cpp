// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/tenure.h"

namespace zklock::recipes {

bool Tenure::valid() const noexcept {
  return grant_.lease->valid(core_.scheduler().now());
}

HoldState Tenure::state() const noexcept {
  if (over_.load(std::memory_order_acquire) || core_.forked()) return HoldState::lost;
  if (!valid()) return HoldState::lost;
  return core_.keeper().is_connected() ? HoldState::held : HoldState::suspended;
}

LeaseClock::time_point Tenure::valid_until() const noexcept {
  return state() == HoldState::lost ? LeaseClock::time_point::min() : grant_.lease->valid_until();
}

std::stop_token Tenure::lost() const noexcept {
  if (state() != HoldState::lost || loss_.stop_requested()) return loss_.get_token();
  // The thread that stops the token has not come to it yet, but the asker is to know.
  std::stop_source stopped;
  stopped.request_stop();
  return stopped.get_token();
}

}  // namespace zklock::recipes
