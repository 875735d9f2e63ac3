// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "zklock/hold.h"
#include "zklock/lease_clock.h"
#include "zklock/owner.h"
#include "zklock/recipes/client_core.h"

namespace zklock::recipes {

/// The single holds of one grant of a composite, of which `needed` must be valid.
///
/// Thread-safety: the const members, from any thread.
class HeldParts {
 public:
  struct Part {
    Hold hold;
    std::shared_ptr<ClientCore> core;  ///< where its loss is told
    std::size_t place;                 ///< among holds()
  };

  /// `taken`: in the order in which they were, which is everybody's. Of `places` in the caller's
  /// order, those of no part stay empty.
  HeldParts(const Owner& owner, std::vector<Part> taken, std::size_t places, std::size_t needed);
  /// Gives back everything, what was taken last first: so whoever gets a part and goes on to the
  /// next finds that one free.
  ~HeldParts();
  HeldParts(const HeldParts&) = delete;
  HeldParts& operator=(const HeldParts&) = delete;

  /// As destruction; in a fork()ed child nothing is touched.
  static void release(std::shared_ptr<HeldParts> parts) noexcept;

  HoldState state() const noexcept;
  std::stop_token lost() const noexcept;
  LeaseClock::time_point valid_until() const noexcept;
  /// Whether `renew` said so of enough parts.
  template <class Renew>
  bool renew(Renew renew) {
    if (state() == HoldState::lost) return false;
    const auto renewed = std::ranges::count_if(holds_, renew);
    return static_cast<std::size_t>(renewed) >= needed_;
  }
  std::span<const Hold> holds() const noexcept { return holds_; }
  const Owner& owner() const noexcept { return owner_; }

 private:
  /// Counts the losses; outlives the holds while one is being told.
  struct Tally {
    Tally(std::size_t parts_needed, std::size_t parts_held)
        : needed(parts_needed), left(parts_held) {}
    std::size_t needed;
    std::atomic<std::size_t> left;
    std::stop_source source = {};
  };
  struct OnLoss {
    std::shared_ptr<Tally> tally;
    std::shared_ptr<ClientCore> core;
    const Hold& hold;
    void operator()() const noexcept;
  };

  const Owner owner_;
  const std::size_t needed_;
  std::vector<std::shared_ptr<ClientCore>> cores_;  ///< of what was taken
  std::vector<std::size_t> order_;                  ///< the places, as they were taken
  std::vector<Hold> holds_;
  std::shared_ptr<Tally> tally_;
  std::list<std::stop_callback<OnLoss>> on_loss_;
};

}  // namespace zklock::recipes
