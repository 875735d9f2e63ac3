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
#include "zklock/client/port/scheduler.h"
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
/// | state       | in flight       | event                        | becomes                       |
/// |-------------|-----------------|------------------------------|-------------------------------|
/// | idle        | nothing         | add()                        | catching_up (1)               |
/// | catching_up | Check           | ok, no_node, no_auth         | listing                       |
/// | listing     | ListAndWatch    | ok, and no contender holds   | resting; reports no holder    |
/// |             |                 | ok, and contenders hold      | describing the holders        |
/// |             |                 | ok, and holders depend on a  | describing the permit count   |
/// |             |                 | permit count                 |                               |
/// |             |                 | no_node                      | awaiting                      |
/// | describing  | GetAndWatch of  | any reply except a temporary | describing the holders; if    |
/// | the count   | the count       | failure                      | there are none, resting       |
/// | describing  | Get of each     | a reply is no_node           | pausing (2)                   |
/// | the holders | holder, and     | the value is unreadable      | pausing, to read it again; if |
/// |             | GetAndWatch of  | (no_auth)                    | the leader is new, reports it |
/// |             | a leader's      |                              | without a value               |
/// |             | value           | all are ok, or no_auth for a | resting; reports the holders  |
/// |             |                 | holder                       | and the value                 |
/// | awaiting    | ExistsAndWatch  | no_node                      | resting; reports no holder    |
/// |             |                 | ok                           | pausing (2)                   |
/// | resting     | watches         | a watch fires, or has fired  | pausing (2)                   |
/// |             |                 | while describing             |                               |
/// |             |                 | no thread for a listener     | pausing, to report it again   |
/// | (all above  |                 | any other reply              | pausing                       |
/// | but idle)   |                 | replies closed, auth_failed  | over                          |
/// | pausing     | timer           | the timer                    | catching_up (1)               |
/// | (any but    |                 | new session                  | catching_up (1)               |
/// | over)       |                 | stop()                       | over (final)                  |
///
/// (1) Becomes idle if there is no listener, listing if the Check of this session was answered, and
/// otherwise catching_up.
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
  static std::shared_ptr<QueueObserver> make(Client& client, std::string path, ViewKind kind,
                                             Executor executor);
  /// `executor` runs the listeners, if it is set.
  QueueObserver(std::shared_ptr<PathLock> path_lock, ViewKind kind, Executor executor);

  Subscription add(std::function<void(const QueueView&)> listener);
  void stop();
  void session_began() override;
  /// Stops the observer of a public object that is being destroyed. In a fork()ed child, leaks it.
  static void object_destroyed(std::shared_ptr<QueueObserver> observer) noexcept;

  /// Reads the view from a server, independently of the watches; see read_view().
  QueueView read(Deadline deadline) const {
    return read_view(path_lock_, kind_, TimeLimit(deadline, context().scheduler().now()));
  }
  const std::string& path() const noexcept { return path_lock_->path().str(); }

 private:
  enum class State { idle, catching_up, listing, describing, awaiting, resting, pausing, over };
  /// Identifies a round: one list and the reads that follow it. Replies and events of earlier
  /// rounds are ignored.
  using Round = std::uint64_t;

  EngineContext& context() const noexcept { return path_lock_->context(); }
  EngineLock::Entry entry() const noexcept { return {context(), this}; }
  void warn(const std::string& text) const noexcept {
    context().warn(core::log_line("observe", path(), text, {}));
  }

  // REQUIRES: the engine mutex is held.
  void assert_invariants() const noexcept override;
  void begin_round();
  void be_idle();
  void list();
  void list_when_due();
  void get_permit_count();
  void got_permit_count(const client::Reply& reply);
  void describe(bool proclaimed);
  void await();
  void pause(const client::Reply& reply);
  void pause_until(core::Instant when);
  void rest(QueueView view);
  /// Ends the observer if the reply says that the client is closed or refused. Returns whether it
  /// did.
  bool end_if_over(const client::Reply& reply);
  /// Returns whether the next attempt may succeed.
  static bool is_temporary_failure(const client::Reply& reply) noexcept;
  /// Sends a request of this round. Its reply calls `step(*this, reply, read(reply)...)`, and `read`
  /// without the engine mutex.
  template <class Step, class... Read>
  client::RequestId submit(client::Operation operation, Step step, Read... read);
  /// The content of a list of the children. It can be long, so it is read without the engine mutex.
  struct Listed {
    Queue queue;
    bool shares_count = false;
    std::vector<core::ZnodeName> holders;  ///< unless they depend on the shared count
  };
  static Listed read_list(const client::Reply& reply, ViewKind kind);
  client::request::OnWatchEvent on_watch();
  void end_watches();
  void caught_up(const client::Reply& reply);
  void listed(const client::Reply& reply, Listed list);
  void all_described();
  void awaited(const client::Reply& reply);

  const std::shared_ptr<PathLock> path_lock_;
  const ViewKind kind_;
  const BorrowedExecutor executor_;
  Listeners<QueueView, Delivery::newest> listeners_;

  // under the engine mutex
  State state_ = State::idle;
  Round round_ = 0;
  SessionId session_ = {};  ///< session whose Check was answered; 0: none
  core::Instant listed_at_ = {};
  std::vector<client::RequestId> watches_;
  std::vector<client::RequestId> requests_;
  client::TimerId timer_ = {};
  bool fired_ = false;  ///< a watch fired while describing
  bool warned_ = false;
  Queue queue_;
  std::vector<core::ZnodeName> holders_;
  std::vector<client::Reply> replies_;  ///< to the Gets of the holders
  /// The reply for the first holder's proclamation, if any.
  std::optional<client::Reply> proclaimed_;
  std::size_t outstanding_ = 0;         ///< count of replies
  std::optional<QueueView> last_view_;  ///< the last reported view
};

}  // namespace zklock::detail
