// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "zklock/client.h"
#include "zklock/client/dispatcher.h"
#include "zklock/leadership.h"
#include "zklock/recipes/tenure.h"

namespace zklock::recipes {

/// Tells of leaderships to the user's listeners: each hears gained and lost in turn, one call at a
/// time. What a call throws is given to `warn`.
///
/// Thread-safety: all members, from any thread; began(), ended(), add() and the two endings in one
/// order, which their caller's lock makes.
class LeadershipListeners {
 public:
  using Call = std::function<void(const Leadership&)>;
  using Warn = std::function<void(const std::string&)>;

  LeadershipListeners(std::shared_ptr<client::Dispatcher> dispatcher, Warn warn);

  /// `present`: the leadership that the listener has missed the beginning of; may be null.
  Subscription add(Call gained, Call lost, const std::shared_ptr<Tenure>& present);
  void began(const std::shared_ptr<Tenure>& tenure) noexcept;
  void ended(const std::shared_ptr<Tenure>& tenure) noexcept;

  /// No call begins any more.
  void fall_silent() noexcept;
  /// No call begins any more, but for the `lost` of those who heard `gained` last.
  void finish() noexcept;
  /// Waits until no silenced listener's call is under way; not for its own caller's, nor for any
  /// when the calling thread runs one.
  void wait() noexcept;
  /// Lets go of what the listeners own, which belongs to the user.
  void forget() noexcept;

 private:
  class Listener;
  struct List;
  void tell(const std::shared_ptr<Tenure>& tenure, bool gained) noexcept;

  const std::shared_ptr<client::Dispatcher> dispatcher_;
  const Warn warn_;
  const std::shared_ptr<List> list_;
};

}  // namespace zklock::recipes
