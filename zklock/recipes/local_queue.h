// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "zklock/client/coordinator.h"
#include "zklock/core/acquire_fsm.h"
#include "zklock/core/local_batch.h"
#include "zklock/core/node_data.h"
#include "zklock/error.h"
#include "zklock/recipes/place.h"

namespace zklock::recipes {

class Contender;

/// The contenders of one client at one path that agree on sharing a place, and so a node; and that
/// place, also while it is kept though nobody holds.
///
/// | state  | the place   | in it  | behind it, first come first served                          |
/// |--------|-------------|--------|-------------------------------------------------------------|
/// | none   | there is none        | nobody                                                      |
/// | queued | is to be    | waits  | any                                                         |
/// |        | granted     |        |                                                             |
/// | held   | was granted | holds  | any                                                         |
/// | idle   | was granted | nobody | nobody; or those who need the answer whether somebody       |
/// |        |             |        | outside waits                                               |
///
/// | state  | event                                      | next                                   |
/// |--------|--------------------------------------------|----------------------------------------|
/// | none   | a contender comes                          | queued; or, where it is to stand apart,|
/// |        |                                            | the same                               |
/// |        | one that stands apart is granted           | held                                   |
/// | queued | granted                                    | held                                   |
/// |        | who waits in it leaves                     | queued, by the next; or none           |
/// |        | it fails                                   | none; all fail                         |
/// | held   | released, somebody is behind, may pass on  | held, by the next                      |
/// |        | released, nobody is behind, is to be kept  | idle                                   |
/// |        | released, may not pass on before the       | idle; or none, where it had waited for |
/// |        | answer that is on its way                  | others: the node is released           |
/// |        | the answer is older than what was granted  | held; asked anew                       |
/// |        | since                                      |                                        |
/// | idle   | a contender comes that needs no answer; or | held                                   |
/// |        | the answer is that nobody outside waits    |                                        |
/// |        | the answer is not enough: older than what  | idle; the children are listed          |
/// |        | was granted since, or nobody is behind     |                                        |
/// |        | somebody outside waits; its time is over;  | none; the node is released             |
/// |        | it is asked for; the last object goes; the |                                        |
/// |        | answer, or a tick, finds nobody behind,    |                                        |
/// |        | and it is not to be kept                   |                                        |
/// |        | the lease lapses; the node goes            | none                                   |
/// | all    | the place is gone in any other way         | none; queued for those who are behind  |
///
/// Apart, in a place of its own, stands: a single attempt where there is no place, for it waits for
/// nobody; and, where contenders wait in places of their own (a batch of one), whoever waits. Such
/// a place becomes the shared one by its grant. Before an answer that they need, all wait behind;
/// then each gets its place, in the same order.
///
/// Nothing is granted here without a valid lease. A place whose lease is not valid is left.
///
/// Thread-safety: within a Section of the engine, of which it is a part.
class LocalQueue : public std::enable_shared_from_this<LocalQueue> {
 public:
  /// `policy`: of all, but for `wait` and `lists`, in which they may differ.
  LocalQueue(LockEngine& engine, core::AcquireFsm::Policy policy, core::LocalTerms terms);
  LocalQueue(const LocalQueue&) = delete;
  LocalQueue& operator=(const LocalQueue&) = delete;
  ~LocalQueue();

  /// Whether contenders on these terms belong here.
  bool agrees(const core::AcquireFsm::Policy& policy, const core::LocalTerms& terms) const noexcept;
  const core::AcquireFsm::Policy& policy() const noexcept { return policy_; }
  /// Null unless it is idle.
  std::shared_ptr<const Place> idle_place() const noexcept;

  /// What contenders tell it. It begins to wait; and gets a place, now or later, or is told that
  /// its attempt has ended.
  void begin(const std::shared_ptr<Contender>& who, const Requester& requester);
  /// It waits no longer. False: it is alone in its place, which is to be given up.
  bool leave(const Contender& who);
  /// How many of this client stand before it in the place that it waits for.
  std::size_t before(const Contender& who) const;
  /// The place was granted to the one in it. The turn of that grant among those of the node.
  std::uint64_t granted(const std::shared_ptr<Place>& place);
  /// The one in it has let go. True: the place was passed on, or is kept.
  bool keeps(const Place& place);
  /// The place is not to be had any more.
  void gone(const Place& place);
  void failed(const Place& place, Errc error, const std::string& cause);
  /// Notifies the contenders behind the one in the place; see Contender::connection_timed_out().
  void connection_timed_out(const Place& place, const std::string& cause);

  /// What its place tells it.
  void stands_at(const Place& place, std::size_t position);
  void asked_to_release(const Place& place);
  void lapsed(const Place& place);
  void node_gone(const Place& place);
  void path_began_again();
  void tick(const Place& place);
  void somebody_came(const Place& place);
  void listed(const Place& place, const client::Reply& reply);

  /// An idle place is released.
  void end_idling();
  /// The client is closing: the contenders are told so by the engine.
  void close();

 private:
  enum class State { none, queued, held, idle };
  struct Waiting {
    std::shared_ptr<Contender> who;
    Requester requester;  ///< whom its node would name
  };

  bool is_shared(const Place& place) const noexcept { return place_.get() == &place; }
  bool is_idle(const Place& place) const noexcept {
    return state_ == State::idle && is_shared(place);
  }
  void wait_behind(const std::shared_ptr<Contender>& who, const Requester& requester);
  Waiting take_next();
  void queue(const std::shared_ptr<Contender>& who, Requester requester);
  void stand(std::shared_ptr<Place> place, State state);
  std::shared_ptr<Place> forget_place() noexcept;
  void remove_place(Place::Manner manner);
  void queue_the_rest();
  bool hand_to(const std::shared_ptr<Contender>& who);
  void hand_to_next();
  void serve_idle();
  bool may_serve_idle() const;
  void become_idle();
  bool goes_idle();
  bool awaits_answer();
  void ask_if_due();
  void counted(const Place& place, const client::Reply& reply);
  std::int32_t own_children() const;
  void tell_position(std::size_t index);
  void tell_positions(std::size_t from);

  LockEngine& engine_;
  const core::AcquireFsm::Policy policy_;
  const core::LocalTerms terms_;

  State state_ = State::none;
  std::shared_ptr<Place> place_;
  std::deque<Waiting> waiting_;  ///< behind the place
  // of the place
  core::LocalAllowance allowance_;
  std::uint64_t turns_ = 0;              ///< grants on its node
  bool asked_for_ = false;               ///< it ends with who holds now
  std::optional<std::size_t> position_;  ///< of the place, where it is known
  core::Instant idle_since_{};
};

}  // namespace zklock::recipes
