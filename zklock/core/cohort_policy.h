// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>

namespace zklock::core {

/// The settings of a cohort. Contenders of one client share a znode only if theirs are equal.
struct CohortPolicy {
  int batch = 1;                               ///< grants in a row; see max_local_handoffs
  std::chrono::milliseconds keep_idle_for{0};  ///< see CohortOptions

  bool shares() const noexcept { return batch > 1 || keep_idle_for.count() > 0; }
  friend bool operator==(const CohortPolicy&, const CohortPolicy&) = default;
};

/// Counts how often one znode may still be handed off from one contender of a client to the next.
///
/// `served` is the number of grants since the last proof that no other client waited:
///
/// | event                                   | served               | next count of children   |
/// |-----------------------------------------|----------------------|--------------------------|
/// | (a new znode)                           | 0                    | possible                 |
/// | on_grant()                              | plus 1               | unchanged                |
/// | on_count_requested()                    | unchanged            | not before its reply     |
/// | on_counted(alone)                       | the grants since the | possible                 |
/// |                                         | request              |                          |
/// | on_counted(others), on_others_found()   | unchanged            | none: other clients wait |
/// | on_watched_grant(): called before a     | 0                    | unchanged                |
/// | grant, if the watch for other           |                      |                          |
/// | contenders is armed                     |                      |                          |
///
/// Without on_watched_grant(), at most `batch` grants are made in a row while another client waits.
/// Proof: from some moment on, the answering server sees the other client's znode. A count
/// requested after that moment is not answered "alone". So the last count answered "alone" was
/// requested before that moment, and `served` includes every grant after that moment.
/// has_grants_left() allows only `batch` of them. If the server lags, that moment comes late. Only
/// a write through the quorum for each count would prevent that. A wrong answer "others" costs one
/// redundant znode, and breaks nothing.
///
/// An armed watch is weaker than an answer. It shows only that the server has not yet notified this
/// client of another contender. The number of grants until that event is not bounded. Their
/// duration is bounded by the delay of the event, or by the lease.
///
/// Thread-safety: none; pure.
class CohortBudget {
 public:
  explicit CohortBudget(int batch) noexcept : batch_(batch) {}

  bool has_grants_left() const noexcept { return served_ < batch_; }
  bool others_wait() const noexcept { return others_; }
  bool is_counting() const noexcept { return counting_; }
  /// Returns whether the children should be counted now. A count takes as much processor time as a
  /// dozen grants, so it is sent only after 3/4 of the batch. It is not sent at the end: the lock
  /// would be idle until the reply. If `batch` is 1, no count is needed.
  bool is_count_due() const noexcept {
    return batch_ > 1 && !counting_ && !others_ && served_ >= std::int64_t{batch_} * 3 / 4;
  }

  void on_grant() noexcept { ++served_; }
  void on_count_requested() noexcept {
    assert(!counting_);
    counting_ = true;
    served_before_ = served_;
  }
  void on_counted(bool alone) noexcept {
    assert(counting_ && served_before_ <= served_);
    counting_ = false;
    if (!alone) return on_others_found();
    served_ -= served_before_;
  }
  void on_others_found() noexcept { others_ = true; }
  void on_watched_grant() noexcept { served_ = served_before_ = 0; }

 private:
  int batch_;
  int served_ = 0;
  int served_before_ = 0;  ///< `served` at the last on_count_requested()
  bool counting_ = false;
  bool others_ = false;
};

}  // namespace zklock::core
