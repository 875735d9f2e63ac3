// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace zklock::core {

/// How the contenders of one client share a node; those that agree on it do.
struct LocalTerms {
  int batch = 1;
  std::chrono::milliseconds keep_idle{0};

  bool shares() const noexcept { return batch > 1 || keep_idle.count() > 0; }
  friend bool operator==(const LocalTerms&, const LocalTerms&) = default;
};

/// How often a node may still be passed on from one contender of a client to the next.
///
/// `served` is the number of grants since the last proof that nobody waited outside:
///
/// | event                             | served                     | may ask again            |
/// |-----------------------------------|----------------------------|--------------------------|
/// | (a new node)                      | 0                          | yes                      |
/// | granted()                         | one more                   | as before                |
/// | asks(): how many nodes are there? | the same                   | not before the answer    |
/// | answered(alone)                   | the grants since asks()    | yes                      |
/// | answered(others), others_found()  | the same                   | no: others wait          |
/// | nobody_known(): a watch is armed  | 0                          | as before                |
///
/// Why at most `batch` grants are made in a row while somebody outside waits, as long as
/// nobody_known() is not called: let its node be there from some moment on, as the server sees it
/// that answers (one that lags behind the others sees it late: to ask a quorum would take a write
/// for each question). The last answer `alone` was given before, for it did not count that node, and
/// asked before that. So every grant from that moment on is among those that `served` counts, and
/// left() allows only `batch` of these. A wrong `others` costs a node too many, and breaks nothing.
///
/// A watch says less than an answer: that nobody has come, as far as the servers have told. What is
/// granted until they tell is not bounded by number, but by the time that takes, or the lease.
///
/// Thread-safety: none; pure.
class LocalAllowance {
 public:
  explicit LocalAllowance(int batch) noexcept : batch_(batch) {}

  bool left() const noexcept { return served_ < batch_; }
  bool others_wait() const noexcept { return others_; }
  bool asking() const noexcept { return asking_; }
  /// Late, for a question takes the processors as long as a dozen grants do; but at the end the lock
  /// is nobody's until the answer comes. Of a batch of one, nothing depends on it.
  bool worth_asking() const noexcept {
    return batch_ > 1 && !asking_ && !others_ && served_ >= std::int64_t{batch_} * 3 / 4;
  }

  void granted() noexcept { ++served_; }
  void asks() noexcept {
    asking_ = true;
    served_before_ = served_;
  }
  void answered(bool alone) noexcept {
    asking_ = false;
    if (!alone) return others_found();
    served_ -= served_before_;
  }
  void others_found() noexcept { others_ = true; }
  void nobody_known() noexcept { served_ = served_before_ = 0; }

 private:
  int batch_;
  int served_ = 0;
  int served_before_ = 0;  ///< when it was asked last
  bool asking_ = false;
  bool others_ = false;
};

}  // namespace zklock::core
