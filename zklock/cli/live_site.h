// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "zklock/cli/core/live_feed.h"
#include "zklock/cli/core/observed_metrics.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/http_server.h"

namespace zklock::cli {

/// The text of page.html, from embed.cmake.
extern const std::string_view kPage;

/// The answers of `serve`, from the newest snapshot.
///
/// | path       | answer                                                                        |
/// |------------|-------------------------------------------------------------------------------|
/// | /          | the page. Its policy permits only its own script and style, by a fresh number |
/// | /events    | LiveFeed                                                                      |
/// | /api/locks | JSON, zklock.locks/1; with a query zklock.found/1, or 400 if it is malformed. |
/// |            | 503 before the end of the first pass                                          |
/// | /metrics   | observed_metrics()                                                            |
/// | /healthz   | 200, or 503 if there is no connection or no recent pass                       |
/// | any other  | 404                                                                           |
///
/// Thread-safety: one thread, that of the HTTP server.
class LiveSite {
 public:
  LiveSite(std::string root, std::chrono::milliseconds interval,
           std::function<bool()> is_connected);
  LiveSite(const LiveSite&) = delete;
  LiveSite& operator=(const LiveSite&) = delete;

  HttpAnswer answer(std::string_view path, std::string_view query, WallTime now);
  /// A snapshot with its texts. The thread that made the snapshot makes it, because that takes
  /// long.
  struct Data {
    std::shared_ptr<const Snapshot> snapshot;
    CycleMarks marks;
    LiveFeed::TextsPtr texts;
    SharedText locks;  ///< /api/locks without a query
  };
  static Data data_of(std::shared_ptr<const Snapshot> snapshot);
  /// Begins a beat, so that the sums of the page fit its locks.
  void on_data(Data data, WallTime now);
  /// The last pass failed.
  void on_error(std::string error);
  /// Begins a beat of the event streams.
  void on_beat(WallTime now);

 private:
  HttpAnswer page() const;
  HttpAnswer locks(std::string_view query) const;
  HttpAnswer health(WallTime now) const;

  const std::chrono::milliseconds interval_;
  const std::function<bool()> is_connected_;
  LiveFeed feed_;
  MetricPaths metric_paths_;
  Data data_;  ///< of the last pass; empty before its end
  std::string error_;
};

}  // namespace zklock::cli
