// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "zklock/core/atomic_histogram.h"
#include "zklock/core/session.h"
#include "zklock/hold.h"
#include "zklock/metrics.h"

namespace zklock::detail {

/// The counts of the lock objects of one client with one label. Exists as long as the client.
///
/// Thread-safety: all members, from any thread; lock-free.
class LabelMetrics {
 public:
  LabelMetrics() = default;
  LabelMetrics(const LabelMetrics&) = delete;
  LabelMetrics& operator=(const LabelMetrics&) = delete;

  void add_acquire(AcquireEnd end, core::Duration waited) noexcept {
    acquires_[static_cast<std::size_t>(end)].add(waited);
  }
  void add_hold(HoldEnd end, core::Duration held) noexcept {
    ended_holds_[static_cast<std::size_t>(end)].add(held);
  }
  /// Does nothing for LossReason::closed, which LockMetrics::losses does not have.
  void add_loss(LossReason reason) noexcept {
    if (reason < LossReason::closed) add(losses_[static_cast<std::size_t>(reason)]);
  }
  void add_deadlock() noexcept { add(deadlocks_); }
  void add_leadership() noexcept { add(leaderships_); }
  void candidate_made() noexcept { ++candidates_; }
  void candidate_ended() noexcept { --candidates_; }
  /// Returns the counts. The members about the present state of holds and waiters are 0.
  LockMetrics read(std::string_view label) const;

 private:
  using Counter = std::atomic<std::uint64_t>;
  static void add(Counter& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }

  std::array<core::AtomicHistogram, 4> acquires_{};
  std::array<core::AtomicHistogram, 4> ended_holds_{};
  std::array<Counter, static_cast<std::size_t>(LossReason::closed)> losses_{};
  Counter deadlocks_{0};
  Counter leaderships_{0};
  std::atomic<std::size_t> candidates_{0};
};

/// Where an acquire call and its hold are counted.
struct MetricsTarget {
  LabelMetrics* label = nullptr;  ///< null: not counted
  bool leads = false;             ///< a grant is a leadership
};

/// The present state of the contenders with one label.
struct LabelState {
  std::size_t holds = 0;
  std::size_t waiters = 0;
  std::size_t leaders = 0;
  core::Duration oldest_hold{};
  core::Duration oldest_wait{};
};
using LabelStates = std::unordered_map<const LabelMetrics*, LabelState>;

/// The LabelMetrics of a client, by label. At most kMostLabels; later labels share "other".
///
/// Thread-safety: none. REQUIRES: the engine mutex is held.
class LabelRegistry {
 public:
  static constexpr std::size_t kMostLabels = 200;

  /// Returns the metrics of the label, cut as in the znode. An empty label is "unnamed". May
  /// allocate: called once for each lock object.
  LabelMetrics& of(std::string_view label);
  /// Returns all, sorted by label. They exist as long as this object.
  std::vector<std::pair<std::string, const LabelMetrics*>> all() const;

 private:
  std::map<std::string, LabelMetrics, std::less<>> labels_;
};

}  // namespace zklock::detail
