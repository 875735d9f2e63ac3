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

/// The contenders of one client at one path that share a place, and so a lock znode. They have
/// equal terms (core::LocalTerms), and policies that agree() compares. After a release, the queue
/// can retain the granted place without a holder: then the place is idle.
///
/// One contender is in the place: it holds, or is granted first. The other contenders are behind
/// it. They wait in this client only, first come first served.
///
/// The count is the number of children of the lock path (request CountChildren). It shows whether
/// another client waits. For an idle place, a list of the children with a watch (ArrivalWatch)
/// shows this too. LocalAllowance limits the grants before the next count.
///
/// | state  | shared place        | contender in it | contenders behind it                       |
/// |--------|---------------------|-----------------|--------------------------------------------|
/// | none   | none                | none            | none                                       |
/// | queued | waits for its grant | waits           | any number                                 |
/// | held   | granted             | holds           | any number                                 |
/// | idle   | granted             | none            | none; or those that wait for the count or  |
/// |        |                     |                 | the list                                   |
///
/// | state  | event                                       | next                                  |
/// |--------|---------------------------------------------|---------------------------------------|
/// | none   | a contender begins to wait                  | queued; none, if it gets a place of   |
/// |        |                                             | its own                               |
/// |        | a contender is granted in a place of its own| held                                  |
/// | queued | the place is granted                        | held                                  |
/// |        | the contender in it leaves                  | queued, with the first one behind; or |
/// |        |                                             | none                                  |
/// |        | the acquire fails                           | none; all contenders behind fail      |
/// | held   | released; a contender is behind; the        | held, by the first one behind         |
/// |        | allowance permits a grant                   |                                       |
/// |        | released; no contender is behind; the place | idle                                  |
/// |        | is to be retained                           |                                       |
/// |        | released; the allowance is used up; the     | idle; or none, if the place had       |
/// |        | count is under way                          | waited: the znode is released         |
/// |        | the count arrives; most of the allowance    | held; the count is requested again    |
/// |        | was used after its request                  |                                       |
/// | idle   | a contender arrives, no count is needed     | held                                  |
/// |        | the count or list shows no other client, a  | held                                  |
/// |        | contender is behind                         |                                       |
/// |        | the allowance was used up after the request | idle; the children are listed         |
/// |        | of the count; or no contender is behind     |                                       |
/// |        | another client waits; keep_idle has passed; | none; the znode is released           |
/// |        | a release is requested; the last public     |                                       |
/// |        | object is destroyed; the count or a tick    |                                       |
/// |        | finds no contender behind, and keep_idle is |                                       |
/// |        | 0                                           |                                       |
/// |        | the lease lapses; the znode is deleted      | none                                  |
/// | all    | the place ends in any other way             | none; queued, if contenders were      |
/// |        |                                             | behind                                |
///
/// Two kinds of contenders get a place of their own:
/// - a single attempt, if there is no shared place. It must not wait for a predecessor.
/// - every contender that waits, if the batch is one.
///
/// Such a place becomes the shared place when it is granted. While the place is idle and the count
/// or the list is needed, all new contenders wait behind it. After the reply, if the batch is one,
/// each of them gets a place of its own in the order of arrival.
///
/// A contender is granted only under a valid lease. A place without a valid lease is deleted.
///
/// Thread-safety: none. REQUIRES: within a Section of the engine, which owns this object.
class LocalQueue : public std::enable_shared_from_this<LocalQueue> {
 public:
  /// `policy`: the policy of all contenders, except `wait`, `lists` and `counts`, which may differ.
  LocalQueue(LockEngine& engine, core::AcquireFsm::Policy policy, core::LocalTerms terms);
  LocalQueue(const LocalQueue&) = delete;
  LocalQueue& operator=(const LocalQueue&) = delete;
  ~LocalQueue();

  /// Returns whether contenders with this policy and these terms share this queue.
  bool agrees(const core::AcquireFsm::Policy& policy, const core::LocalTerms& terms) const noexcept;
  const core::AcquireFsm::Policy& policy() const noexcept { return policy_; }
  /// Returns the shared place if it is idle, else null.
  std::shared_ptr<const Place> idle_place() const noexcept;

  // Called by contenders.
  /// Adds a contender that begins to wait. It gets a place now or later; or, if it is a single
  /// attempt that cannot be granted at once, Contender::attempt_ended() is called.
  void begin(const std::shared_ptr<Contender>& who, const Requester& requester);
  /// Removes a contender that stops waiting. Returns false if it was in a place without a contender
  /// behind it: then the caller must give that place up.
  bool leave(const Contender& who);
  /// Returns 0 if the contender is in a place, 1 if it is the first one behind the shared place,
  /// and so on.
  std::size_t before(const Contender& who) const;
  /// The place was granted to the contender in it. Returns how many contenders were granted on this
  /// znode before.
  std::uint64_t granted(const std::shared_ptr<Place>& place);
  /// The contender in the place has released. Returns true if this queue handed the place off to
  /// the next contender or retains it. Returns false if the caller must delete the znode.
  bool keeps(const Place& place);
  /// The place cannot be granted any more, or has been lost or released. The contenders behind it
  /// get a new place.
  void gone(const Place& place);
  /// The acquire of the place has failed: so do the contenders behind it.
  void failed(const Place& place, Errc error, const std::string& cause);
  /// Calls Contender::connection_timed_out() for the contenders behind the place.
  void connection_timed_out(const Place& place, const std::string& cause);

  // Called by the place.
  void stands_at(const Place& place, std::size_t position);
  void asked_to_release(const Place& place);
  void lapsed(const Place& place);
  void node_gone(const Place& place);
  void path_began_again();
  void tick(const Place& place);
  void somebody_came(const Place& place);
  void listed(const Place& place, const client::Reply& reply);

  /// Releases the place if it is idle.
  void end_idling();
  /// Forgets the place and all contenders: the client is closing. The engine notifies the
  /// contenders.
  void close();

 private:
  enum class State { none, queued, held, idle };
  struct Waiting {
    std::shared_ptr<Contender> who;
    Requester requester;  ///< the caller named in its znode's data
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
  // describe the shared place
  core::LocalAllowance allowance_;
  std::uint64_t turns_ = 0;              ///< grants on its znode
  bool asked_for_ = false;               ///< a release was requested: no further hand-off
  std::optional<std::size_t> position_;  ///< in the path's queue; nothing if unknown
  core::Instant idle_since_{};
};

}  // namespace zklock::recipes
