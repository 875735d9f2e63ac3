// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/client_options.h"
#include "zklock/composite_hold.h"
#include "zklock/composite_mutex.h"
#include "zklock/lock_event.h"
#include "zklock/reentrant_mutex.h"

namespace zklock {

/// What QuorumMutex::acquire() returns. Lost when fewer than a majority of its holds are valid.
/// Fencing tokens can be compared with those of the same ensemble only: a resource must keep the
/// highest token of each ensemble, and refuse a request when any token in it is lower.
/// A GuardedTransaction under one of the holds asks that ensemble alone, not for the majority.
using QuorumHold = CompositeHold;

struct QuorumOptions {
  OnNodeLost on_node_lost = OnNodeLost::queue_again;

  /// How long an ensemble may be out of reach before it is skipped: not connected, or without an
  /// answer of its quorum. Close to the deadline the time is shorter, so that each ensemble gets its
  /// share. A reachable ensemble whose lock is held is waited for until the deadline.
  std::chrono::milliseconds ensemble_timeout{2'000};

  /// As MutexOptions::listener. It hears of each ensemble for itself (LockEvent::place is that of
  /// its client), also of one that was passed over and is tried again, and not of the whole, for
  /// which there is CompositeHold::lost().
  LockListener listener = {};

  /// As MutexOptions::executor; by default as the first client says.
  Executor executor = {};

  /// As in MutexOptions, counted from the grant of the whole.
  std::optional<std::chrono::milliseconds> max_hold = std::nullopt;
  std::optional<std::chrono::milliseconds> expiring_before = std::nullopt;

  /// As MutexOptions::lock_delay, of each ensemble on its own. They are asked one after the other:
  /// who comes to several where a hold was lost waits for the sum.
  std::chrono::milliseconds lock_delay{0};
};

/// One lock path on several independent ZooKeeper ensembles, held by whoever holds it on a majority
/// of them: it survives the loss of a minority of the ensembles.
///
/// One ensemble of five servers tolerates the loss of two servers, and is simpler. This class is
/// for ensembles that fail as a whole: in different places, or under different administrations.
///
/// The ensembles are taken in the order of the clients, which must be the same in all processes.
/// An ensemble that is out of reach is skipped after `ensemble_timeout`. Later calls skip it at once,
/// until its quorum answers a probe or its client reconnects. If no majority would remain without it,
/// a call waits for it again, for `ensemble_timeout`. Any two majorities share an ensemble, and that
/// ensemble grants only one of them. Contenders do not wait for each other in a circle, even if each
/// has skipped other ensembles. Each waits only for ensembles that come after all it holds, and
/// releases everything before it goes back to one. In a chain of contenders, each waiting for what
/// the next one holds, the awaited ensembles come later and later, so the chain has an end.
///
/// When a majority is held, the remaining ensembles are tried once, without waiting for others, and
/// the hold gets those that are free: with a bare majority, the next ensemble to fail would take
/// the hold along. It costs one round trip for each, or `ensemble_timeout` where one is frozen. A
/// hold is not mended: an ensemble that was lost, or passed over, is taken again with the next
/// acquire only.
///
/// Source: the Redlock algorithm (redis.io, "Distributed Locks with Redis"), here without its
/// reliance on clocks and without its free-for-all: each ensemble has a fair queue.
///
/// If too many ensembles fail, acquiring functions throw what ReentrantMutex throws. The code is that
/// of the first failure, and the text names each ensemble. If too many are only out of reach, the
/// error is not_connected. A call with a deadline throws it when the deadline has passed; until then
/// it releases its parts and tries all ensembles again. A call without a deadline throws it when each
/// of them has been out of reach for `ensemble_timeout`. try_lock() throws it after one attempt. That
/// attempt waits at most `ensemble_timeout` for each ensemble.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class QuorumMutex : public CompositeMutex {
 public:
  using Clients = std::vector<std::reference_wrapper<Client>>;

  /// Effects: none on the servers, does not block. `clients`: one for each ensemble. An even number
  /// is allowed, but of no use: four ensembles tolerate the loss of one, like three. That two
  /// clients are connected to different ensembles is not checked.
  /// Throws: Error(invalid_option) when there is no client, the same one twice, or a time that is
  /// not positive; Error(invalid_path), as ReentrantMutex; Error(forked); Error(closed) when no
  /// majority of the clients is open.
  QuorumMutex(const Clients& clients, std::string path, QuorumOptions options = {});

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace zklock
