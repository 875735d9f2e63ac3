// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/executor.h"
#include "zklock/export.h"
#include "zklock/participant.h"
#include "zklock/subscription.h"

namespace zklock {

namespace detail {
class QueueObserver;
}

/// State of an election, as seen by a client that does not contend.
///
/// Thread-safety: a value.
struct ElectionState {
  std::optional<Participant> leader;  ///< nullopt: no leader
  /// The last value that this leader proclaimed; never a value of a former leader. nullopt: it has
  /// proclaimed none. Without READ permission, a listener gets nullopt and a warning is logged, and
  /// state() throws no_auth.
  std::optional<std::string> value;

  /// Compares all members.
  friend bool operator==(const ElectionState&, const ElectionState&) = default;
};

/// Watches the leader of an election and its proclaimed value (see Leadership::proclaim) without
/// contending. It is meant for the clients of a service that has one leader.
/// @code
///   ElectionObserver observer(client, "/services/billing/leader");
///   const auto subscription = observer.add_listener([](const ElectionState& state) {
///     if (state.value) connect_to(*state.value);
///   });
/// @endcode
///
/// The path is that of LeaderLatches, LeaderElections, or Curator's LeaderSelectors. A
/// LeaderSelector proclaims nothing. The holder of a mutex at the path counts as a leader, too. A
/// leader that crashed counts as the leader until its session expires. If the path does not exist,
/// there is no leader.
///
/// A reported state may be out of date when it is read. So your client can contact a former leader
/// by mistake, and the service has to refuse such a request. In your client, send the
/// Participant::token of the leader with each request. In the service, compare it with
/// Leadership::token().
///
/// States never go back: each call of a listener reports a state that is no older than the one
/// before. This holds even after a disconnect and on a new session. So the tokens only rise. While
/// the client is disconnected, no state is reported. Changes of that time are reported when it is
/// connected again.
///
/// Cost: while there is a listener, every change of the queue costs one getChildren and at most two
/// getData. This happens at most fifty times a second, however often the queue changes. States in
/// between are not reported.
/// Source: etcd's concurrency.Election.Observe() and Leader().
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: a listener may destroy the observer.
class ZKLOCK_EXPORT ElectionObserver {
 public:
  /// Receives the state.
  using Listener = std::function<void(const ElectionState&)>;

  /// Creates an observer of the election at `path`. Sends nothing and does not block. `executor`
  /// runs the listeners. By default they run where the client's callbacks run.
  /// Throws: Error(invalid_path | closed | forked).
  ElectionObserver(Client& client, std::string path, Executor executor = {});
  ElectionObserver(const ElectionObserver&) = delete;
  ElectionObserver& operator=(const ElectionObserver&) = delete;
  /// Removes all listeners and watches. Waits for listener calls in progress, but not for servers.
  /// If a listener of this observer runs the destructor, it waits for no call. Afterwards neither
  /// listeners nor the executor are called.
  ~ElectionObserver();

  /// Reads the state from a server. Blocks for two round trips (one if there is no leader), at most
  /// until the deadline; without one, for ClientOptions::connection_timeout. If the leader's znode
  /// is deleted meanwhile, lists the queue again, up to five times in total. After that, the leader
  /// may be described only by the name of its znode.
  /// Throws: Error(no_auth | auth_failed | not_connected | closed | forked | server_error).
  [[nodiscard]] ElectionState state(Deadline deadline = Deadline::never()) const;

  /// Calls `listener` on the executor when the state is known, and after every change of the leader
  /// or its value. Changes of the queue behind the leader cause no call. If a leadership lasts
  /// long, one more call shows its Participant::held_since. The calls come in order, one at a time.
  /// While the listener runs, newer states replace older ones: it then receives only the newest. An
  /// exception from the listener is logged and dropped. After Client::close() the listener is not
  /// called. Does not block.
  /// Throws: Error(closed | forked).
  Subscription add_listener(Listener listener);

  /// Returns the path of the election, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept;

 private:
  std::shared_ptr<detail::QueueObserver> observer_;
};

}  // namespace zklock
