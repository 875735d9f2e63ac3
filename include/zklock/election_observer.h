// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "zklock/client.h"
#include "zklock/client_options.h"
#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/participant.h"

namespace zklock {

namespace detail {
class QueueObserver;
}

/// State of an election, as a client sees it that does not contend.
///
/// Thread-safety: a value.
struct ElectionState {
  std::optional<Participant> leader;  ///< nullopt: no leader
  /// The last value that this leader proclaimed; never a value of a former leader. nullopt: it has
  /// proclaimed none, or this client has no READ permission. For a listener, the log then says so;
  /// state() throws no_auth.
  std::optional<std::string> value;

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
/// The path is that of LeaderLatches, LeaderElections, or Curator's LeaderSelectors, which proclaim
/// nothing. The holder of a mutex at the path counts as a leader, too. A leader that crashed counts
/// as the leader until its session expires. If the path does not exist, there is no leader.
///
/// A reported state may be out of date when it is read. So a client can contact a former leader by
/// mistake, and that service has to refuse. It can compare its Leadership::token() with the token
/// that the client saw, Participant::token of the leader.
///
/// States never go back: each call of a listener reports a state that is no older than the one
/// before. This holds also after a disconnect and on a new session. So the tokens only rise. While
/// the client is disconnected, no state is reported. Changes of that time are reported when it is
/// connected again.
///
/// Cost: as for LockObserver, with at most two getData for each getChildren.
/// Source: etcd's concurrency.Election.Observe() and Leader().
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class ZKLOCK_EXPORT ElectionObserver {
 public:
  using Listener = std::function<void(const ElectionState&)>;

  /// The constructor and the destructor behave as those of LockObserver.
  ElectionObserver(Client& client, std::string path, Executor executor = {});
  ElectionObserver(const ElectionObserver&) = delete;
  ElectionObserver& operator=(const ElectionObserver&) = delete;
  ~ElectionObserver();

  /// Reads the state from a server. Blocks and throws as LockObserver::state() does.
  ElectionState state(Deadline deadline = Deadline::never()) const;

  /// Calls `listener` when the state is known, and after every change of the leader or its value.
  /// Changes of the queue behind the leader cause no call. Apart from that, it behaves as
  /// LockObserver::add_listener().
  Subscription add_listener(Listener listener);

  const std::string& path() const noexcept;

 private:
  std::shared_ptr<detail::QueueObserver> observer_;
};

}  // namespace zklock
