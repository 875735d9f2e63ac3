// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "zklock/cli/core/snapshot.h"

namespace zklock::cli {

/// The most paths with series of their own. The other locks share the label "other": with their
/// sums, or for ages and ratios with their maximum.
inline constexpr std::size_t kMostMetricPaths = 200;

using MetricPaths = std::set<std::string, std::less<>>;
/// Returns the paths with series of their own: those of `before` that the snapshot still has, then
/// other paths in alphabetical order. So a new lock takes the series of no other. Pure.
MetricPaths metric_paths(const Snapshot& snapshot, const MetricPaths& before);

/// Returns the metrics of a snapshot in the text format of Prometheus, version 0.0.4.
///
/// | metric, each with the prefix zklock_observed_ | meaning                                       |
/// |-----------------------------------------------|-----------------------------------------------|
/// | holds{path}, waiters{path}                    | numbers of holders and of waiting contenders  |
/// | oldest_hold_seconds{path}                     | age of the oldest hold that is known          |
/// | oldest_wait_seconds{path}                     | age of the oldest described waiting contender |
/// | sequence_used_ratio{path}                     | used part of the sequence numbers             |
/// | cycles{kind}                                  | cycles, certain and possible                  |
/// | locks, held_locks, unreadable_paths           | numbers in the whole survey                   |
/// | pass_duration_seconds                         | duration of the last pass                     |
/// | last_pass_timestamp_seconds                   | begin of the last pass                        |
/// | connected                                     | 1 if the session is connected, otherwise 0    |
///
/// oldest_hold_seconds is the highest alert_age(), and 0 if that is unknown. Both ages are 0 for a
/// lock that a leader holds. `snapshot` is null before the end of the first pass: then only
/// `connected` is known. Pure.
std::string observed_metrics(const Snapshot* snapshot, const MetricPaths& paths, bool connected,
                             WallTime now);

}  // namespace zklock::cli
