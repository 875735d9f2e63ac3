// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "zklock/client.h"
#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/mutex.h"
#include "zklock/core/lock_path.h"
#include "zklock/engine/callback/listeners.h"
#include "zklock/engine/session/engine_context.h"

namespace zklock::detail {

class PathLock;

/// The implementation of Client: it makes the path locks, and receives the events of the session.
///
/// Thread-safety: any thread may call any member. Made by make(), ended by close(). After that the
/// last reference may be dropped on any thread, even on a thread of the client. For example, a
/// thread that runs a late reply may own the last reference to a path lock, and so to the client.
/// So a thread of the client may outlive it.
class ClientCore final : public EngineContext, public client::SessionObserver {
 public:
  static std::shared_ptr<ClientCore> make(Ports ports, Settings settings);
  static const std::shared_ptr<ClientCore>& of(const Client& client) noexcept {
    return client.core_;
  }

  /// Returns the path lock of a path. All users of the path share one path lock while any of them
  /// exists.
  std::shared_ptr<PathLock> path_lock(const core::LockPath& path);
  /// Returns the path lock for a public object. Throws Error(invalid_path | closed | forked).
  std::shared_ptr<PathLock> usable_path_lock(const char* operation, std::string path);

  const std::string& hosts() noexcept { return present_hosts().get(); }
  /// See Client::set_hosts().
  void set_hosts(const std::string& hosts);
  bool wait_until_connected(Deadline deadline);
  Subscription add_listener(std::function<void(ConnectionState)> listener);
  /// See Client::flush().
  bool flush(Deadline deadline);
  /// Blocks until no background work up to `last` is in flight, or until `deadline`. Returns true
  /// if all of it has ended. Returns false at the deadline, or if a part of it is stalled.
  bool wait_for_work(Deadline deadline, BackgroundWork::Id last);
  void close() noexcept;
  /// See Client::metrics(). Throws Error(forked).
  ClientMetrics metrics();
  /// See Client::health(). Throws Error(forked).
  Health health();

  // SessionObserver.
  void on_connected(const client::SessionInfo& session) override;
  void on_suspended(SessionId session) override;
  void on_ended(SessionId session, core::Status why) override;
  void on_answered(SessionId session, Instant sent_at, core::AnsweredBy by) override;

 private:
  ClientCore(Ports ports, Settings settings);
  std::vector<std::shared_ptr<PathLock>> path_locks();
  /// Returns the path lock of a path, or null. REQUIRES: the engine mutex is held.
  std::shared_ptr<PathLock> find(const std::string& path) const;
  bool describe_wait(const core::LockPath& path) override;
  void deletion_refused(const std::string& path, const std::string& node,
                        const std::string& cause) override;

  Listeners<ConnectionState> listeners_;
  std::atomic<bool> is_describing_{false};

  // guarded by the engine mutex
  client::Condition changed_;  ///< for connected_, refused_, close_done_, closed()
  bool connected_ = false;
  bool refused_ = false;  ///< the servers refused the credential
  bool close_done_ = false;
  std::uint64_t sessions_ = 0;    ///< sessions that were opened
  std::uint64_t reconnects_ = 0;  ///< later connections of a session
  std::optional<Instant> disconnected_since_;
  /// When the latest sessions began, at the index sessions_ % size.
  std::array<std::optional<Instant>, 3> session_began_;
  std::unordered_map<std::string, std::weak_ptr<PathLock>> path_locks_;
  /// When path_locks_ has this size, its expired entries are removed.
  std::size_t prune_at_ = 16;
};

}  // namespace zklock::detail
