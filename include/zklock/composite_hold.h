// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>

#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/hold.h"
#include "zklock/lease_clock.h"
#include "zklock/lock_state.h"
#include "zklock/owner.h"

namespace zklock {

namespace detail {
class CompositeHoldRecord;
class PathLock;
}  // namespace detail

/// The result of acquiring several locks together. Each lock is a part. The destructor releases the
/// parts. A MultiHold needs all its parts, a QuorumHold a majority.
///
/// Each part is a Hold, with its own znode and fencing token; the whole has no token. The whole is
/// valid while enough parts are valid. A CompositeHold may outlive the lock object: the destructor
/// of that object does not affect it. It may also outlive its clients: then it is `lost`.
/// Source: "Distributed Locks with Redis" (redis.io), for the validity of a majority. Here each
/// part has its own lease.
///
/// Thread-safety: any thread may use a CompositeHold, even one that did not acquire it. Several
/// threads may call only the const members of one object at the same time.
class [[nodiscard]] ZKLOCK_EXPORT CompositeHold {
 public:
  /// Creates an empty CompositeHold: operator bool returns false. All members may be called:
  /// state() returns `lost`, holds() is empty, and release() does nothing.
  CompositeHold() noexcept = default;
  CompositeHold(CompositeHold&& other) noexcept;
  CompositeHold& operator=(CompositeHold&& other) noexcept;
  CompositeHold(const CompositeHold&) = delete;
  CompositeHold& operator=(const CompositeHold&) = delete;
  /// Calls release().
  ~CompositeHold();

  /// Returns true until this object is released or moved from, even if the whole is lost. Returns
  /// false for an empty, moved-from or released object. Does not block.
  explicit operator bool() const noexcept { return parts_ != nullptr; }

  /// Returns `held` while enough parts are held, `suspended` while enough are held or suspended,
  /// and otherwise `lost`. Once it is `lost`, it stays `lost`. Does not block; sends nothing. As
  /// with Hold::state(), the process can be paused between this call and its next action.
  [[nodiscard]] HoldState state() const noexcept;

  /// Returns whether state() is `held` or `suspended`. Does not block; sends nothing.
  [[nodiscard]] bool is_valid() const noexcept { return state() != HoldState::lost; }

  /// Returns a stop token that is stopped once, when the whole is lost. While the process runs, it
  /// is stopped before another client can be granted the whole. Hold::loss_token() states the
  /// exceptions. A MultiHold is lost with its first lost part. A QuorumHold is lost with the part
  /// that breaks the majority. release() does not stop this token. Hold::loss_token() says where
  /// its callbacks run. If the whole is lost already, or this object is empty, the returned token
  /// is stopped.
  [[nodiscard]] std::stop_token loss_token() const noexcept;

  /// Returns the latest time until which enough parts are valid if no further reply arrives;
  /// time_point::min() if the whole is lost.
  [[nodiscard]] LeaseClock::time_point valid_until() const noexcept;

  /// Calls Hold::renew() of every valid part. Returns true if enough parts were renewed. Returns
  /// false, and changes nothing, if the whole is lost or this object is empty. Also returns false
  /// if the whole is lost during the call.
  /// Throws: Error(invalid_option) if `length` is not positive.
  [[nodiscard]] bool renew();
  [[nodiscard]] bool renew(std::chrono::milliseconds length);

  /// Returns the parts, to read their tokens, znodes and states. Those of a MultiHold are in the
  /// order of the paths in the constructor. Those of a QuorumHold are in the order of the clients,
  /// with an empty Hold for each ensemble that was not acquired. They are released only with the
  /// whole. The result is valid until this object is moved from, released or destroyed.
  [[nodiscard]] std::span<const Hold> holds() const noexcept;

  /// Returns holds()[i], or an empty Hold if there is no such element.
  const Hold& operator[](std::size_t i) const noexcept;

  /// Returns the owner of the holds; the calling thread for an empty object.
  [[nodiscard]] Owner owner() const noexcept;

  /// Does what Hold::blocked_by() does, for the part that the call requested last. For a
  /// QuorumMutex, that part is one of its ensembles. The call may have acquired it, and released it
  /// because too few of the other ensembles were free.
  [[nodiscard]] LockState blocked_by(Deadline deadline = std::chrono::seconds(1)) const;

  /// Releases all counts, the last acquired first, each as Hold::release() does. A release cannot
  /// fail, so all parts are released. Does not block; any thread may call it. Client::flush() waits
  /// for the confirmation of the ensemble.
  void release() noexcept;

 private:
  friend class CompositeMutex;
  ZKLOCK_HIDDEN CompositeHold(std::shared_ptr<detail::CompositeHoldRecord> parts,
                              std::shared_ptr<detail::PathLock> refused) noexcept;

  std::shared_ptr<detail::CompositeHoldRecord> parts_;
  /// The part that the call did not acquire; null if parts_ is set.
  std::shared_ptr<detail::PathLock> refused_;
};

}  // namespace zklock
