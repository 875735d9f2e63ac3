// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/model/simulator/plan.h"
#include "tests/model/simulator/scribe.h"
#include "zklock/election_observer.h"
#include "zklock/lock_observer.h"

namespace zklock::simulator {

/// Who watches a lock, or an election, and what he was told last.
///
/// Thread-safety: none.
class Onlooker {
 public:
  /// `number`: what the history calls him.
  Onlooker(Scribe& scribe, Client& client, const ObjectPlan& plan, std::uint32_t number);
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;

  /// He has been told, and last that nobody is there.
  bool sees_nobody() const;
  /// Of an election: he was told last that the leader with that token has said the value of that
  /// number.
  bool sees(FencingToken leader, std::int64_t said) const;
  bool is_of_election() const noexcept { return election_.has_value(); }

 private:
  void told(LockState state);
  void told(ElectionState state);
  void note_seen(FencingToken holder, std::int64_t number);

  Scribe& scribe_;
  const int path_;
  const std::uint32_t number_;
  std::optional<LockState> lock_state_;
  std::optional<ElectionState> election_state_;
  std::optional<LockObserver> lock_;
  std::optional<ElectionObserver> election_;
  Subscription subscription_;
};

}  // namespace zklock::simulator
