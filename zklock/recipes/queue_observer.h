// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"
#include "zklock/core/queue.h"
#include "zklock/lock_observer.h"
#include "zklock/recipes/listeners.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// Follows a lock's queue by watches, from the first listener on.
///
/// | state      | under way      | answered, or told          | becomes                         |
/// |------------|----------------|----------------------------|---------------------------------|
/// | idle       | nothing        | the first listener         | listing                         |
/// | listing    | ListAndWatch   | nobody is there            | resting; free                   |
/// |            |                | somebody is                | describing                      |
/// |            |                | no_node                    | awaiting                        |
/// | describing | Get (first)    | ok, no_auth                | resting; held. If the watch has |
/// |            |                |                            | fired meanwhile: listing        |
/// |            |                | no_node                    | listing                         |
/// | awaiting   | ExistsAndWatch | no_node                    | resting; free                   |
/// |            |                | ok                         | listing                         |
/// | resting    | a watch        | the watch fires            | listing                         |
/// | (the four) |                | any other answer           | pausing                         |
/// |            |                | a new session              | listing                         |
/// |            |                | answers closed,auth_failed | over                            |
/// | pausing    | a timer        | the timer; a new session   | listing                         |
/// | (any)      |                | stop()                     | over                            |
///
/// Thread-safety: all members, from any thread.
class QueueObserver : public std::enable_shared_from_this<QueueObserver> {
 public:
  explicit QueueObserver(std::shared_ptr<LockEngine> engine);

  Subscription add(LockObserver::Listener listener);
  void stop();

 private:
  enum class State { idle, listing, describing, awaiting, resting, pausing, over };
  /// Names the latest turn of listing; what belongs to an earlier one is not heard any more.
  using Turn = std::uint64_t;

  ClientCore& core() const noexcept { return engine_->core(); }

  // All below require mutex_.
  void list();
  void describe();
  void await();
  void pause(const client::Reply& reply);
  void rest(LockState state);
  bool goes_on(const client::Reply& reply);
  template <class Step>
  client::RequestId submit(client::Operation operation, Step step);
  client::request::OnWatchEvent on_watch();
  void end_watch();

  void listed(const client::Reply& reply);
  void described(const client::Reply& reply);
  void awaited(const client::Reply& reply);

  const std::shared_ptr<LockEngine> engine_;
  Listeners<LockState, Telling::newest> listeners_;

  std::mutex mutex_;
  // guarded by mutex_
  State state_ = State::idle;
  Turn turn_ = 0;
  Subscription sessions_;
  client::RequestId watch_{};
  client::RequestId request_{};
  client::TimerId timer_{};
  bool fired_ = false;  ///< the watch, while describing
  bool warned_ = false;
  std::vector<core::NodeName> queue_;
  std::optional<LockState> known_;
};

}  // namespace zklock::recipes
