// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "zklock/cli/core/columns.h"
#include "zklock/cli/core/lock_facts.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// Returns "4 m 10 s", "<= 4 m 10 s" if only an upper limit is known, or "?".
std::string text_of(const std::optional<HoldAge>& held);

/// The locks of `ls` and `top`, one row for each.
/// `marks`: those of the snapshot, if its cycles are known.
Table lock_table(std::span<const SurveyedLock* const> locks, WallTime now,
                 const CycleMarks& marks = {});
/// The contenders of one lock, in the order of service.
Table contender_table(const SurveyedLock& lock, WallTime now);
/// Returns what contender_table() leaves out: "and 9900 more wait", or a lock delay; an empty text
/// if nothing.
std::string rest_text(const SurveyedLock& lock);

}  // namespace zklock::cli
