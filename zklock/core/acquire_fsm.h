// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/acquire_answers.h"
#include "zklock/core/acquire_effect.h"
#include "zklock/core/acquire_state.h"
#include "zklock/core/few.h"
#include "zklock/core/invariant_check.h"
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

/// Leads one contender from its create to its grant. Pure: each input returns effects.
///
/// Thread-safety: none. The driver calls it under one mutex. It carries out the effects in order,
/// and before the next input; only a create may be delayed.
class AcquireFsm {
 public:
  struct Policy {
    QueueRule rule = QueueRule::mutex();
    /// The gate's rule, if the contender waits at a gate before it queues; see QueueRule. Empty: it
    /// queues at once.
    Lazy<QueueRule> gate = {};
    /// false: a single attempt. It ends without an error if it is not first.
    bool wait = true;
    bool queue_again = true;  ///< after losing its znode; false: an error
    /// true: it lists the children to learn its position. false: a mutex predicts that the
    /// preceding sequence number is its predecessor's, and lists only if that is wrong.
    bool always_list = false;
    /// true: after its create it counts the children, to learn whether it is alone. false: it sends
    /// no count if it may predict its predecessor.
    bool count_children = true;
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
  const std::vector<DelayMarker>& orphans() const noexcept { return rare_->orphans; }
  /// Returns whether its delay marker would remain after a loss: the marker was requested, and
  /// take_delay_marker() has not been called since.
  bool leaves_delay() const noexcept { return !rare_->delay_marker.empty(); }
  /// Number of contenders ahead of it in the last list; while arming, waiting and delaying. 0 if
  /// its predecessor was predicted.
  std::size_t position() const noexcept { return position_; }
  bool has_ended() const noexcept { return state_ == AcquireState::ended; }
  /// Returns whether a create is followed by a count of the children.
  bool counts_children() const noexcept { return awaited_ != Awaited::create; }
  /// The children that it watches, in the order of the requests; while arming and waiting.
  const Few<std::string>& watched() const noexcept { return watched_; }
  /// Returns whether it waits for one predecessor whose announced release makes it first.
  bool waits_for_release() const noexcept {
    return state_ == AcquireState::waiting && grant_by_release_ == GrantByRelease::yes;
  }
  /// Returns true once it has waited behind another contender.
  bool waited() const noexcept { return has_waited_; }
  /// A shared permit count is in `rule.all`, as last read.
  const Policy& policy() const noexcept { return policy_; }
  const QueueRule& rule() const noexcept { return policy_.rule; }
  bool at_gate() const noexcept { return stage_ == Stage::gate; }
  /// The rule of the own znode, which exists or is being created.
  const QueueRule& present_rule() const noexcept { return at_gate() ? *policy_.gate : rule(); }
  std::uint64_t number() const noexcept { return number_; }
  /// The attempt id in the own znode's data.
  std::string attempt() const;

  /// `counter_ended`: the sequence counter of the path was at its end when last read.
  AcquireEffects start(bool counter_ended = false);
  /// The count that should follow the requested create was not sent and will not be.
  void on_count_not_sent() noexcept;
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
  std::string take_delay_marker();
  /// Withdraws the contender: no grant follows.
  AcquireEffects withdraw();
  /// No request of the last `create` was sent or will be. REQUIRES: enqueuing, and withdrawn.
  void on_create_withdrawn() noexcept;

 private:
  friend class InvariantCheck<AcquireFsm>;
  using Kind = AcquireEffect::Kind;
  /// Where the own znode is. moving: it may be at the gate or in the queue.
  enum class Stage : std::uint8_t { gate, moving, queue };
  /// The replies that enqueuing still awaits. `count`: or the list that replaces it.
  enum class Awaited : std::uint8_t { create, create_and_count, count };
  /// Whether the release of the watched predecessor is a grant. if_announced: yes, if the data of
  /// the predecessor promise an announcement.
  enum class GrantByRelease : std::uint8_t { no, if_announced, yes };

  static bool can_follow(AcquireState before, AcquireState after) noexcept;
  void assert_invariants() const noexcept;
  bool is_node_consistent_with(AcquireState state) const noexcept;

  AcquireEffects enqueue();
  void take_node(const CreatedAnswer& answer);
  AcquireEffects check_path();
  AcquireEffects not_created();
  AcquireEffects move();
  bool predicts_predecessor() const noexcept;
  AcquireEffects predict_predecessor();
  std::optional<AcquireEffects> check_created();
  AcquireEffects create_failed();
  AcquireEffects handle_counted(const CountedAnswer& answer, bool lease_valid);
  AcquireEffects handle_first_list(const ListedAnswer& answer, bool lease_valid);
  std::optional<AcquireEffects> check_permit_count(const PermitsAnswer& count);
  AcquireEffects seed_count();
  AcquireEffects decide_by(const ListedAnswer& answer, bool lease_valid);
  AcquireEffects list();
  void store_decision(Decision decision);
  AcquireEffects arm(Decision decision);
  AcquireEffects watch_all();
  AcquireEffects drop_watches_then(AcquireEffects next);
  bool watches(std::string_view node) const noexcept;
  bool is_order_consistent(std::string_view node, FencingToken token) const noexcept;
  bool is_path_newer(FencingToken parent) const noexcept { return parent > token(); }
  AcquireEffects become_first(bool lease_valid);
  AcquireEffects become_first_by_list(std::span<const std::string> children, Decision decision,
                                      bool lease_valid);
  static bool awaits_event(AcquireState state) noexcept;
  bool has_unusable_number() const noexcept;
  bool needs_marker() const noexcept;
  AcquireEffects mark();
  AcquireEffects clear_next();
  AcquireEffects handle_path_checked(Status status, std::string_view detail);
  AcquireEffects handle_candidates(const ListedAnswer& answer);
  AcquireEffects inspect_next();
  AcquireEffects node_lost(Errc error);
  AcquireEffects pause();
  AcquireEffects repeat();
  AcquireEffects handle_unusable_number();
  AcquireEffects handle_taken_name();
  AcquireEffects remove_parent();
  AcquireEffects drain();
  AcquireEffects handle_drain_list(const ListedAnswer& answer);
  AcquireEffects skip();
  AcquireEffects end(AcquireEffects before = {});
  AcquireEffects fail(Errc error, std::string_view cause = {});
  AcquireEffects handle_failure(Status status, std::string_view detail);
  static AcquireEffect failure_effect(Errc error, std::string_view cause);
  AcquireEffects remove_node();
  AcquireEffect effect(Kind kind, std::string text = {}) const;

  /// State that few contenders need, allocated at its first use.
  struct RareState {
    /// The reply to the count, if it comes before the reply to the create. Requests that are never
    /// sent may be answered out of order.
    std::optional<CountedAnswer> early_count = {};
    std::string detail = {};  ///< of the failed create or first failed watch
    /// Czxids of watched predecessors that entered the queue after the own znode, although their
    /// sequence number is lower. Either the path was recreated, or they were made by hand.
    std::vector<FencingToken> newer_predecessors = {};
    /// Those of them that were watched before the last list. That list showed the own znode's path,
    /// so the path was not recreated. The contender waits for them as for all predecessors.
    std::vector<FencingToken> confirmed_newer_predecessors = {};
    std::vector<ZnodeName> candidates = {};  ///< newest last
    std::string delay_marker = {};           ///< of the own znode; empty: none requested
    bool marker_created = false;             ///< the own delay marker was created
    std::vector<DelayMarker> orphans = {};   ///< not yet deleted; while delaying and clearing
  };

  // Tens of thousands of machines may wait: small members are adjacent to save memory.
  const char* const client_;
  const std::uint64_t number_;
  Policy policy_;                         ///< constant except a shared permit count
  const std::int32_t seed_;               ///< initial value of a shared count
  int attempts_ = 0;                      ///< creates and moves requested
  std::int32_t active_watches_ = 0;       ///< watches neither fired nor removed
  std::int32_t outstanding_watches_ = 0;  ///< watch requests without reply; while arming
  std::int8_t seeds_in_row_ = 0;          ///< creates of the count in a row
  std::int8_t parents_in_row_ = 0;        ///< creates of the path in a row
  std::int8_t unusable_numbers_ = 0;      ///< own znodes without a usable number
  AcquireState state_ = AcquireState::idle;
  AcquireState paused_in_ = AcquireState::idle;
  Stage stage_ = Stage::queue;
  Awaited awaited_ = Awaited::create;
  GrantByRelease grant_by_release_ = GrantByRelease::no;
  Status create_status_ = Status::ok;
  Status arming_status_ = Status::ok;  ///< the first failure
  bool ending_ = false;                ///< no grant follows: withdrawn or failed
  bool own_node_deleted_ = false;      ///< its event came before an outstanding reply
  bool list_outdated_ = false;         ///< the last list is outdated
  bool has_waited_ = false;
  SessionId create_session_;  ///< session of the last create
  SessionId session_;         ///< see session()
  ZnodeName own_;
  std::int64_t zxid_ = 0;     ///< czxid of the own znode
  Few<std::string> watched_;  ///< see watched()
  std::size_t position_ = 0;  ///< see position()
  Lazy<RareState> rare_;
};

}  // namespace zklock::core
