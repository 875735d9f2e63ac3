// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/few.h"
#include "zklock/core/lazy.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/permit_count_data.h"
#include "zklock/core/queue_rule.h"
#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/core/znode_name.h"
#include "zklock/error.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// The states of one contender from start() to its grant. Unless it is given up, it leaves a state
/// only after all replies to the requests of that state. So no reply is taken for another's. The
/// first row of a state that applies decides. `[...]` refers to the rows at the end. A name behind
/// a colon is the Errc that the caller gets. "Number" is the sequence number.
///
/// | state           | requests            | reply or event                     | next            |
/// |-----------------|---------------------|------------------------------------|-----------------|
/// | idle            |                     | start()                            | enqueuing       |
/// |                 |                     | start(), counter was at its end    | draining        |
/// | enqueuing       | create              | own name is not a contender's      | removing_parent |
/// |                 |                     | unknown                            | proving         |
/// |                 |                     | no node                            | making_parents  |
/// |                 |                     | node exists (name taken)           | draining        |
/// |                 |                     | session ended                      | enqueuing       |
/// |                 | then count          | alone, or first by its number      | [first]         |
/// |                 |                     | count failed or inconclusive (7)   | listing         |
/// |                 |                     | predecessor predictable            | arming          |
/// |                 |                     | otherwise                          | listing         |
/// |                 | or, with a shared   | list ok, both in the own session   | as in listing   |
/// |                 | count, list and get | otherwise                          | listing         |
/// | making_parents  | create the parents  | ok, session ended                  | enqueuing       |
/// |                 |                     | no node: no_chroot                 | ended           |
/// | proving         | check the path      | ok, no node, no auth               | recovering      |
/// | recovering      | list                | candidates                         | inspecting      |
/// |                 |                     | no candidate, no node              | [not created]   |
/// | inspecting      | get a candidate     | it is the own znode                | listing         |
/// |                 |                     | it is not, others are left         | inspecting      |
/// |                 |                     | it is not, none is left            | [not created]   |
/// | listing         | list; with a        | no node, own znode missing, or     | [lost]          |
/// |                 | shared count, get   | path newer than the own znode      |                 |
/// |                 | permit count        | permit count (6): no node          | seeding         |
/// |                 |                     | permit count (6): bad_data         | ended           |
/// |                 |                     | at_odds: settings_mismatch         | ended           |
/// |                 |                     | first, orphaned delay markers (1)  | delaying        |
/// |                 |                     | first, otherwise                   | [first]         |
/// |                 |                     | behind, own number unusable        | removing_parent |
/// |                 |                     | behind, single attempt             | ended           |
/// |                 |                     | behind, otherwise                  | arming          |
/// | seeding         | create the count    | ok, node exists, no node           | listing         |
/// | moving          | move                | ok                                 | listing         |
/// |                 |                     | ok, name is not a contender's      | removing_parent |
/// |                 |                     | unknown                            | proving         |
/// |                 |                     | no node                            | [lost]          |
/// |                 |                     | node exists (name taken)           | draining        |
/// | arming          | get and watch each  | a failed reply                     | see all states  |
/// |                 |                     | an event, no node, another permit  | listing         |
/// |                 |                     | count, newer predecessor (2)       |                 |
/// |                 |                     | otherwise, all ok                  | waiting         |
/// | waiting         | (event)             | predecessor's release (3)          | [first]         |
/// |                 |                     | any other watch event              | listing         |
/// | confirming      | check own znode     | no node                            | [lost]          |
/// |                 |                     | ok, lease not valid                | pausing         |
/// |                 |                     | ok, with a shared count            | listing         |
/// |                 |                     | ok, otherwise                      | [first]         |
/// | pausing         | (timer)             | on_resume(): repeats the requests  | state before it |
/// | marking         | create the marker   | ok, node exists                    | [first]         |
/// |                 |                     | no node                            | [lost]          |
/// | delaying        | (timer)             | on_delay_over()                    | clearing        |
/// |                 |                     | on_delay_lasts(), single attempt   | ended           |
/// |                 |                     | on_delay_lasts(), otherwise        | delaying        |
/// | clearing        | delete a marker     | ok, no node; others are left       | clearing        |
/// |                 |                     | ok, no node; none is left          | listing         |
/// | removing_parent | delete the path; or | ok, no node, session ended         | enqueuing       |
/// |                 | recreate it         | not empty, bad version             | draining        |
/// | draining        | list                | no node, session ended             | enqueuing       |
/// |                 |                     | next number usable, name taken     | skipping        |
/// |                 |                     | next number usable, otherwise      | enqueuing       |
/// |                 |                     | no child, or permit count alone    | removing_parent |
/// |                 |                     | contenders or their siblings (4)   | pausing         |
/// |                 |                     | orphaned delay markers             | enqueuing       |
/// |                 |                     | others: sequence_exhausted         | ended           |
/// | skipping        | add, delete a child | ok, no node, session ended         | enqueuing       |
/// | all states      | any requests        | any other reply: unknown           | repeats them    |
/// |                 |                     | any other reply: session ended     | [lost]          |
/// |                 |                     | any other reply: throttled         | pausing         |
/// |                 |                     | any other reply: not sent          | ended           |
/// |                 |                     | any other reply: an error          | ended, or (5)   |
/// | granted, ended  |                     |                                    | (final)         |
/// | [first]         |                     | own number unusable                | removing_parent |
/// |                 |                     | at the gate                        | moving          |
/// |                 |                     | lease not valid                    | confirming      |
/// |                 |                     | lock delay, its marker not created | marking         |
/// |                 |                     | otherwise                          | granted         |
/// | [lost]          |                     | Policy::queue_again                | enqueuing       |
/// |                 |                     | otherwise: an error                | ended           |
/// | [not created]   |                     | reply to create was lost           | enqueuing       |
/// |                 |                     | reply to move was lost             | listing         |
///
/// 1. At the gate only if the own sequence number is unusable; see acquire_fsm_lock_delay.cpp.
/// 2. It has a lower sequence number and a newer czxid, and was not yet found so; see Doubts.
/// 3. The announcement of one that waits_for_release(), or its release by this client.
/// 4. Release requests and proclamations. A single attempt ends instead of pausing.
/// 5. In proving, recovering and inspecting, the error is reported, and the search goes on after
///    pausing. Only a closed client or a refused credential ends it.
/// 6. It is ignored if the own sequence number is unusable.
/// 7. One child, but perhaps not its own: children were created or deleted meanwhile.
///
/// If the own znode is deleted or its session ends, [lost] follows: at once in waiting, pausing and
/// delaying, else at the last reply. In arming, a failed reply or an event counts first.
///
/// The 17th own znode without a usable sequence number leads to sequence_exhausted. The 17th
/// making_parents or seeding in a row leads to an error: other clients keep deleting that znode.
///
/// withdraw() deletes the own znode and ends the contender. That happens at once in idle, and in
/// the states from listing to clearing. In all other states, in moving, and in a pause of the
/// search for a lost znode, it happens at a later reply. The contender enqueues no more. If the
/// create was not sent, on_create_withdrawn() ends it.
///
/// acquire_fsm_permit_count.cpp explains the shared permit count, acquire_fsm_priority_gate.cpp the
/// gate, acquire_fsm_lock_delay.cpp the lock delay, acquire_fsm_counter_end.cpp the end of the
/// sequence counter.
enum class AcquireState : std::uint8_t {
  idle,
  enqueuing,
  making_parents,
  proving,
  recovering,
  inspecting,
  listing,
  moving,
  seeding,
  arming,
  waiting,
  confirming,
  pausing,
  marking,
  delaying,
  clearing,
  removing_parent,
  draining,
  skipping,
  granted,
  ended,
};

/// A request or notification that the driver carries out. The comment of each kind says what `text`
/// and `sibling` are; otherwise they are empty.
struct AcquireEffect {
  enum class Kind {
    /// Create a contender's znode with the attempt `text` in its data. Then, if counts_children(),
    /// count the children; with a shared permit count, do what `list` says instead. attempt()
    /// returns `text` until the reply. The driver may delay this effect; then it may call on_create_withdrawn().
    create,
    /// In one transaction: delete the own znode and create one with the attempt `text` in its data.
    move,
    create_parents,
    check_parent,   ///< a quorum operation on the lock path
    list,           ///< with a shared count, then get count_node
    seed_count,     ///< create the child count_node with data `text`
    inspect,        ///< get the child `text`
    watch,          ///< get and watch the child `text`
    unwatch,        ///< remove all watches set by `watch`
    check_own,      ///< quorum operation; verifies the own znode's czxid
    remove_parent,  ///< delete empty path, or recreate it with `text`
    skip,           ///< create and delete `text`, in one transaction
    /// Delete the children `text` and `sibling` (if not empty) in the background, until that is
    /// confirmed.
    remove_node,
    mark,   ///< create child `text` if the own znode exists
    clear,  ///< delete child `text` if the own znode exists
    /// Call on_delay_over() when every marker of orphans() has been known for its length, unless a
    /// create comes first. For a single attempt, call on_delay_lasts() if that is not yet so.
    delay,
    pause,    ///< call on_resume() a little later
    abandon,  ///< requests not yet sent may be dropped
    /// The search for the znode of the attempt `text` found none. The contender never claims that
    /// znode, even if the create is executed later.
    not_created,
    grant,  ///< it holds: own_name(), token(), session()
    fail,   ///< no grant: `error`, cause `text`; emitted once
  };
  Kind kind;
  std::string text = {};
  SessionId session = {};  ///< session of the request; 0: the current
  Errc error = Errc::server_error;
  std::string sibling = {};
};

using AcquireEffects = std::vector<AcquireEffect>;

/// The replies, reduced to the fields that the machine reads.
struct CreatedAnswer {
  Status status;
  SessionId session;
  std::string_view name;
  FencingToken token;
  std::string_view detail;
  bool first = false;  ///< its sequence number proves it first
};
/// `last_child`: the zxid of the last create or delete of a child (pzxid).
struct CountedAnswer {
  Status status;
  SessionId session;
  FencingToken last_child;
  int children;
};
struct WatchedAnswer {
  Status status;
  FencingToken token;
  std::string_view data;
  std::string_view detail;
};
/// The reply to the get of count_node.
struct PermitsAnswer {
  Status status = Status::ok;
  SessionId session = {};
  std::string_view data = {};
  std::string_view detail = {};
};
/// `parent`: the czxid of the lock path. If it is newer than the own znode, the path was recreated.
/// Then the own znode is deleted, even if a child has its name.
struct ListedAnswer {
  Status status;
  FencingToken parent;
  std::span<const std::string> children;
  std::string_view detail;
  PermitsAnswer permits = {};  ///< with a shared permit count
  Sequence next = {};          ///< sequence number of the next child
};
struct InspectedAnswer {
  Status status;
  std::string_view data;
  SessionId ephemeral_owner;
  FencingToken token;
  std::string_view detail;
};

/// Leads one contender from its create to its grant. Pure: each input returns effects.
///
/// Thread-safety: none. The driver calls it under one mutex. It carries out the effects in order,
/// and before the next input; only a create may be delayed.
class AcquireFsm {
 public:
  struct Policy {
    QueueRule rule = QueueRule::mutex();
    /// Rule of the gate at which it waits for permission to queue; empty: it queues at once.
    Lazy<QueueRule> gate = {};
    /// false: a single attempt. It ends without an error if it is not first.
    bool wait = true;
    bool queue_again = true;  ///< after losing its znode; false: an error
    /// It lists the children to learn its position, and never predicts its predecessor.
    bool lists = false;
    /// It counts the children to learn whether it is alone. false: it goes by its sequence number
    /// if it may predict its predecessor.
    bool counts = true;
    /// How long the lock stays blocked after its loss; exclusive access only. 0: not at all.
    std::chrono::milliseconds lock_delay = {};
  };

  /// REQUIRES: no other contender of the client has this `number`; no other client has this
  /// `client`. `client` has at most 32 printable bytes, the last no digit; it outlives the machine.
  AcquireFsm(const char* client, std::uint64_t number, Policy policy);

  AcquireState state() const noexcept { return state_; }
  const std::string& own_name() const noexcept { return own_.text; }
  Sequence sequence() const noexcept { return own_.sequence; }
  FencingToken token() const noexcept { return {.zxid = zxid_}; }
  /// The session of the own znode; 0 while there is none.
  SessionId session() const noexcept { return session_; }
  /// Returns whether the own znode exists and its name is known; false while moving.
  bool has_node() const noexcept { return session_.value != 0 && stage_ != Stage::moving; }
  /// The orphaned delay markers that block its grant; while delaying and clearing.
  const std::vector<DelayMarker>& orphans() const noexcept { return doubts_->orphans; }
  /// Returns whether its delay marker was requested and not yet taken by unmark().
  bool leaves_delay() const noexcept { return !doubts_->delay_marker.empty(); }
  /// Number of contenders ahead of it in the last list; while arming, waiting and delaying. 0 if
  /// its predecessor was predicted.
  std::size_t position() const noexcept { return position_; }
  bool has_ended() const noexcept { return state_ == AcquireState::ended; }
  /// Returns whether a create is followed by a count of the children.
  bool counts_children() const noexcept { return !uncounted_ && (policy_.counts || !guesses()); }
  /// The children that it watches, in the order of the requests; while arming and waiting.
  const Few<std::string>& watched() const noexcept { return watched_; }
  /// Returns whether it waits for one predecessor whose announced release makes it first.
  bool waits_for_release() const noexcept {
    return state_ == AcquireState::waiting && release_is_grant_;
  }
  /// Returns true once it has waited behind another contender.
  bool waited() const noexcept { return waited_; }
  /// A shared permit count is in `rule.all`, as last read.
  const Policy& policy() const noexcept { return policy_; }
  const QueueRule& rule() const noexcept { return policy_.rule; }
  bool at_gate() const noexcept { return stage_ == Stage::gate; }
  /// The rule of the own znode, which exists or is being created.
  const QueueRule& present_rule() const noexcept { return at_gate() ? *policy_.gate : rule(); }
  std::uint64_t number() const noexcept { return number_; }
  /// The attempt id in the own znode's data.
  std::string attempt() const {
    return std::string(client_) + std::to_string(number_) + "." + std::to_string(attempts_);
  }

  /// `counter_ended`: the sequence counter of the path was at its end when last read.
  AcquireEffects start(bool counter_ended = false);
  /// The count that should follow the requested create was not sent and will not be.
  void on_count_not_sent() noexcept { uncounted_ = true; }
  /// Replies. `lease_valid`: the session's lease is valid now; a grant requires it.
  AcquireEffects on_created(const CreatedAnswer& answer, bool lease_valid);
  AcquireEffects on_moved(const CreatedAnswer& answer);
  AcquireEffects on_counted(const CountedAnswer& answer, bool lease_valid);
  AcquireEffects on_parents_created(Status status, std::string_view detail);
  AcquireEffects on_checked(Status status, bool lease_valid, std::string_view detail);
  AcquireEffects on_listed(const ListedAnswer& answer, bool lease_valid);
  AcquireEffects on_count_seeded(Status status, std::string_view detail);
  AcquireEffects on_inspected(const InspectedAnswer& answer);
  AcquireEffects on_watched(std::string_view node, const WatchedAnswer& answer);
  AcquireEffects on_parent_removed(Status status, std::string_view detail);
  AcquireEffects on_number_skipped(Status status, std::string_view detail);
  AcquireEffects on_marked(Status status, bool lease_valid, std::string_view detail);
  AcquireEffects on_cleared(Status status, std::string_view detail);
  /// Events.
  AcquireEffects on_predecessor_changed(std::string_view node, bool lease_valid);
  AcquireEffects on_predecessor_deleted(std::string_view node);
  /// This client released the predecessor, a znode of its session. REQUIRES: waits_for_release().
  AcquireEffects on_predecessor_released(bool lease_valid);
  AcquireEffects on_session_ended(SessionId session);
  AcquireEffects on_own_node_deleted();
  AcquireEffects on_resume();
  AcquireEffects on_delay_over();
  AcquireEffects on_delay_lasts();
  /// From now on no delay follows a loss. Returns the name of the delay marker, empty if there is
  /// none. The caller deletes it, with the own znode or at once.
  std::string unmark();
  /// Withdraws the contender: no grant follows.
  AcquireEffects withdraw();
  /// No request of the last `create` was sent or will be. REQUIRES: enqueuing, and given up.
  void on_create_withdrawn() noexcept {
    assert(state_ == AcquireState::enqueuing && giving_up_);
    state_ = AcquireState::ended;
  }

 private:
  using Kind = AcquireEffect::Kind;
  /// Where the own znode is. moving: it may be at the gate or in the queue.
  enum class Stage : std::uint8_t { gate, moving, queue };

  AcquireEffects enqueue();
  void take_node(const CreatedAnswer& answer);
  AcquireEffects prove();
  AcquireEffects not_created();
  AcquireEffects move();
  bool guesses() const noexcept;
  AcquireEffects guess();
  std::optional<AcquireEffects> not_queued();
  AcquireEffects create_failed();
  AcquireEffects listed_with_create(const ListedAnswer& answer, bool lease_valid);
  std::optional<AcquireEffects> count_unknown(const PermitsAnswer& count);
  AcquireEffects seed_count();
  AcquireEffects decide_by(const ListedAnswer& answer, bool lease_valid);
  AcquireEffects list();
  void stand_by(Decision decision);
  AcquireEffects arm(Decision decision);
  AcquireEffects watch_all();
  AcquireEffects instead_of_watching(AcquireEffects next);
  bool watches(std::string_view node) const noexcept;
  bool fits_its_number(std::string_view node, FencingToken token) const noexcept;
  bool is_gone_with(FencingToken parent) const noexcept { return parent > token(); }
  AcquireEffects first(bool lease_valid);
  AcquireEffects first_of(std::span<const std::string> children, Decision decision,
                          bool lease_valid);
  bool is_idle() const noexcept;
  bool at_end() const noexcept;
  bool marks() const noexcept;
  AcquireEffects mark();
  AcquireEffects clear_next();
  AcquireEffects inspect_next();
  AcquireEffects node_lost(Errc error);
  AcquireEffects pause();
  AcquireEffects repeat();
  AcquireEffects exhausted();
  AcquireEffects name_taken();
  AcquireEffects remove_parent();
  AcquireEffects drain();
  AcquireEffects drained(const ListedAnswer& answer);
  AcquireEffects skip();
  AcquireEffects end(AcquireEffects before = {});
  AcquireEffects fail(Errc error, std::string_view cause = {});
  AcquireEffects answer_failed(Status status, std::string_view detail);
  static AcquireEffect failure(Errc error, std::string_view cause);
  AcquireEffects remove_node();
  AcquireEffect effect(Kind kind, std::string text = {}) const;

  /// State that few contenders need, allocated at its first use.
  struct Doubts {
    /// A reply to the count that came before the create's: unsent requests fail out of order.
    std::optional<CountedAnswer> early_count = {};
    std::string detail = {};  ///< of the failed create or first failed watch
    /// Zxids by which watched predecessors entered the queue, if newer than the own one although
    /// their sequence number is lower. Either the path was recreated, or they were made by hand.
    std::vector<FencingToken> misfits = {};
    /// Those of them that were seen before a list of the own znode's path. So they were made by
    /// hand in that path, and are waited for like other contenders.
    std::vector<FencingToken> known_misfits = {};
    std::vector<ZnodeName> candidates = {};  ///< newest last
    std::string delay_marker = {};           ///< of the own znode; empty: none requested
    std::vector<DelayMarker> orphans = {};   ///< not yet deleted; while delaying and clearing
  };

  // Tens of thousands of machines may wait: small members are adjacent to save memory.
  const char* const client_;
  const std::uint64_t number_;
  Policy policy_;                 ///< constant except a shared permit count
  const std::int32_t seed_;       ///< initial value of a shared count
  int attempts_ = 0;              ///< creates and moves requested
  std::int32_t armed_ = 0;        ///< watches neither fired nor removed
  std::int32_t unanswered_ = 0;   ///< watch requests without reply; while arming
  std::int8_t seeds_ = 0;         ///< creates of the count in a row
  std::int8_t parents_made_ = 0;  ///< creates of the path in a row
  std::int8_t ends_ = 0;          ///< own znodes without a usable number
  AcquireState state_ = AcquireState::idle;
  AcquireState paused_in_ = AcquireState::idle;
  Stage stage_ = Stage::queue;
  Status create_status_ = Status::ok;
  Status arming_status_ = Status::ok;  ///< the first failure
  bool giving_up_ = false;
  bool create_answered_ = false;
  bool uncounted_ = false;  ///< no count follows this create
  bool own_deleted_ = false;
  bool follows_release_ = false;   ///< Decision::follows_release of the last decision
  bool release_is_grant_ = false;  ///< so, and the predecessor announces it
  bool out_of_date_ = false;       ///< the last list is outdated
  bool waited_ = false;
  bool marked_ = false;      ///< its delay marker exists
  SessionId asked_session_;  ///< session of the last create
  SessionId session_;
  ZnodeName own_;
  std::int64_t zxid_ = 0;     ///< czxid of the own znode
  Few<std::string> watched_;  ///< see watched()
  std::size_t position_ = 0;  ///< see position()
  Lazy<Doubts> doubts_;
};

}  // namespace zklock::core
