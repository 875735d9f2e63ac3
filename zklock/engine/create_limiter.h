// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace zklock::detail {

/// Limits how many lock nodes of one lock path have their create in flight at a time. The other
/// lock nodes wait here, the oldest first.
///
/// Thousands of lock nodes can arrive in one burst. Without the limit, each would queue its create
/// in the coordinator, which takes much more memory than waiting here. And a release, or a request
/// for another path, would wait until all of these were sent. The coordinator cannot limit them: it
/// sends requests in order, and does not know which of them may be postponed.
///
/// A lock node that was let through has a slot: it may send its create, and may repeat it. It
/// returns the slot when it has its znode, has failed, or has an unknown outcome. If it has to
/// create a znode again later, it waits again, ahead of all newer lock nodes.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. The path lock owns this object.
class CreateLimiter {
 public:
  /// The limit. With 100 creates in flight the ensemble is never idle: it executes fewer than 100
  /// within a round trip of 1 ms.
  static constexpr std::size_t kMostAtOnce = 100;

  /// `max_in_flight`: ClientOptions::max_in_flight, at least 1. The limit is not higher than that.
  explicit CreateLimiter(std::size_t max_in_flight)
      : at_once_(std::min(kMostAtOnce, max_in_flight)) {}
  CreateLimiter(const CreateLimiter&) = delete;
  CreateLimiter& operator=(const CreateLimiter&) = delete;

  /// Returns true if the lock node may send its create now. Otherwise `let_through` is called when
  /// the limit permits it. `number`: higher for each newer lock node.
  template <class LetThrough>
  [[nodiscard]] bool enter(std::uint64_t number, LetThrough let_through) {
    if (in_flight_ == at_once_) {
      waiting_.emplace(number, std::move(let_through));
      return false;
    }
    ++in_flight_;
    return true;
  }
  /// A lock node returns its slot, even if it could not send. Lets waiting lock nodes through.
  void return_slot() {
    --in_flight_;
    while (in_flight_ < at_once_ && !waiting_.empty()) {
      const auto next = waiting_.extract(waiting_.begin());
      ++in_flight_;
      next.mapped()();
    }
  }
  /// Removes a lock node. Returns false if it does not wait here.
  bool withdraw(std::uint64_t number) { return waiting_.erase(number) > 0; }
  /// Forgets the waiting lock nodes: none is let through any more.
  void close() noexcept { waiting_.clear(); }

 private:
  const std::size_t at_once_;
  std::size_t in_flight_ = 0;
  /// `let_through` of the waiting lock nodes. Empty while fewer than at_once_ are in flight.
  std::map<std::uint64_t, std::function<void()>> waiting_;
};

}  // namespace zklock::detail
