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
#include "zklock/core/lock_delay.h"
#include "zklock/core/node_name.h"
#include "zklock/core/permit_count.h"
#include "zklock/core/queue.h"
#include "zklock/core/seldom.h"
#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/error.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// Where one contender's way to the lock stands. "Requests" are the answers it waits for there: it
/// leaves a state only when they are all in, so no answer can be mistaken for another's.
///
/// | state             | requests           | answer or event            | next                      |
/// |-------------------|--------------------|----------------------------|---------------------------|
/// | idle              |                    | start()                    | enqueuing                 |
/// | enqueuing         | create, count      | alone                      | granted or confirming     |
/// |                   |                    | others, predecessor known  | arming (sequence - 1)     |
/// |                   |                    | others, not known; or one, | listing                   |
/// |                   |                    | but not sure whose         |                           |
/// |                   |                    | create: no node            | making_parents            |
/// |                   |                    | create: unknown            | proving                   |
/// |                   |                    | create: node exists        | draining                  |
/// |                   |                    | counter at its end, alone  | removing_parent           |
/// | enqueuing without | create             | ok, first by its number    | granted or confirming     |
/// | a count           |                    | ok, predecessor known      | arming (sequence - 1)     |
/// |                   |                    | ok, not known              | listing                   |
/// |                   |                    | any other                  | as above                  |
/// | enqueuing, with a | create, list,      | ok                         | as in listing, at once    |
/// | shared number     | number             | any other                  | as above; else listing    |
/// | making_parents    | create parents     | ok                         | enqueuing                 |
/// | proving           | check              | answered by the quorum     | recovering                |
/// | recovering        | list               | candidates                 | inspecting                |
/// |                   |                    | none: it was never created | enqueuing                 |
/// | inspecting        | get a candidate    | it is ours                 | listing                   |
/// |                   |                    | it is not; the last one    | inspecting; enqueuing     |
/// | listing           | list               | first                      | granted or confirming     |
/// |                   |                    | behind                     | arming                    |
/// |                   |                    | vanished, or the parent is | enqueuing, or ended       |
/// |                   |                    | another one                |                           |
/// |                   |                    | at odds                    | ended (settings_mismatch) |
/// |                   |                    | counter at its end         | removing_parent           |
/// | enqueuing and     | (the same)         | alone, or first            | moving                    |
/// | listing at a gate |                    | any other                  | as above                  |
/// | moving            | move               | ok                         | listing                   |
/// |                   |                    | no node                    | enqueuing, or ended       |
/// |                   |                    | unknown                    | proving                   |
/// |                   |                    | node exists                | draining                  |
/// |                   |                    | counter at its end         | removing_parent           |
/// | proving ... after | (the same)         | it has not moved           | listing at the gate       |
/// | moving            |                    | any other                  | as above                  |
/// | listing, with a   | list, number       | ok                         | as above, by that number  |
/// | shared number     |                    | there is no number         | seeding                   |
/// |                   |                    | it is no number            | ended (bad_data)          |
/// | seeding           | create the number  | ok, or it exists           | listing                   |
/// | arming            | get and watch each | all ok                     | waiting                   |
/// |                   |                    | no node, a younger node    | listing                   |
/// |                   |                    | (the first time), another  |                           |
/// |                   |                    | number, or an event        |                           |
/// | waiting           |                    | released (trusted), or let | granted or confirming     |
/// |                   |                    | go of by its own client    |                           |
/// |                   |                    | changed, deleted           | listing                   |
/// |                   |                    | session or own node lost   | enqueuing, or ended       |
/// | confirming        | check own node     | ok, lease valid            | granted                   |
/// |                   |                    | ok, with a shared number   | listing                   |
/// |                   |                    | ok, lease not yet valid    | pausing                   |
/// |                   |                    | no node                    | enqueuing, or ended       |
/// | pausing           | (timer)            | resume()                   | where it paused           |
/// | marking           | create the marker  | ok, or it exists           | granted or confirming     |
/// |                   |                    | no node                    | enqueuing, or ended       |
/// | delaying          | (timer)            | delay_over()               | clearing                  |
/// |                   |                    | delay_lasts()              | delaying; ended, if a     |
/// |                   |                    |                            | single attempt            |
/// |                   |                    | session or own node lost   | enqueuing, or ended       |
/// | clearing          | delete an orphan   | ok, no node                | clearing; listing         |
/// | removing_parent   | delete parent, or  | ok, no node                | enqueuing                 |
/// |                   | make it anew       | not empty, bad version     | draining                  |
/// | draining          | list               | no parent, or the counter  | enqueuing; skipping, if a |
/// |                   |                    | is not at its end          | child has the next name   |
/// |                   |                    | at its end: no children,   | removing_parent           |
/// |                   |                    | or the shared number alone |                           |
/// |                   |                    | contenders                 | pausing; ended, if a      |
/// |                   |                    |                            | single attempt            |
/// |                   |                    | only orphans of delays     | enqueuing                 |
/// |                   |                    | other children             | ended (sequence_exhausted)|
/// | skipping          | create and delete  | ok, no parent              | enqueuing                 |
/// |                   | a child            |                            |                           |
/// | granted, ended    |                    |                            | (final)                   |
///
/// Where the number of permits is shared, the node that says it is one more to watch. It is read
/// after the list: those who stand before a contender become only fewer, so at the moment of the
/// reading there was room for it. And so nothing is granted by a number that is not known.
///
/// Where there is a gate, every node is made there first, and judged by the rule of the gate. Who
/// is first by that moves: one transaction puts a node that queues for the lock in the place of the
/// other. So there is one node, always; and as its number is given when it moves, it stands behind
/// all who moved before. Whose answer is lost looks for the new node as for every other, and if
/// there is none it has not left the gate. A lock delay is the lock's business: at the gate nobody
/// looks for one.
///
/// A contender with a lock delay comes to marking before it is granted, once for each node; see
/// core/lock_delay.h. One that is first by a list in which a marker is left of somebody who is not
/// there any more, comes to delaying: it waits until it has been known of each of those for as long
/// as it says, takes them away, and lists again. Where the counter is at its end that is done too,
/// at the gate as well, if nobody is before it: else the path could not go.
///
/// If the counter is at its end, the parent must be deleted, which the server does only when it has
/// no children. So a contender has no node while it drains: it lists until the others' nodes are
/// deleted. A shared number of permits outlives it: one transaction makes both anew. If start() is told
/// that the counter is at its end, it creates no node before that, so that calls that are repeated
/// without end cannot keep the parent alive.
///
/// A create answers "node exists" if the counter has stuck, or if a node that was made by hand has
/// the next sequence number. The counter is the number of children that were ever created below
/// the parent; a create that fails does not raise it. Then creating and deleting any other child
/// raises it past that node (skipping), which from then on is a contender like every other.
///
/// Only a node with the prefix of the contender's own name is met in this way. A node that was made by
/// hand ahead of the counter with another prefix of parse_contention() is seen by lists alone. A mutex
/// that finds its predecessor by its sequence number, or is first by that, sends no list: it is granted
/// although such a node is ahead of it. A mutex whose predecessor by number is not there, and every
/// contender of another kind, lists the children and waits for the node.
///
/// From every state: an answer "session ended" leads to enqueuing (or ended, by policy); "unknown"
/// repeats what is idempotent; any other failure ends with an error; give_up() deletes the node and
/// ends, at once if the node is known or was never asked for (of one that is enqueuing, withdrawn()
/// says so), else as soon as its fate is known (after a failure in proving, recovering and inspecting
/// too: the caller is told, the search goes on).
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

/// What the machine asks of its driver. `text` is what the comment names.
struct AcquireEffect {
  enum class Kind {
    create,  ///< a contender whose data carry the attempt `text`, which is attempt() until there is
             ///< an answer; and then count, if counts(), or, with a shared number, do what `list`
             ///< says. It may be put off, and be withdrawn() then
    move,  ///< in one transaction: delete the own node, and create a contender whose data carry the
           ///< attempt `text`
    create_parents,
    check_parent,   ///< a quorum operation on the lock path
    list,           ///< and then, with a shared number, get the child count_node
    seed_count,     ///< create the child count_node with the data `text`
    inspect,        ///< get the child `text`
    watch,          ///< get and watch the child `text`; one of several, perhaps
    unwatch,        ///< forget all of these watches
    check_own,      ///< a quorum operation on the own node, that makes sure that it is this one
    remove_parent,  ///< delete the lock path, if empty; if `text` is a child, make both anew
    skip,           ///< create the child `text` and delete it, in one transaction
    remove_node,    ///< delete the child `text` in the background, until that is certain; and the
                    ///< child `companion` with it, if there is one
    mark,           ///< create the child `text`, if the own node is there
    clear,          ///< delete the child `text`, if the own node is there
    delay,          ///< call delay_over() when it is for all orphans(), unless there is another
                    ///< node by then; or delay_lasts() now
    pause,          ///< call resume() a little later
    abandon,        ///< whatever has not been sent needs not be
    not_created,    ///< the search for the znode of the attempt `text` has ended without one: it is
                    ///< not claimed any more, even if its create is carried out after all
    grant,          ///< it holds: own_name(), token(), session()
    fail,           ///< it never will: `error`, and the cause in `text` (may be empty); once
  };
  Kind kind;
  std::string text = {};
  SessionId session = {};  ///< to which the request is bound; 0: whichever is current
  Errc error = Errc::server_error;
  std::string companion = {};
};

using AcquireEffects = std::vector<AcquireEffect>;

/// The answers, as far as the machine looks at them.
struct CreatedAnswer {
  Status status;
  SessionId session;
  std::string_view name;
  FencingToken token;
  std::string_view detail;
  bool first = false;  ///< nobody stands before it: that is known by its number
};
/// `last_child`: the zxid by which a child came or went last.
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
/// Of the node that says how many permits there are.
struct PermitsAnswer {
  Status status = Status::ok;
  SessionId session = {};
  std::string_view data = {};
  std::string_view detail = {};
};
/// `parent`: the zxid that made the lock's path. What is younger than the own node has taken the
/// place of the path that this was in: the node is gone, whoever has its name.
struct ListedAnswer {
  Status status;
  FencingToken parent;
  std::span<const std::string> children;
  std::string_view detail;
  PermitsAnswer permits = {};  ///< where the number is shared
  Sequence next = {};          ///< sequence number of the next child
};
struct InspectedAnswer {
  Status status;
  std::string_view data;
  SessionId ephemeral_owner;
  FencingToken token;
  std::string_view detail;
};

/// The way of one contender from its create to its grant: pure, one call in, effects out.
///
/// Thread-safety: none; its driver calls it under one mutex and carries out the effects in order
/// before the next call, but for a create that it puts off.
class AcquireFsm {
 public:
  struct Policy {
    QueueRule rule = QueueRule::mutex();
    /// By which it waits for its turn to queue by `rule`; without one it queues at once.
    Seldom<QueueRule> gate = {};
    bool wait = true;  ///< false: a single attempt; ended, without error, if others stand before
    bool queue_again = true;  ///< after losing the node; else an error
    bool lists = false;       ///< rather than guess who stands before it: for its position
    bool counts = true;       ///< whether it is alone; else it goes by its number, if it can
    /// That it leaves to the next when it is lost; of exclusive access only. 0: none.
    std::chrono::milliseconds lock_delay = {};
  };

  /// `number` must be unlike that of every other contender of the client, and `client` unlike that
  /// of every other client, at most 32 printable bytes, and no digit the last of them; its text must
  /// outlive the machine.
  AcquireFsm(const char* client, std::uint64_t number, Policy policy);

  AcquireState state() const noexcept { return state_; }
  const std::string& own_name() const noexcept { return own_.text; }
  Sequence sequence() const noexcept { return own_.sequence; }
  FencingToken token() const noexcept { return {.zxid = zxid_}; }
  /// The session of the own node; 0 while there is none.
  SessionId session() const noexcept { return session_; }
  /// And it is known which one: not while it moves.
  bool has_node() const noexcept { return session_.value != 0 && stage_ != Stage::moving; }
  /// What keeps it from holding; while delaying.
  const std::vector<DelayMarker>& orphans() const noexcept { return doubts_->orphans; }
  /// It leaves a delay behind, if it goes now without a release.
  bool leaves_delay() const noexcept { return !doubts_->delay_marker.empty(); }
  /// How many stood before it when that was last decided; while arming, waiting and delaying.
  std::size_t position() const noexcept { return position_; }
  bool over() const noexcept { return state_ == AcquireState::ended; }
  /// Whether a create is followed by a count.
  bool counts() const noexcept { return !uncounted_ && (policy_.counts || !guesses()); }
  /// Whom it waits for, in the order in which it asked for the watches; while arming and waiting.
  const Few<std::string>& watched() const noexcept { return watched_; }
  /// It waits, and is the first as soon as the one whom it watches lets go.
  bool waits_for_release() const noexcept {
    return state_ == AcquireState::waiting && release_is_grant_;
  }
  /// Somebody else stood before it, and was watched.
  bool waited() const noexcept { return waited_; }
  /// Its rule with the number of permits, where that is shared.
  const Policy& policy() const noexcept { return policy_; }
  const QueueRule& rule() const noexcept { return policy_.rule; }
  bool at_gate() const noexcept { return stage_ == Stage::gate; }
  /// Of the node that it has, or that is being made.
  const QueueRule& present_rule() const noexcept { return at_gate() ? *policy_.gate : rule(); }
  std::uint64_t number() const noexcept { return number_; }
  /// What the own node's data carry.
  std::string attempt() const {
    return std::string(client_) + std::to_string(number_) + "." + std::to_string(attempts_);
  }

  /// `counter_ended`: the sequence counter of the path was at its end when it was last seen.
  AcquireEffects start(bool counter_ended = false);
  /// What was to follow the create that was asked for has not been asked, and will not be.
  void not_counted() noexcept { uncounted_ = true; }
  /// Answers. `lease_valid`: whether the session's lease is valid at this moment; a grant needs it.
  AcquireEffects created(const CreatedAnswer& answer, bool lease_valid);
  AcquireEffects moved(const CreatedAnswer& answer);
  AcquireEffects counted(const CountedAnswer& answer, bool lease_valid);
  AcquireEffects parents_created(Status status, std::string_view detail);
  AcquireEffects checked(Status status, bool lease_valid, std::string_view detail);
  AcquireEffects listed(const ListedAnswer& answer, bool lease_valid);
  AcquireEffects count_seeded(Status status, std::string_view detail);
  AcquireEffects inspected(const InspectedAnswer& answer);
  AcquireEffects watched(std::string_view node, const WatchedAnswer& answer);
  AcquireEffects parent_removed(Status status, std::string_view detail);
  AcquireEffects number_skipped(Status status, std::string_view detail);
  AcquireEffects marked(Status status, bool lease_valid, std::string_view detail);
  AcquireEffects cleared(Status status, std::string_view detail);
  /// Events.
  AcquireEffects predecessor_changed(std::string_view node, bool lease_valid);
  AcquireEffects predecessor_deleted(std::string_view node);
  /// It was a node of the same session, and its holder has let go; while waits_for_release().
  AcquireEffects predecessor_let_go(bool lease_valid);
  AcquireEffects session_ended(SessionId session);
  AcquireEffects own_node_deleted();
  AcquireEffects resume();
  AcquireEffects delay_over();
  AcquireEffects delay_lasts();
  /// It is about to let go, or to want what leaves no delay. Its marker, which the caller takes away
  /// with the node, or now; empty when there is none.
  std::string unmark();
  /// The caller waits no longer: after this there is no grant.
  AcquireEffects give_up();
  /// Nothing of what it asked for by `create` was asked, or will be. Of one that was given up.
  void withdrawn() noexcept {
    assert(state_ == AcquireState::enqueuing && giving_up_);
    state_ = AcquireState::ended;
  }

 private:
  using Kind = AcquireEffect::Kind;
  /// Where the own node is: when moving, it may be in either place.
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

  /// What is of no use to most: of a request that failed, of nodes that should not be there, while
  /// it finds out, and of a delay.
  struct Doubts {
    /// A count that was answered before the create: what was never sent can overtake.
    std::optional<CountedAnswer> early_count = {};
    std::string detail = {};  ///< of the create, or the first watch, that failed
    /// What made those that it had to watch whose number says that they came before it, and whose
    /// zxid says that they did not; and of those, the ones that a list showed afterwards, in the
    /// path of the own node: somebody has made them by hand, and they are waited for like all
    /// others.
    std::vector<FencingToken> misfits = {};
    std::vector<FencingToken> known_misfits = {};
    std::vector<NodeName> candidates = {};  ///< newest last
    std::string delay_marker = {};          ///< of the own node; empty: none was asked for
    std::vector<DelayMarker> orphans = {};  ///< while delaying and clearing: those that are left
  };

  // Tens of thousands may wait: what is small stands together.
  const char* const client_;
  const std::uint64_t number_;
  Policy policy_;                 ///< constant but for the number of permits, where that is shared
  const std::int32_t seed_;       ///< what that is if nobody has said it
  int attempts_ = 0;              ///< creates so far; each has its own id
  std::int32_t armed_ = 0;        ///< watches that neither have fired nor were called off
  std::int32_t unanswered_ = 0;   ///< while arming
  std::int8_t seeds_ = 0;         ///< in a row: bounds the race with whoever deletes the number
  std::int8_t parents_made_ = 0;  ///< in a row: bounds the race with whoever deletes the parent
  std::int8_t ends_ = 0;          ///< own nodes without a usable number; bounded
  AcquireState state_ = AcquireState::idle;
  AcquireState paused_in_ = AcquireState::idle;
  Stage stage_ = Stage::queue;
  Status create_status_ = Status::ok;
  Status arming_status_ = Status::ok;  ///< the first that failed
  bool giving_up_ = false;
  bool create_answered_ = false;
  bool uncounted_ = false;  ///< the create, for once
  bool own_deleted_ = false;
  bool follows_release_ = false;   ///< the one that it waits for is exclusive; see Decision
  bool release_is_grant_ = false;  ///< the same, and what it writes can be trusted
  bool out_of_date_ = false;       ///< something has happened since
  bool waited_ = false;
  bool marked_ = false;      ///< its delay marker is there
  SessionId asked_session_;  ///< on which the create was sent
  SessionId session_;
  NodeName own_;
  std::int64_t zxid_ = 0;     ///< that made it
  Few<std::string> watched_;  ///< whom it waits for
  std::size_t position_ = 0;  ///< how many stand before it
  Seldom<Doubts> doubts_;
};

}  // namespace zklock::core
