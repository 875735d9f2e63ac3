// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "zklock/client.h"
#include "zklock/client_options.h"
#include "zklock/deadline.h"
#include "zklock/participant.h"

namespace zklock {

namespace recipes {
class QueueObserver;
}

/// An election, as it looks from outside.
///
/// Thread-safety: a value.
struct ElectionState {
  std::optional<Participant> leader;  ///< none: nobody leads
  /// What this leader has proclaimed last: never what a former one did. None: nothing so far, or
  /// (as the log says) it may not be read here.
  std::optional<std::string> value;

  friend bool operator==(const ElectionState&, const ElectionState&) = default;
};

/// Watches who leads, and what the leader has proclaimed (see Leadership::proclaim), without
/// contending: the clients of a service that has one leader.
/// @code
///   ElectionObserver observer(client, "/services/billing/leader");
///   const auto subscription = observer.add_listener([](const ElectionState& state) {
///     if (state.value) connect_to(*state.value);
///   });
/// @endcode
///
/// The path is that of LeaderLatches, LeaderElections, or Curator's LeaderSelectors (which proclaim
/// nothing); who holds a mutex there is a leader too. A leader that died leads until the servers
/// have given up its session.
///
/// What it tells may be out of date when it is read: a service that was asked by mistake has to
/// refuse, by its Leadership::token(), which is the leader's Participant::token here. It never goes
/// back: what a listener is told is no older than what it was told before, so tokens only rise,
/// through disconnects, and on a new session too. While the connection is lost nothing is told, and
/// what changed meanwhile is told afterwards. A missing path is an election that nobody leads.
///
/// Cost: as LockObserver, with at most two reads a list.
/// Source: etcd's concurrency.Election.Observe() and Leader().
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class ElectionObserver {
 public:
  using Listener = std::function<void(const ElectionState&)>;

  /// As LockObserver's.
  ElectionObserver(Client& client, std::string path, Executor executor = {});
  ElectionObserver(const ElectionObserver&) = delete;
  ElectionObserver& operator=(const ElectionObserver&) = delete;
  ~ElectionObserver();

  /// Asks the servers. Blocks, and throws, as LockObserver::state().
  ElectionState state(Deadline deadline = Deadline::never()) const;

  /// Calls `listener` with the state as soon as that is known, and whenever the leader or its value
  /// is another from then on; who queues behind it makes no difference. The rest is as
  /// LockObserver::add_listener().
  Subscription add_listener(Listener listener);

  const std::string& path() const noexcept;

 private:
  std::shared_ptr<recipes::QueueObserver> observer_;
};

}  // namespace zklock
