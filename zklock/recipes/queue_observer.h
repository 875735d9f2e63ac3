// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"
#include "zklock/client_options.h"
#include "zklock/core/queue.h"
#include "zklock/recipes/borrowed_executor.h"
#include "zklock/recipes/listeners.h"
#include "zklock/recipes/lock_engine.h"
#include "zklock/recipes/queue_reader.h"

namespace zklock::recipes {

/// Follows a queue by watches, while there are listeners.
///
/// | state      | under way      | answered, or told          | becomes                         |
/// |------------|----------------|----------------------------|---------------------------------|
/// | idle       | nothing        | the first listener         | catching up                     |
/// | catching up| Check          | ok, no_node, no_auth       | listing                         |
/// | listing    | ListAndWatch   | nobody is there            | resting; free                   |
/// |            |                | somebody is                | describing                      |
/// |            |                | no_node                    | awaiting                        |
/// | describing | Gets, after    | ok, no_auth                | resting; held                   |
/// |            | that of a      |                            |                                 |
/// |            | shared number, |                            |                                 |
/// |            | and beside     | no_auth                    | pausing; of another leader than |
/// |            | that of a      |                            | before is told, without a value |
/// |            | proclamation   |                            |                                 |
/// |            |                | no_node                    | pausing                         |
/// | awaiting   | ExistsAndWatch | no_node                    | resting; free                   |
/// |            |                | ok                         | pausing                         |
/// | resting    | watches        | one fires, or has meanwhile| pausing                         |
/// |            |                | no thread to tell on       | pausing                         |
/// | (the five) |                | any other answer           | pausing                         |
/// |            |                | a new session              | catching up                     |
/// |            |                | answers closed,auth_failed | over                            |
/// | pausing    | a timer        | the timer                  | listing; catching up, if the    |
/// |            |                |                            | session's Check is not answered |
/// |            |                | a new session              | catching up                     |
/// | pausing or | no listener    | as above                   | idle                            |
/// | resting    |                |                            |                                 |
/// | (any)      |                | stop()                     | over                            |
///
/// A pause after which all is well lasts until a list is due again: the servers are asked for one
/// no more often than least_between_lists, however often the queue changes; what changes meanwhile
/// is in the next one. After a rest it is due at once, without a pause.
///
/// The Check is a quorum operation, and what follows is bound to its session. A new session may
/// begin at a server that lags behind; what that one says after it is no older than what was told
/// before.
///
/// Thread-safety: all members, from any thread.
class QueueObserver final : public NewSessionListener,
                            public std::enable_shared_from_this<QueueObserver> {
 public:
  static constexpr std::chrono::milliseconds least_between_lists{20};

  /// Throws Error(invalid_path | closed | forked).
  static std::shared_ptr<QueueObserver> make(Client& client, std::string path, Sight sight,
                                             Executor executor);
  /// `executor` runs the listeners, where it is set.
  QueueObserver(std::shared_ptr<LockEngine> engine, Sight sight, Executor executor);

  Subscription add(std::function<void(const QueueView&)> listener);
  void stop();
  void session_began() override;
  /// The public object goes.
  static void object_destroyed(std::shared_ptr<QueueObserver> observer) noexcept;

  /// Asks the servers, on its own.
  QueueView read(Deadline deadline) const { return read_view(engine_, sight_, deadline); }
  const std::string& path() const noexcept { return engine_->path().str(); }

 private:
  enum class State { idle, catching_up, listing, describing, awaiting, resting, pausing, over };
  /// Names the latest turn of listing; what belongs to an earlier one is not heard any more.
  using Turn = std::uint64_t;

  ClientCore& core() const noexcept { return engine_->core(); }

  // All below require mutex_.
  void begin_turn();
  void be_idle();
  void list();
  void list_when_due();
  void count();
  void counted(const client::Reply& reply);
  void describe(bool proclaimed);
  void await();
  void pause(const client::Reply& reply);
  void pause_until(core::Instant when);
  void rest(QueueView view);
  bool goes_on(const client::Reply& reply);
  /// A failure that the next attempt may not meet.
  static bool passes(const client::Reply& reply) noexcept;
  template <class Step>
  client::RequestId submit(client::Operation operation, Step step);
  client::request::OnWatchEvent on_watch();
  void end_watches();

  void caught_up(const client::Reply& reply);
  void listed(const client::Reply& reply);
  void all_described();
  void awaited(const client::Reply& reply);

  const std::shared_ptr<LockEngine> engine_;
  const Sight sight_;
  const BorrowedExecutor executor_;
  Listeners<QueueView, Telling::newest> listeners_;

  std::mutex mutex_;
  // guarded by mutex_
  State state_ = State::idle;
  Turn turn_ = 0;
  SessionId session_{};  ///< whose Check has been answered; 0: none's
  core::Instant listed_at_{};
  std::vector<client::RequestId> watches_;
  std::vector<client::RequestId> requests_;
  client::TimerId timer_{};
  bool fired_ = false;  ///< a watch, while describing
  bool warned_ = false;
  Queue queue_;
  std::vector<core::NodeName> holders_;
  std::vector<client::Reply> replies_;  ///< of the holders
  std::optional<client::Reply>
      proclaimed_;           ///< of the first holder's proclamation, where it has one
  std::size_t missing_ = 0;  ///< replies
  std::optional<QueueView> known_;
};

}  // namespace zklock::recipes
