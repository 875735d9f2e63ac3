// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "zklock/cli/core/snapshot.h"

namespace zklock::cli {

/// The most paths with series of their own. The locks behind them, in the order of the paths, share
/// the label "other": with their sums, or for ages and ratios with their maximum.
inline constexpr std::size_t kMostMetricPaths = 200;

/// Returns the metrics of a snapshot in the text format of Prometheus, version 0.0.4.
///
/// | metric, each with the prefix zklock_observed_ | meaning                                       |
/// |-----------------------------------------------|-----------------------------------------------|
/// | holds{path}, waiters{path}                    | numbers of holders and of waiting contenders  |
/// | oldest_hold_seconds{path}                     | age of the oldest hold that is known          |
/// | oldest_wait_seconds{path}                     | age of the oldest described waiting contender |
/// | sequence_used_ratio{path}                     | used part of the sequence numbers             |
/// | cycles{kind}                                  | cycles, certain and possible                  |
/// | locks, unreadable_paths                       | numbers in the whole survey                   |
/// | pass_seconds, last_pass_timestamp_seconds     | duration and begin of the last pass           |
/// | connected                                     | 1 if the session is connected, otherwise 0    |
///
/// A hold of zklock without held_since is short, or its znode does not show its age: its age counts
/// as 0. For other libraries the time in the queue counts. `snapshot` is null before the end of the
/// first pass: then only `connected` is known. Pure.
std::string observed_metrics(const Snapshot* snapshot, bool connected, WallTime now);

}  // namespace zklock::cli
