// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/client/port/coordinator.h"
#include "zklock/core/log_line.h"
#include "zklock/core/queue_rule.h"
#include "zklock/engine/callback/borrowed_executor.h"
#include "zklock/engine/callback/listeners.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/queue_reader.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/executor.h"

namespace zklock::detail {

/// Follows a queue with watches, as long as it has listeners.
///
/// | step        | in flight       | event                        | next                          |
/// |-------------|-----------------|------------------------------|-------------------------------|
/// | idle        | nothing         | add()                        | catching up (1)               |
/// | catching up | Check           | ok, no_node, no_auth         | listing                       |
/// | listing     | ListAndWatch    | ok                           | describing; if there is       |
/// |             |                 |                              | nothing to read, resting      |
/// |             |                 | no_node                      | awaiting                      |
/// | describing  | reads of the    | all are answered             | describing what is still to   |
/// |             | ViewBuilder; a  |                              | be read; or resting, and      |
/// |             | watch on what   |                              | reports the view              |
/// |             | can change      | a znode was deleted          | pausing (2)                   |
/// |             |                 | the value is unreadable      | pausing, to read it again; if |
/// |             |                 | (no_auth)                    | the leader is new, reports it |
/// |             |                 |                              | without a value               |
/// | awaiting    | ExistsAndWatch  | no_node                      | resting; reports no holder    |
/// |             |                 | ok                           | pausing (2)                   |
/// | resting     | watches         | a watch fires, or has fired  | pausing (2)                   |
/// |             |                 | before                       |                               |
/// | (all above  |                 | any other reply              | pausing                       |
/// | but idle)   |                 | replies closed, auth_failed  | over                          |
/// | pausing     | timer           | the timer                    | catching up (1)               |
/// | (any but    |                 | new session                  | catching up (1)               |
/// | over)       |                 | stop()                       | over (final)                  |
///
/// (1) Idle if there is no listener, listing if the Check of this session was answered, and
/// otherwise catching up. In the steps from there to awaiting, the state is `reading`.
///
/// (2) The pause lasts until the next list is due. The time between two lists is at least
/// kLeastBetweenLists, however often the queue changes. All changes meanwhile are in the next list.
/// If that is due already, there is no pause.
///
/// The Check is a quorum operation, and all later requests are bound to its session. A new session
/// may begin at a server that lags behind. After the Check, the views from that server are no older
/// than those that were reported before.
///
/// Thread-safety: any thread may call the public members.
class QueueObserver final : public NewSessionListener,
                            public EngineLock::State,
                            public std::enable_shared_from_this<QueueObserver> {
 public:
  static constexpr std::chrono::milliseconds kLeastBetweenLists{20};

  /// Throws Error(invalid_path | closed | forked).
  static std::shared_ptr<QueueObserver> make(Client& client, std::string path, ViewScope scope,
                                             Executor executor);
  /// `executor` runs the listeners, if it is set.
  QueueObserver(std::shared_ptr<PathLock> path_lock, ViewScope scope, Executor executor);

  Subscription add(std::function<void(const QueueView&)> listener);
  void stop();
  void session_began() override;
  /// Stops the observer of a public object that is being destroyed. In a fork()ed child, leaks it.
  static void object_destroyed(std::shared_ptr<QueueObserver> observer) noexcept;

  /// Reads the view from a server, independently of the watches; see read_view().
  QueueView read(Deadline deadline) const {
    return read_view(path_lock_, scope_, TimeLimit(deadline, context().scheduler().now()));
  }
  const std::string& path() const noexcept { return path_lock_->path().str(); }
  /// Returns what an EngineLock enters for this observer.
  EngineLock::Entry entry() const noexcept { return {context(), this}; }

 private:
  enum class State { idle, reading, resting, pausing, over };

  EngineContext& context() const noexcept { return path_lock_->context(); }
  void warn(const std::string& text) const noexcept {
    context().warn(core::log_line("observe", path(), text, {}));
  }

  // REQUIRES: the engine mutex is held.
  void assert_invariants() const noexcept override;
  /// Begins a round: one list and the reads that follow it. Replies and events of earlier rounds
  /// are ignored.
  void begin_round();
  void be_idle();
  void list();
  void list_when_due();
  /// Sends the reads that the view needs next, or rests.
  void describe();
  void await();
  void pause(const client::Reply& reply);
  void pause_until(core::Instant when);
  void rest(QueueView view);
  /// Ends the observer if the reply says that the client is closed or refused. Returns whether it
  /// did.
  bool end_if_over(const client::Reply& reply);
  /// Returns a callback that calls `step(*this, reply, more...)`, unless the round has ended.
  template <class Step>
  auto in_round(Step step);
  void submit(client::Operation operation, client::ReplyHandler handler);
  client::request::OnWatchEvent on_watch();
  /// Ends the requests, watches and timers of the round.
  void end_round();
  void caught_up(const client::Reply& reply);
  void listed(const client::Reply& reply, const std::shared_ptr<ViewBuilder>& view);
  void described();
  void awaited(const client::Reply& reply);

  const std::shared_ptr<PathLock> path_lock_;
  const ViewScope scope_;
  const BorrowedExecutor executor_;
  Listeners<QueueView, Delivery::newest> listeners_;

  // under the engine mutex
  State state_ = State::idle;
  Epoch round_;
  bool is_session_listener_ = false;
  SessionId session_ = {};  ///< session whose Check was answered; 0: none
  core::Instant listed_at_ = {};
  std::vector<client::RequestId> requests_;  ///< of the round
  bool fired_ = false;                       ///< a watch fired before the view was reported
  bool warned_ = false;
  std::shared_ptr<ViewBuilder> view_;   ///< the view that is being read
  std::vector<client::Reply> replies_;  ///< to the reads of describe()
  std::size_t outstanding_ = 0;         ///< count of replies
  std::optional<QueueView> last_view_;  ///< the last reported view
};

}  // namespace zklock::detail
