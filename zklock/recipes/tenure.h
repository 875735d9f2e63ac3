// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/core/leadership.h"
#include "zklock/hold.h"
#include "zklock/leadership.h"
#include "zklock/recipes/process_identity.h"
#include "zklock/recipes/proclaiming.h"

namespace zklock::recipes {

/// One leadership: the hold behind it, and the signal that it is over.
///
/// Thread-safety: all members, from any thread; tell_loss() once.
class Tenure : public std::enable_shared_from_this<Tenure> {
 public:
  using Number = core::LeadershipFsm::Attempt;

  /// `hold` is one of `leader`.
  Tenure(Number number, std::shared_ptr<Contender> leader, Hold hold);

  Number number() const noexcept { return number_; }
  /// Calls `on_loss` once, when the hold is lost; at once if it is lost already. It is not called
  /// any more when this object is destroyed.
  void tell_loss(std::function<void()> on_loss);
  /// While it is kept after a loss, the lock waits with passing on: as Contender::being_told().
  std::shared_ptr<void> being_told() const;
  /// From now on it is `lost` for the user, although the lock may be held until release().
  void end() noexcept { ended_ = true; }
  /// Stops the token; its callbacks are the user's.
  void stop() { over_.request_stop(); }
  void release() noexcept;

  FencingToken token() const noexcept { return token_; }
  const std::string& node() const noexcept { return node_; }
  HoldState state() const noexcept;
  LeaseClock::time_point valid_until() const noexcept;
  std::stop_token over() const noexcept;
  std::stop_token release_requested() const noexcept { return requested_; }
  /// Where it proclaims. Throws Error(lock_lost), of that operation, when it has ended, or
  /// Error(forked).
  std::shared_ptr<Rostrum> rostrum(const char* operation) const;

  /// For the user.
  Leadership leadership() const { return Leadership(shared_from_this()); }

 private:
  struct OnLoss {
    Tenure& tenure;
    std::function<void()> call;
    // A copy: the call may end this tenure, and this object with it.
    void operator()() const {
      const auto copy = call;
      tenure.is_lost();
      copy();
    }
  };
  void is_lost();
  /// Then the mutex may be held for ever.
  bool forked() const noexcept { return fork_generation() != birth_; }
  std::string path() const { return node_.substr(0, node_.rfind('/')); }

  const Number number_;
  const FencingToken token_;
  const std::string node_;
  const std::stop_token lost_;
  const std::stop_token requested_;
  const std::uint32_t birth_ = fork_generation();
  std::atomic<bool> ended_{false};
  std::stop_source over_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  std::shared_ptr<Rostrum> rostrum_;  // null: it is over
  Hold hold_;
  std::shared_ptr<void> being_told_;

  std::optional<std::stop_callback<OnLoss>> on_loss_;  // last: nothing is called any more
};

}  // namespace zklock::recipes
