// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/export.h"

namespace zklock {

/// How an acquiring call ended. Not counted are a call that nests, and one that is refused before
/// it contends, for example because of its options.
///
/// | end       | the call ended                                                              |
/// |-----------|-----------------------------------------------------------------------------|
/// | granted   | with the lock                                                               |
/// | timeout   | at its deadline; or it was a single attempt, and it was not granted         |
/// | cancelled | by its stop token, or by an interruption of Boost.Thread                    |
/// | failed    | with an Error or another exception, even at its deadline if no server has   |
/// |           | answered (not_connected)                                                    |
enum class AcquireEnd { granted, timeout, cancelled, failed };

/// How a hold ended. Nested acquires of one grant are one hold. It ends at the latest when the last
/// of them is released.
///
/// | end      | the hold ended                                                               |
/// |----------|------------------------------------------------------------------------------|
/// | released | with the release of its last acquire                                         |
/// | expired  | with its maximum hold time                                                   |
/// | lost     | with any other loss                                                          |
/// | closed   | because the client was closed                                                |
enum class HoldEnd { released, expired, lost, closed };

/// Return the name of the enumerator, for example "granted"; "unknown" for any other value.
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(AcquireEnd end) noexcept;
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(HoldEnd end) noexcept;

/// Counts of durations, by fixed ranges. counts[i] has the durations up to kBounds[i] that are
/// longer than kBounds[i - 1]. The last element has the durations longer than all bounds.
///
/// Thread-safety: a value.
struct DurationHistogram {
  /// The upper bounds of the intervals, in rising order.
  static constexpr std::array<std::chrono::microseconds, 11> kBounds{
      std::chrono::microseconds(250),
      std::chrono::milliseconds(1),
      std::chrono::milliseconds(5),
      std::chrono::milliseconds(25),
      std::chrono::milliseconds(100),
      std::chrono::milliseconds(500),
      std::chrono::milliseconds(2500),
      std::chrono::seconds(10),
      std::chrono::minutes(1),
      std::chrono::minutes(10),
      std::chrono::hours(1)};
  /// The number of durations in each interval; see above.
  std::array<std::uint64_t, kBounds.size() + 1> counts{};
  std::chrono::microseconds sum{};  ///< of all durations

  /// Returns the total of all counts.
  [[nodiscard]] std::uint64_t count() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  friend bool operator==(const DurationHistogram&, const DurationHistogram&) = default;
};

/// The metrics of the lock objects and candidates with one label. Each path of a MultiMutex counts
/// separately, and so does each ensemble of a QuorumMutex. Counts begin at the construction of the
/// client and never decrease.
///
/// Thread-safety: a value.
struct LockMetrics {
  /// LockOptions::label. "unnamed" without a label. "other" for all labels after the first 200.
  std::string lock = {};
  std::array<DurationHistogram, 4> acquires{};     ///< calls that ended, by AcquireEnd
  std::array<DurationHistogram, 4> ended_holds{};  ///< durations of holds, by HoldEnd
  /// Holds that were lost, by LossReason (hold.h). LossReason::closed has no element: a hold that
  /// ends with its client is counted in ended_holds only.
  std::array<std::uint64_t, 5> losses{};
  std::uint64_t deadlocks = 0;             ///< calls that failed with would_deadlock
  std::uint64_t leaderships = 0;           ///< leaderships that began
  std::size_t holds = 0;                   ///< holds now
  std::size_t waiters = 0;                 ///< contenders that wait now
  std::size_t candidates = 0;              ///< latches and elections, contending or not
  std::size_t leaders = 0;                 ///< candidates that hold now
  std::chrono::nanoseconds oldest_hold{};  ///< age; 0 without a hold
  std::chrono::nanoseconds oldest_wait{};  ///< age; 0 without a waiter
};

/// The requests of one kind that a server has answered.
///
/// Thread-safety: a value.
struct RequestMetrics {
  std::string_view operation = {};   ///< such as "create" or "multi"
  DurationHistogram durations = {};  ///< from the sending to the reply
};

/// The metrics of one Client, as Client::metrics() returns them.
///
/// Thread-safety: a value.
struct ClientMetrics {
  /// The label `client` of all metrics; empty: no such label. Client::metrics() leaves it empty.
  /// Set it if a process has several clients.
  std::string client = {};
  std::vector<LockMetrics> locks = {};  ///< sorted by label
  std::vector<RequestMetrics> requests = {};
  bool connected = false;
  std::chrono::nanoseconds session_timeout{};  ///< 0 before the first connection
  /// The time until the lease expires. Empty if no lock is held and no znode is retained
  /// (CohortOptions::keep_idle_for): then no lease is maintained.
  std::optional<std::chrono::nanoseconds> lease_remaining = std::nullopt;
  std::uint64_t sessions = 0;            ///< sessions that were opened
  std::uint64_t reconnects = 0;          ///< connections of a session after its first
  std::uint64_t heartbeat_failures = 0;  ///< heartbeats and syncs without an answer
  /// How often the remaining time of the lease fell below a quarter of the session timeout. Counted
  /// when the next reply of the quorum arrives.
  std::uint64_t low_leases = 0;
  std::size_t pending_deletes = 0;  ///< releases and withdrawals not confirmed
  std::size_t refused_deletes = 0;  ///< deletes that an ACL refused
  std::size_t node_bytes = 0;
  std::size_t node_limit_bytes = 0;
  std::size_t watch_bytes = 0;
  std::size_t watch_limit_bytes = 0;
  /// Handlers, listeners, coroutines and loss callbacks that wait because others block all threads.
  std::size_t queued_callbacks = 0;
  std::chrono::nanoseconds longest_callback_wait{};  ///< 0 if none waits
};

/// One metric with its samples, independent of a metrics system.
///
/// Thread-safety: a value.
struct MetricFamily {
  /// The types of Prometheus.
  enum class Type { counter, gauge, histogram };
  /// One value or histogram of the metric.
  struct Sample {
    /// Names and values of the labels.
    std::vector<std::pair<std::string, std::string>> labels = {};
    double value = 0;                                           ///< of a counter or a gauge
    std::optional<DurationHistogram> histogram = std::nullopt;  ///< of a histogram
  };
  std::string name = {};             ///< as Prometheus has it
  std::string help = {};             ///< one line, for people
  Type type = Type::gauge;           ///< type of all samples
  std::vector<Sample> samples = {};  ///< one for each set of labels
};

/// Return all metrics of these clients. The guide zklock/guides/metrics.md lists them. A counter of
/// losses is present with 0 for each label and reason, so that a rate sees the first loss. A
/// histogram is present once it has a duration; that of granted calls is always present.
[[nodiscard]] ZKLOCK_EXPORT std::vector<MetricFamily> metric_families(
    std::span<const ClientMetrics> clients);
[[nodiscard]] ZKLOCK_EXPORT std::vector<MetricFamily> metric_families(const ClientMetrics& client);

/// Returns the families in the text format of Prometheus, version 0.0.4. Label values are escaped.
/// Control characters, line separators, marks of direction and invalid UTF-8 in them become '?'.
/// Serve the text with the content type
/// kMetricsContentType.
[[nodiscard]] ZKLOCK_EXPORT std::string metrics_text(std::span<const MetricFamily> families);
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace zklock
