// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>

#include "zklock/hold.h"
#include "zklock/lease_clock.h"
#include "zklock/owner.h"

namespace zklock {

namespace recipes {
class HeldParts;
}

/// One count of several locks that were taken as one, released when it is destroyed. It is called
/// MultiHold where all of them are needed, and QuorumHold where a majority is.
///
/// Each of them is a Hold, with a node and a fencing token of its own: there is no token of the
/// whole. The whole is worth what its needed part is worth: where k are needed, state() is the
/// k-th best of the single states, and valid_until() the k-th latest. It may outlive its mutex and
/// its clients: then it is `lost`. Source: "Distributed Locks with Redis" (redis.io), for the
/// validity of a majority; here that of each part comes from its servers.
///
/// Thread-safety: a distinct CompositeHold may be used from any thread, also one that did not
/// acquire it; one object is not to be used by two threads at once, except for the const members.
class [[nodiscard]] CompositeHold {
 public:
  /// Empty: operator bool is false. All members may be called; what they answer is safe (state()
  /// is lost, there are no holds(), release() does nothing).
  CompositeHold() noexcept = default;
  CompositeHold(CompositeHold&& other) noexcept;
  CompositeHold& operator=(CompositeHold&& other) noexcept;
  CompositeHold(const CompositeHold&) = delete;
  CompositeHold& operator=(const CompositeHold&) = delete;
  /// Same as release().
  ~CompositeHold();

  /// Effects: none; does not block. True while this object has its counts, whether they are still
  /// valid or lost; false for an empty, moved-from or released one.
  explicit operator bool() const noexcept { return parts_ != nullptr; }

  /// `held` while enough are held; `suspended` while enough are held or suspended; else `lost`,
  /// and then for ever. Does not block and sends nothing. See Hold::state(), also for what it
  /// leaves unsaid.
  HoldState state() const noexcept;

  /// A token that is stopped once, when the whole is lost: with the first of a MultiHold, with the
  /// one that breaks the majority of a QuorumHold; and before another client can be granted the
  /// whole. It is not stopped by release(). Its callbacks run as those of Hold::lost(). A token got
  /// from a hold that is lost already, or from an empty one, is stopped.
  std::stop_token lost() const noexcept;

  /// Until when the whole is sure to be valid if no server is heard of any more.
  /// time_point::min() when lost.
  LeaseClock::time_point valid_until() const noexcept;

  /// Hold::renew() of every part that is valid. False, and nothing is changed, when the whole is
  /// lost, or this object is empty; also when it was lost meanwhile.
  /// Throws: Error(invalid_option) when `length` is not positive.
  bool renew();
  bool renew(std::chrono::milliseconds length);

  /// The single holds: of a MultiHold in the order in which the caller gave the paths, of a
  /// QuorumHold in the order of the clients, with an empty Hold for each ensemble that was not
  /// taken. For their tokens, nodes and states; they are released with the whole only. Valid until
  /// this object is moved from, released or destroyed.
  std::span<const Hold> holds() const noexcept;

  /// holds()[i]; an empty Hold when there are not so many.
  const Hold& operator[](std::size_t i) const noexcept;

  /// On whose behalf it is held. The calling thread for an empty one.
  Owner owner() const noexcept;

  /// Effects: gives all counts back, the last taken first; each as Hold::release() does, so that
  /// nothing can fail and keep the others from being released. Does not block; any thread. To wait
  /// for the servers' answers: Client::flush().
  void release() noexcept;

 private:
  friend class CompositeMutex;
  explicit CompositeHold(std::shared_ptr<recipes::HeldParts> parts) noexcept;

  std::shared_ptr<recipes::HeldParts> parts_;
};

}  // namespace zklock
