// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "tests/model/lock_world.h"
#include "zklock/recipes/election/candidate.h"

namespace zklock::model {

/// A candidate for the leadership at LockWorld::path. It does nothing as the leader.
class TestCandidate final : public detail::Candidate {
 public:
  explicit TestCandidate(detail::ClientCore& core, bool until_finished = false, bool again = false,
                         std::chrono::milliseconds delay_min = std::chrono::milliseconds(10),
                         std::chrono::milliseconds delay_max = std::chrono::milliseconds(20))
      : Candidate(core, LockWorld::kPath,
                  {.again = again,
                   .until_finished = until_finished,
                   .retry_delay_min = delay_min,
                   .retry_delay_max = delay_max}) {}

 private:
  void on_began(
      const std::shared_ptr<detail::LeadershipState>& /*leadership_state*/) noexcept override {}
  void on_ended(
      const std::shared_ptr<detail::LeadershipState>& /*leadership_state*/) noexcept override {}
};

}  // namespace zklock::model
