// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "zklock/client_options.h"
#include "zklock/lock_event.h"

namespace zklock {

/// What becomes of a waiter whose node went: its session expired, or somebody deleted it.
enum class OnNodeLost {
  queue_again,  ///< at the end of the queue, within the same deadline
  fail,         ///< the call throws session_expired or node_deleted
};

/// How a lock object behaves. Every member has a default.
///
/// Thread-safety: a value.
struct MutexOptions {
  OnNodeLost on_node_lost = OnNodeLost::queue_again;

  /// Hears of what the contenders made by this object's calls go through: in order, one call at a
  /// time, never on a thread of the ZooKeeper client, with no lock held. What it throws is logged
  /// and dropped; while it blocks, only the events of this object wait. It may use any lock, also
  /// this one. Where several objects on one path of a client share a contender (equal owners nest),
  /// it is the object whose call made it.
  ///
  /// The object's destructor waits for a call of it that is under way, except on the thread that
  /// runs it, and no call begins afterwards, although Holds may live on.
  ///
  /// With a listener a contender that must wait lists the queue, for its position: one more request
  /// than without.
  LockListener listener = {};

  /// Where the listener runs; by default where ClientOptions::executor says, or on a thread of its
  /// own, which is there while it is needed.
  Executor executor = {};

  /// How long a hold may last, counted from its grant on LeaseClock, pauses of the process and of
  /// the machine included. When that is over the hold is lost, though the lease may be valid: first
  /// its state, then its lost() token, with the event `expired`; and then its node goes, so that the
  /// next is granted: once the callbacks on the token have returned, or after one second. Counts
  /// that are left are to be given back as after any loss. Hold::renew() begins the time anew.
  /// Unset: the lease is renewed until the hold is given back, however long that takes.
  ///
  /// Where grants nest, the time that the first of them agreed on counts; a nested one neither
  /// shortens nor prolongs it. It must be positive: else making the object throws
  /// Error(invalid_option).
  /// Source: leaseTime of org.redisson.api.RLock.
  std::optional<std::chrono::milliseconds> max_hold = std::nullopt;

  /// How long before that the event `expiring` comes; by default a quarter of the time. At once
  /// when it is not shorter than the time. It must be positive, as max_hold.
  std::optional<std::chrono::milliseconds> expiring_before = std::nullopt;
};

}  // namespace zklock
