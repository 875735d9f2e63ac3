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
  /// own, which is there while it is needed. It is called no more when the object's destructor has
  /// returned.
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

  /// How long nobody is granted the lock after a hold made by this object was lost: for a resource
  /// that checks no token, and may still hear from the holder that was. Lost is what was not given
  /// back: by a crash or a partition, after which the session expires; by the maximum hold time;
  /// when the node was deleted, the release was forced, the client closed, or the locking thread
  /// ended. After a release, unlock() or the end of a Hold, the next is granted at once.
  ///
  /// The delay is obeyed by everybody who uses zklock on the path, readers, semaphores and those
  /// whose own delay is 0 too, but not by Curator and Kazoo. It is counted by who is next in the
  /// queue, from when that one sees that the holder is gone: so it is never shorter than this, but
  /// begins with the next contender's arrival where nobody waited, and anew where the first in the
  /// queue goes and the next one is of another client. For one client it goes on: also between calls
  /// that give up before. (Where every attempt is made by a new client that does not wait for it,
  /// the lock stays out of reach.) Readers of several clients each count for themselves.
  /// A deadline is not put off by it; a single attempt fails; LockEvent `waiting` tells of it,
  /// LockObserver and participants() know no holder meanwhile. A session that ends while its
  /// contender is being granted, and a release that the servers never heard of, count as losses.
  ///
  /// It is for what excludes all others: mutexes and writers, each path of a MultiMutex (they are
  /// taken one after the other, and so the delays of several that were lost add up). Readers leave
  /// no delay, nor does a writer that has gone over to reading. A semaphore refuses it. Where
  /// several objects on one path of a client share a contender, it is the object whose call made
  /// it.
  ///
  /// Cost: one more round trip before the grant, for a persistent node "delay-..." beside the
  /// holder's, which goes with that in one transaction; and who queues next after a grant lists the
  /// queue. After a loss the node stays, and keeps the path from being removed, until the next
  /// contender's delay is over. 0, the default, costs nothing.
  /// From 0 to 24 hours: else making the object throws Error(invalid_option).
  /// Source: Consul's lock-delay.
  std::chrono::milliseconds lock_delay{0};

  /// How many grants in a row one client may make on one node while others wait outside, counted
  /// from when the server that it is connected to knows of them. With more than 1 the contenders of
  /// a client on a path share a node: a release gives the lock to the next of them, first come first
  /// served, at once and without a request. When the number is reached and somebody outside may
  /// wait, the node is released, and those who are left queue again, behind all who wait by then.
  /// While nobody outside waits there is no limit: whether somebody does is asked, once in about
  /// three quarters as many grants. Where the answer is not there at the end, nobody has the lock
  /// until it comes; or, if others had stood before the node, it is released. So the number should
  /// be several times that of the grants that are made within a round trip. With
  /// 1, the default, every contender has a node of its own, and the order of all is strictly that of
  /// arrival.
  ///
  /// It is for ReentrantMutex and Mutex. Contenders share a node if their objects agree on this,
  /// keep_idle, lock_delay and on_node_lost; other contenders of the client are outside. A single
  /// attempt that finds the lock held or waited for by those it would share with fails at once,
  /// without a request.
  ///
  /// All guarantees stay. Each grant has a token of its own, above those before: see
  /// FencingToken::turn. A hold that is lost ends the sharing of its node; the others queue again,
  /// on a new one, within their deadlines. So does the end of a thread that has not unlocked, the
  /// maximum hold time, which is each hold's own, and request_release(): who is asked lets go of
  /// the node. A release that overtakes a GuardedTransaction of its hold, or follows one whose
  /// outcome is unknown, gives the node back, too, and so that is written before the next grant, or
  /// never.
  ///
  /// What is seen of it from outside: participants() and LockObserver know a node once, by the
  /// owner it was made for; LockEvent and queue_position() count those of the own client before a
  /// waiter as well. A check of Hold::node() in a transaction of your own does not tell the holds
  /// of one node apart: it may succeed for a hold that was released.
  ///
  /// Below 1 making the object throws Error(invalid_option), as does anything but 1 for all other
  /// classes.
  /// Source: cohort locks (Dice, Marathe, Shavit), with ZooKeeper as the global lock.
  int local_batch = 1;

  /// How long a node stays after the release that nobody of the client waited for. While it does,
  /// whoever locks through this client has the lock at once and without a request. When a contender
  /// of another client, or one of this client that does not share the node (see local_batch), is
  /// there or comes, the servers tell, and the node is released at once. So it goes when the last
  /// object on the path is destroyed, when its time is over (looked at each twentieth of the
  /// session timeout, and so up to that much later), when it is asked for by request_release(), and
  /// as a hold is lost: with the session, its lease, or the node.
  ///
  /// Cost: the first release to keep a node lists the queue, with a watch; who locks again before
  /// the answer waits for that. Whoever comes from outside waits for one event and one list more
  /// than at a release. A kept node is held, to all others: participants() names its owner. While
  /// it is kept the client sends heartbeats. Until the servers have told of somebody who waits,
  /// which they cannot while the connection is broken, the lock may be had here any number of
  /// times, at most until the lease ends. (A hold that is granted so is `suspended` from the
  /// start.)
  ///
  /// 0, the default, keeps nothing. It is for ReentrantMutex and Mutex; a negative time, and any
  /// time for another class, makes making the object throw Error(invalid_option).
  std::chrono::milliseconds keep_idle{0};
};

}  // namespace zklock
