// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/process.h"
#include "zklock/hold.h"
#include "zklock/lease_clock.h"
#include "zklock/owner.h"

namespace zklock::detail {

/// The parts of one CompositeHold. It is valid while the holds of `needed` parts are.
///
/// Thread-safety: the const members, from any thread.
class CompositeHoldRecord {
 public:
  struct Part {
    Hold hold;
    std::shared_ptr<EngineContext> context;  ///< client that notifies its loss
    std::size_t index;                       ///< index in holds()
  };

  /// `taken`: the parts in the order of their acquisition, which all processes share. `parts`: the
  /// number of all parts. A part that was not taken has an empty hold in holds().
  CompositeHoldRecord(const Owner& owner, std::vector<Part> taken, std::size_t parts,
                      std::size_t needed);
  /// Releases all holds, the last acquired first. So when another contender is granted a part, the
  /// parts that it acquires later are already free.
  ~CompositeHoldRecord();
  CompositeHoldRecord(const CompositeHoldRecord&) = delete;
  CompositeHoldRecord& operator=(const CompositeHoldRecord&) = delete;

  /// Does what the destructor does. In a fork()ed child, leaks the object instead.
  static void release(std::shared_ptr<CompositeHoldRecord> record) noexcept;

  HoldState state() const noexcept;
  std::stop_token loss_token() const noexcept;
  LeaseClock::time_point valid_until() const noexcept;
  /// Calls `renew` for each hold. Returns whether it returned true for enough holds. If the hold
  /// is lost, returns false and calls nothing.
  template <class Renew>
  bool renew(Renew renew) {
    if (state() == HoldState::lost) return false;
    const auto renewed = std::ranges::count_if(holds_, renew);
    return static_cast<std::size_t>(renewed) >= needed_;
  }
  std::span<const Hold> holds() const noexcept { return holds_; }
  const Owner& owner() const noexcept { return owner_; }

 private:
  /// Counts the holds that are not lost. Shared, so that it outlives the holds while a loss is
  /// being notified.
  struct Tally {
    Tally(std::size_t parts_needed, std::size_t parts_held)
        : needed(parts_needed), left(parts_held) {}
    std::size_t needed;
    std::atomic<std::size_t> left;
    std::stop_source source = {};
  };
  struct OnLoss {
    std::shared_ptr<Tally> tally;
    std::shared_ptr<EngineContext> context;
    const Hold& hold;
    void operator()() const noexcept;
  };

  const Owner owner_;
  const std::size_t needed_;
  const ForkGuard fork_guard_;
  std::vector<std::size_t> order_;  ///< indices, in the order of acquisition
  std::vector<Hold> holds_;
  std::shared_ptr<Tally> tally_;
  std::list<std::stop_callback<OnLoss>> on_loss_;
};

}  // namespace zklock::detail
