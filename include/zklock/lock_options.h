// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "zklock/executor.h"
#include "zklock/lock_event.h"

namespace zklock {

/// The policy for a contender (not a holder) if its znode is deleted by the end of its session or
/// by another client.
enum class OnNodeLost {
  /// The contender enqueues again, at the end. The deadline does not change.
  queue_again,
  /// The call fails with session_expired or node_deleted. A call of a MultiMutex or QuorumMutex can
  /// also fail with lock_lost.
  fail,
};

struct ExclusiveOptions;
struct CohortOptions;
struct PriorityOptions;
struct QuorumOptions;

/// The options that every lock class has. Every member has a default.
///
/// Each lock class accepts only the options that it supports. Others do not compile. Set them in
/// the order of their declarations:
/// @code
///   Semaphore permits(client, "/pool", 8, {.max_hold = 60s});
///   SharedMutex catalog(client, "/catalog", {.max_hold = 60s, .lock_delay = 5s});
///   ReentrantMutex busy(client, "/busy", {.max_local_handoffs = 64, .lock_delay = 5s});
/// @endcode
///
/// | type             | members, in this order                                | classes           |
/// |------------------|-------------------------------------------------------|-------------------|
/// | LockOptions      | label, on_node_lost, listener, executor, max_hold,    | Semaphore         |
/// |                  | expiry_notice                                         |                   |
/// | ExclusiveOptions | those of LockOptions, lock_delay                      | SharedMutex,      |
/// |                  |                                                       | MultiMutex        |
/// | CohortOptions    | those of LockOptions, max_local_handoffs,             | ReentrantMutex,   |
/// |                  | keep_idle_for, lock_delay                             | Mutex             |
/// | PriorityOptions  | label, weight, ageing, the others of ExclusiveOptions | PriorityMutex     |
/// | QuorumOptions    | label, ensemble_timeout, the others of                | QuorumMutex       |
/// |                  | ExclusiveOptions                                      |                   |
///
/// LockOptions converts to all others, and ExclusiveOptions to CohortOptions, PriorityOptions and
/// QuorumOptions. So one variable with the common settings serves several classes.
///
/// Thread-safety: a value.
struct LockOptions {
  /// The name of this lock object, for people and metrics: "billing", "candidate 3". The lock znode
  /// shows it (Participant::label), and so does the log. It is cut to 64 bytes. Objects with equal
  /// labels share one set of metrics. Use few labels. A label must not name a path or a single
  /// request.
  std::string label = {};

  /// The reaction of a waiting call to the loss of its znode or its session.
  OnNodeLost on_node_lost = OnNodeLost::queue_again;

  /// Called for each LockEvent of each contender that a call of this object created. Calls are in
  /// order and one at a time, never on a thread of the ZooKeeper C client, and with no internal
  /// mutex held. The listener may use any lock, even this one. While it blocks, only the events of
  /// this lock object wait. An exception that it throws is logged and dropped.
  ///
  /// Calls with equal owners nest, so several objects of one client on one path can share a
  /// contender. The events of that contender go to the object whose call created it.
  ///
  /// The destructor of the object blocks until a running call of the listener returns, unless that
  /// call runs the destructor. After the destructor, the listener is not called, even if Holds live
  /// on.
  ///
  /// Cost: a contender that must wait lists the queue, to learn its position. That is one request
  /// more than without a listener.
  LockListener listener = {};

  /// Runs the listener; not called after the destructor of the object has returned. Default:
  /// ClientOptions::executor. If neither is set, the listener runs on a thread of its own, which
  /// exists while it is needed. If the system cannot start that thread, the listener runs on a
  /// thread for handlers.
  Executor executor = {};

  /// The maximum hold time, measured by LeaseClock from the grant. Pauses of the process and of the
  /// machine count. When this time ends, the hold is lost, even if the lease is valid. First
  /// state() turns `lost`. Then the loss_token() is stopped, and the listener gets the event
  /// `expired`. The znode is deleted when the callbacks on that token have returned, at the latest
  /// after ClientOptions::loss_callback_limit. Then the next contender can be granted. The owner
  /// must still unlock, or destroy its Holds, as after any loss.
  ///
  /// Hold::renew() restarts the time. Nested calls share one grant, and the time runs from that
  /// grant: a nested call neither shortens nor extends it. If the option is unset, there is no
  /// limit: the lease is extended until the release.
  ///
  /// The time must be positive; otherwise the constructor of the object throws
  /// Error(invalid_option).
  /// Source: leaseTime of org.redisson.api.RLock.
  std::optional<std::chrono::milliseconds> max_hold = std::nullopt;

  /// The time between the event `expiring` and the end of the maximum hold time. Default: a quarter
  /// of the maximum hold time. If the value is not shorter than the maximum hold time, the event is
  /// sent right after the grant. The value must be positive; otherwise the constructor of the
  /// object throws Error(invalid_option).
  std::optional<std::chrono::milliseconds> expiry_notice = std::nullopt;

  /// Convert to the options of other classes, with defaults for their other members.
  operator ExclusiveOptions() const;  // NOLINT(google-explicit-constructor)
  operator CohortOptions() const;     // NOLINT(google-explicit-constructor)
  operator PriorityOptions() const;   // NOLINT(google-explicit-constructor)
  operator QuorumOptions() const;     // NOLINT(google-explicit-constructor)
};

/// The options of a SharedMutex or a MultiMutex. LockOptions explains the types.
///
/// Thread-safety: a value.
struct ExclusiveOptions {
  /// See LockOptions.
  std::string label = {};
  OnNodeLost on_node_lost = OnNodeLost::queue_again;
  LockListener listener = {};
  Executor executor = {};
  std::optional<std::chrono::milliseconds> max_hold = std::nullopt;
  std::optional<std::chrono::milliseconds> expiry_notice = std::nullopt;

  /// The lock delay: for this long after a loss, no contender is granted the lock. It is for a
  /// resource that checks no token, and that may still receive requests of the former holder.
  ///
  /// It applies if a hold that this object made ends without a release. That happens when its
  /// session expires (after a crash or a partition), its maximum hold time ends, or its znode is
  /// deleted. It also happens when the release is forced, the client is closed, or the locking
  /// thread ends (except with a Mutex). The delay also applies if the session ends while the grant
  /// is in progress, or if the ensemble does not receive the release. After a release (unlock(),
  /// the end of a Hold) the next contender is granted at once.
  ///
  /// Every contender that uses zklock on the path waits for the delay: also readers, semaphores,
  /// and contenders whose own delay is 0. Contenders of Curator and Kazoo do not. No deadline is
  /// extended; a single attempt fails during the delay. The listener gets LockEvent `waiting`.
  /// LockObserver and participants() report no holder meanwhile.
  ///
  /// The client of the first contender in the queue measures the delay, from the moment when it
  /// sees that the holder's znode is deleted. So the delay is never shorter than this value. It can
  /// be longer:
  ///
  /// | situation                                      | delay                                    |
  /// |------------------------------------------------|------------------------------------------|
  /// | no contender waits at the loss                 | begins when the next contender arrives   |
  /// | the first contender leaves; the next one       | begins again                             |
  /// | belongs to another client                      |                                          |
  /// | the first contender leaves; the next one       | continues, even if the next one enqueues |
  /// | belongs to the same client                     | only after the first one has left        |
  /// | each attempt is a try_lock() of a new process  | begins again with each; none is granted  |
  /// | readers of several clients are first together  | each client measures its own             |
  ///
  /// Only exclusive holds leave a delay: those of mutexes and of writers, even as parts of a
  /// MultiMutex or a QuorumMutex. A MultiMutex acquires its paths one after the other, so the
  /// delays of several lost paths add up. Readers leave no delay, and neither does a writer that
  /// was downgraded. A lost permit leaves no delay either, because other contenders may hold
  /// permits at that time. A contender that several objects of one client share has the delay of
  /// the object that created it.
  ///
  /// Cost: one more round trip before the grant, to create a persistent marker znode "delay-..."
  /// beside the holder's znode. The release deletes both in one transaction. The marker uses a
  /// sequence number, so the first contender that enqueues after a grant sends one extra
  /// getChildren request. After a loss the marker stays until the next contender has waited for the
  /// delay. Until then ZooKeeper does not delete the container of the path, because it is not
  /// empty. A delay of 0, the default, costs nothing.
  ///
  /// The range is 0 to 24 hours; outside it the constructor of the object throws
  /// Error(invalid_option).
  /// Source: Consul's lock-delay.
  std::chrono::milliseconds lock_delay{0};

  /// Convert to the options of other classes. Their other members have their defaults.
  operator CohortOptions() const;    // NOLINT(google-explicit-constructor)
  operator PriorityOptions() const;  // NOLINT(google-explicit-constructor)
  operator QuorumOptions() const;    // NOLINT(google-explicit-constructor)
};

/// The options of a Mutex or a ReentrantMutex. With them, the contenders of one client on a path
/// can share a znode. LockOptions explains the types.
///
/// Thread-safety: a value.
struct CohortOptions {
  /// See LockOptions.
  std::string label = {};
  OnNodeLost on_node_lost = OnNodeLost::queue_again;
  LockListener listener = {};
  Executor executor = {};
  std::optional<std::chrono::milliseconds> max_hold = std::nullopt;
  std::optional<std::chrono::milliseconds> expiry_notice = std::nullopt;

  /// The maximum number of grants in a row on one znode while an outside contender waits, the first
  /// grant included. An outside contender is one that does not share the znode. The default, 1,
  /// means no local hand-off: every waiting contender has its own znode. All are granted in the
  /// order of arrival, except with keep_idle_for. Independently of this option, a contender
  /// directly behind a released znode of its client can be granted without a round trip; see
  /// Hold::release().
  ///
  /// With a value above 1, the contenders of one client on a path share a znode. A release then
  /// grants the lock to the next of them at once, first come, first served, and without a request:
  /// a local hand-off. Only contenders with equal values of max_local_handoffs, keep_idle_for,
  /// lock_delay and on_node_lost share a znode. A single attempt fails at once, without a request,
  /// if another contender already holds or waits with the znode that it would share.
  ///
  /// While no outside contender waits, there is no limit. The limit applies as soon as this
  /// client's server has received the znode of an outside contender. To detect that, the client
  /// requests the number of children after three quarters of the permitted grants. If the reply
  /// shows none, the grants made before that request no longer count against the limit. If the
  /// reply shows one, the client releases the znode after the last permitted grant. Its other
  /// contenders enqueue again with a new znode, behind all contenders that wait by then.
  ///
  /// If the last permitted hold is released before the reply arrives, the client waits for the
  /// reply before it grants again. It does not wait if the znode had to wait for its first grant,
  /// because another client then probably contends. In that case it releases the znode at once.
  ///
  /// Choose a value of several times the number of grants that fit in one round trip. Then no
  /// contender waits for the reply.
  ///
  /// Each grant has its own token, higher than all before; see FencingToken::grant_index. Each hold
  /// has its own maximum hold time.
  ///
  /// The sharing of a znode ends when a hold on it is lost, even by its maximum hold time. It ends
  /// when the holder receives a request_release(), or a thread ends without unlock() of a
  /// ReentrantMutex. Then no further contender is granted on the znode. The others enqueue again
  /// with a new znode, within their deadlines.
  ///
  /// The sharing also ends at a release while a commit of the hold's GuardedTransaction is
  /// unanswered or has an unknown outcome. In this case, the znode is deleted before the next
  /// grant. So the commit cannot be executed after that grant.
  ///
  /// participants() and LockObserver show a shared znode once, with the owner for whom it was
  /// created. LockEvent::position and queue_position() also count the contenders of this client
  /// that are ahead of the waiting one.
  ///
  /// The constructor of the object throws Error(invalid_option) for a value below 1.
  /// Source: cohort locks (Dice, Marathe, Shavit), with ZooKeeper as the global lock.
  int max_local_handoffs = 1;

  /// How long the client retains the znode after a release if no other contender of this client
  /// waits. During this time, the client grants the lock at once, without a request, to contenders
  /// with equal options (see max_local_handoffs). It does so even if max_local_handoffs is 1. The
  /// znode is released at once when the server reports an outside contender. It is also released
  /// when the last object on the path is destroyed, after request_release(), and when this time has
  /// passed. The client checks this time every twentieth of the session timeout, so it can be
  /// exceeded by that interval. A retained lock is lost as a hold is: when the session ends, the
  /// lease expires, or the znode is deleted.
  ///
  /// A retained lock is held, as other clients see it: participants() shows its owner. While the
  /// client is disconnected, it cannot learn of outside contenders. It can then grant the lock any
  /// number of times until the lease expires. A hold that is granted while disconnected is
  /// `suspended` from the start.
  ///
  /// Cost: the first release that retains a znode sends one getChildren request with a watch.
  /// Before the reply, the client does not know of outside contenders. So its own contenders wait
  /// for the reply, unless max_local_handoffs permits another grant. An outside contender waits for
  /// one watch event and one getChildren request longer than for a free lock. The client sends
  /// heartbeats while it retains the znode.
  ///
  /// With the default, 0, no znode is retained. The constructor of the object throws
  /// Error(invalid_option) for a negative time.
  std::chrono::milliseconds keep_idle_for{0};

  /// See ExclusiveOptions::lock_delay.
  std::chrono::milliseconds lock_delay{0};
};

/// The options of a PriorityMutex. LockOptions explains the types.
///
/// Thread-safety: a value.
struct PriorityOptions {
  /// See LockOptions.
  std::string label = {};
  /// Weight of lock(), try_lock() and the other functions without a weight argument: 1 (lightest)
  /// to 10. Functions with a weight argument use that instead, if it is set.
  int weight = 5;
  /// A contender that is n units heavier overtakes an earlier one only if its sequence number is
  /// higher by less than n * ageing. If it is higher by exactly n * ageing, the earlier one is
  /// first. So `ageing` counts sequence numbers, not time. From its arrival to its grant, a
  /// contender uses two sequence numbers, or three with a lock delay.
  /// Range: 1 to 1,000,000. nullopt: strictly by weight; light contenders may starve. All
  /// contenders on the path must use the same value.
  std::optional<int> ageing = 100;

  /// See LockOptions.
  OnNodeLost on_node_lost = OnNodeLost::queue_again;
  /// See LockOptions. For the event `waiting`, LockEvent::position counts the contenders that would
  /// be served earlier if no other contender arrived. It can rise when heavier contenders arrive.
  LockListener listener = {};
  // See LockOptions.
  Executor executor = {};
  std::optional<std::chrono::milliseconds> max_hold = std::nullopt;
  std::optional<std::chrono::milliseconds> expiry_notice = std::nullopt;
  /// See ExclusiveOptions::lock_delay.
  std::chrono::milliseconds lock_delay{0};
};

/// The options of a QuorumMutex. LockOptions explains the types.
///
/// Thread-safety: a value.
struct QuorumOptions {
  /// See LockOptions.
  std::string label = {};

  /// How long a call waits for an ensemble that is out of reach before it skips that ensemble. An
  /// ensemble is out of reach if its client is not connected, or its quorum does not answer. If the
  /// deadline of the call is near, the time is shorter: the ensembles that are still to be tried
  /// share the remaining time equally. If the ensemble is reachable and its lock is held, the call
  /// waits until its deadline. The value must be positive.
  std::chrono::milliseconds ensemble_timeout{2'000};

  /// See LockOptions.
  OnNodeLost on_node_lost = OnNodeLost::queue_again;

  /// See LockOptions. The listener gets the events of each ensemble, even of one that was skipped
  /// and is tried again. LockEvent::part_index is the index of the client. There are no events of
  /// the whole; CompositeHold::loss_token() reports its loss.
  LockListener listener = {};

  /// See LockOptions. Default: the executor of the first client.
  Executor executor = {};

  /// See LockOptions. The maximum hold time counts from the grant of the whole.
  std::optional<std::chrono::milliseconds> max_hold = std::nullopt;
  std::optional<std::chrono::milliseconds> expiry_notice = std::nullopt;

  /// See ExclusiveOptions::lock_delay; for each ensemble by itself. A call acquires the ensembles
  /// one after the other, so the delays of several lost holds add up.
  std::chrono::milliseconds lock_delay{0};
};

namespace detail {

/// Returns options of a larger type. Members that `from` lacks have their defaults.
template <class Options, class From>
Options larger_options(const From& from) {
  Options options;
  options.label = from.label;
  options.on_node_lost = from.on_node_lost;
  options.listener = from.listener;
  options.executor = from.executor;
  options.max_hold = from.max_hold;
  options.expiry_notice = from.expiry_notice;
  if constexpr (requires { from.lock_delay; }) options.lock_delay = from.lock_delay;
  return options;
}

}  // namespace detail

inline LockOptions::operator ExclusiveOptions() const {
  return detail::larger_options<ExclusiveOptions>(*this);
}

inline LockOptions::operator CohortOptions() const {
  return detail::larger_options<CohortOptions>(*this);
}

inline LockOptions::operator PriorityOptions() const {
  return detail::larger_options<PriorityOptions>(*this);
}

inline LockOptions::operator QuorumOptions() const {
  return detail::larger_options<QuorumOptions>(*this);
}

inline ExclusiveOptions::operator CohortOptions() const {
  return detail::larger_options<CohortOptions>(*this);
}

inline ExclusiveOptions::operator PriorityOptions() const {
  return detail::larger_options<PriorityOptions>(*this);
}

inline ExclusiveOptions::operator QuorumOptions() const {
  return detail::larger_options<QuorumOptions>(*this);
}

}  // namespace zklock
