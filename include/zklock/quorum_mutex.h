// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/composite_hold.h"
#include "zklock/composite_mutex.h"
#include "zklock/executor.h"
#include "zklock/export.h"
#include "zklock/lock_event.h"
#include "zklock/lock_options.h"
#include "zklock/reentrant_mutex.h"

namespace zklock {

/// The hold that QuorumMutex::acquire() returns. It is lost when its holds are valid on fewer than
/// a majority of all ensembles.
///
/// Fencing tokens of different ensembles cannot be compared. A resource must store the highest
/// token of each ensemble. It must refuse a request if any token in it is lower than the stored
/// token of that ensemble. A GuardedTransaction under one of the holds is checked by that ensemble
/// only, not by the majority.
using QuorumHold = CompositeHold;

/// A reentrant lock: one path on several independent ZooKeeper ensembles. The lock is held by the
/// owner that holds the path on a majority of them. So it survives the loss of a minority of the
/// ensembles.
///
/// One ensemble of five servers tolerates the loss of two servers, and is simpler. This class is
/// for ensembles that fail as a whole, because they are at different sites or under different
/// administrations.
///
/// A call acquires the ensembles in the order of the clients. All processes must use one order. An
/// ensemble that is out of reach is skipped after `ensemble_timeout`. Later calls skip it at once,
/// until its quorum answers a probe or its client reconnects. Exception: if the other ensembles
/// give no majority, a call waits for that ensemble again, up to `ensemble_timeout`.
///
/// Any two majorities share an ensemble, and that ensemble grants only one of them.
///
/// Contenders do not wait for each other in a cycle, even if they have skipped different
/// ensembles. A contender waits only for an ensemble that is later in the order than all that it
/// holds. Before it returns to an earlier one, it releases everything. Suppose that A waits for an
/// ensemble that B holds. Then A holds only earlier ones, and B waits only for a later one, so
/// never for A.
///
/// When a call holds a majority, it makes one attempt at each remaining ensemble, without waiting
/// behind other contenders. The free ones are added to the hold. With a bare majority, the hold
/// would be lost when the next ensemble fails. Each of these attempts costs one round trip, or
/// `ensemble_timeout` if the ensemble does not answer. A hold is not repaired: an ensemble that was
/// lost or skipped is acquired again only by the next acquire.
///
/// Source: the Redlock algorithm (redis.io, "Distributed Locks with Redis"). Unlike Redlock, this
/// class does not rely on wall clocks, and each ensemble has a fair queue.
///
/// If too many ensembles fail, an acquiring call throws an Error of AcquiringLock. The code is that
/// of the first failure, and the text names each ensemble. If a majority is missing only because
/// ensembles are out of reach, the code is not_connected. A call with a deadline throws it when the
/// deadline has passed. Until then it releases its parts and tries all ensembles again. A call
/// without a deadline throws it when it has waited for each of these ensembles for
/// `ensemble_timeout`. try_lock() throws it after one attempt. That attempt waits at most
/// `ensemble_timeout` for each ensemble.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: an acquiring call that waits; see CompositeMutex.
class ZKLOCK_EXPORT QuorumMutex : public CompositeMutex {
 public:
  /// One client for each ensemble.
  using Clients = std::vector<std::reference_wrapper<Client>>;

  /// Makes a mutex on `path`, with one client for each ensemble. Sends nothing; does not block. An
  /// even number of clients is allowed, but has no use: four ensembles tolerate the loss of one, as
  /// three do.
  /// REQUIRES: the clients are connected to different ensembles. This is not checked.
  /// Throws: Error(invalid_option) if there is no client, one client occurs twice, or an option is
  /// outside its range. Error(invalid_path | forked). Error(closed) if no
  /// majority of the clients is open.
  QuorumMutex(const Clients& clients, std::string path, const QuorumOptions& options = {});

  /// Returns the path of the lock, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace zklock
