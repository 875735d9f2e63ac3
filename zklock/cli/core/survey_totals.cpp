// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/survey_totals.h"

namespace zklock::cli {

SurveyTotals totals_of(const Snapshot& snapshot) {
  SurveyTotals totals{.locks = snapshot.locks.size()};
  for (const SurveyedLock& lock : snapshot.locks) {
    if (lock.state.holding > 0) ++totals.held;
    totals.waiting += lock.state.waiting;
  }
  for (const LockCycle& cycle : snapshot.cycles) {
    ++(cycle.is_certain ? totals.certain_cycles : totals.possible_cycles);
  }
  return totals;
}

}  // namespace zklock::cli
