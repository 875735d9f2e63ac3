// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/model/simulator/history_writer.h"
#include "tests/model/simulator/plan.h"
#include "zklock/election_observer.h"
#include "zklock/lock_observer.h"

namespace zklock::simulator {

/// Watches a lock or an election, and stores the last state that the observer received.
///
/// Thread-safety: none.
class ObserverModel {
 public:
  /// `number` identifies this observer in the history.
  ObserverModel(HistoryWriter& history_writer, Client& client, const ObjectPlan& plan,
                std::uint32_t number);
  ObserverModel(const ObserverModel&) = delete;
  ObserverModel& operator=(const ObserverModel&) = delete;

  /// Returns whether the last state has no holder and no leader. Returns false before the first
  /// state.
  bool sees_no_holder() const;
  /// Returns whether the last state of the election has the leader with that token and the value
  /// `said`.
  bool sees(FencingToken leader, std::int64_t said) const;
  bool is_of_election() const noexcept { return election_.has_value(); }

 private:
  void received(LockState state);
  void received(ElectionState state);
  void note_seen(FencingToken holder, std::int64_t number);

  HistoryWriter& history_writer_;
  const int path_;
  const std::uint32_t number_;
  std::optional<LockState> lock_state_;
  std::optional<ElectionState> election_state_;
  std::optional<LockObserver> lock_;
  std::optional<ElectionObserver> election_;
  Subscription subscription_;
};

}  // namespace zklock::simulator
