// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/acquire_messages.h"
#include "zklock/core/acquire_state.h"
#include "zklock/core/attempt_id.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/invariant_check.h"
#include "zklock/core/lazy.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/own_node.h"
#include "zklock/core/predecessors.h"
#include "zklock/core/queue_rule.h"
#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/core/znode_name.h"
#include "zklock/error.h"

namespace zklock::core {

/// Drives one contender from its create to its grant. Pure: each input returns effects.
///
/// Thread-safety: none. The driver calls it under one mutex. It carries out the effects in order,
/// and before the next input; only a create may be delayed.
class AcquireFsm {
 public:
  struct Policy {
    QueueRule rule = QueueRule::mutex();
    /// The rule of the gate queue of a PriorityMutex. The contender first waits there, and then
    /// enters the queue with `rule`. Empty: no gate.
    Lazy<QueueRule> gate = {};
    /// false: a single attempt. It ends without an error if it is not first.
    bool wait = true;
    bool queue_again = true;  ///< after losing its znode; false: an error
    /// true: it lists the children to learn its position. false: a waiting mutex first watches the
    /// znode with the preceding sequence number. It lists only if that is not its predecessor.
    bool always_list = false;
    /// true: after its create it counts the children, to learn whether it is alone. false: it
    /// counts only if it does not predict its predecessor.
    bool count_children = true;
    /// How long the lock stays blocked after its loss; exclusive access only. 0: not at all.
    std::chrono::milliseconds lock_delay = {};
  };

  /// `prefix` and `number`: see AttemptId.
  AcquireFsm(const char* prefix, std::uint64_t number, Policy policy);

  AcquireState state() const noexcept { return state_; }
  bool has_ended() const noexcept { return state_ == AcquireState::ended; }
  /// `rule.total` is the shared permit count as last read, if there is one.
  const Policy& policy() const noexcept { return policy_; }
  /// The rule of its own znode, which exists or is being created.
  const QueueRule& present_rule() const noexcept {
    return node_.at_gate() ? *policy_.gate : policy_.rule;
  }
  /// The attempt in its own znode's data.
  const AttemptId& attempt() const noexcept { return attempt_; }
  const OwnNode& node() const noexcept { return node_; }
  /// Its nodes() are valid in arming and waiting. Its position() is also valid in delaying.
  const Predecessors& predecessors() const noexcept { return predecessors_; }
  const DelayMarkers& delay_markers() const noexcept { return rare_->delay_markers; }
  /// Returns whether the current create is followed by a count of the children.
  bool is_counting_children() const noexcept { return awaited_ != Awaited::create_only; }
  /// Returns whether the contender waits for a single predecessor whose announced release makes it
  /// first.
  bool waits_for_announcement() const noexcept {
    return state_ == AcquireState::waiting && predecessors_.is_release_a_grant();
  }

  /// `counter_ended`: the sequence counter of the path was at its end when last read.
  AcquireEffects start(bool counter_ended = false);
  /// Withdraws the contender: no grant follows.
  AcquireEffects withdraw();
  /// From now on no delay follows a loss. Returns the name of the delay marker, empty if there is
  /// none. The caller deletes it, with the znode or at once.
  std::string take_delay_marker();

  // Replies: one input for each type of answer. The state says which request was answered.
  // `lease_valid`: the session's lease is valid now; a grant requires it.
  /// The reply to `create` or `move`.
  AcquireEffects on_created(const CreatedAnswer& answer, bool lease_valid);
  AcquireEffects on_counted(const CountedAnswer& answer, bool lease_valid);
  AcquireEffects on_listed(const ListedAnswer& answer, bool lease_valid);
  AcquireEffects on_inspected(const InspectedAnswer& answer);
  AcquireEffects on_watched(std::string_view node, const WatchedAnswer& answer);
  /// The reply to any other request. `lease_valid` is read only in the replies to `check_own` and
  /// `mark`.
  AcquireEffects on_done(const DoneAnswer& answer, bool lease_valid = false);
  /// The driver has not sent the last `create`, and will not send it. REQUIRES: enqueuing, and
  /// withdrawn.
  void on_create_withdrawn() noexcept;

  // Events.
  /// The predecessor has released the lock: it announced that, or it is a znode of the same client
  /// and session.
  AcquireEffects on_predecessor_released(std::string_view node, bool lease_valid);
  AcquireEffects on_predecessor_deleted(std::string_view node);
  AcquireEffects on_session_ended(SessionId session);
  AcquireEffects on_own_node_deleted();
  AcquireEffects on_pause_over();
  AcquireEffects on_delay_over();

 private:
  friend class InvariantCheck<AcquireFsm>;
  using Kind = AcquireEffect::Kind;
  using enum AcquireState;
  using enum Status;
  /// The replies that enqueuing still awaits. count: only that of the second request, which is a
  /// count of the children or, with a shared permit count, a list.
  enum class Awaited : std::uint8_t { create_only, create_and_count, count };
  /// One input, while it is handled. The pointers are set for replies of that type.
  struct Input {
    Status status = Status::ok;
    std::string_view detail = {};
    bool lease_valid = false;
    const CreatedAnswer* created = nullptr;
    const CountedAnswer* counted = nullptr;
    const ListedAnswer* listed = nullptr;
    const InspectedAnswer* inspected = nullptr;
    bool recreates_count = false;  ///< remove_path also creates the znode `count` again
    AcquireEffects effects = {};
  };
  struct StateFacts;
  using Transition = AcquireState (AcquireFsm::*)(Input&);

  static const StateFacts& facts_of(AcquireState state) noexcept;
  static bool can_follow(AcquireState before, AcquireState after) noexcept;
  void assert_invariants() const noexcept;
  bool is_node_consistent_with(AcquireState state) const noexcept;

  // Each returns the next state. after_...: after all replies to the requests of that state.
  AcquireState after_enqueuing(Input& in);
  AcquireState after_making_parents(Input& in);
  AcquireState after_proving(Input& in);
  AcquireState after_recovering(Input& in);
  AcquireState after_inspecting(Input& in);
  AcquireState after_listing(Input& in);
  AcquireState after_moving(Input& in);
  AcquireState after_creating_count(Input& in);
  AcquireState after_arming(Input& in);
  AcquireState after_confirming(Input& in);
  AcquireState after_marking(Input& in);
  AcquireState after_clearing(Input& in);
  AcquireState after_removing_path(Input& in);
  AcquireState after_draining(Input& in);
  AcquireState not_created(Input& in);
  AcquireState number_unusable(Input& in);
  AcquireState not_executed(Input& in);
  AcquireState decide_by_list(Input& in);
  AcquireState first(Input& in);
  AcquireState node_lost(Input& in, Errc error);
  AcquireState failed(Input& in);
  AcquireState fail(Input& in, Errc error, std::string_view cause = {});

  AcquireEffects handle(Input&& in);
  AcquireEffects handle(Input&& in, Transition next);
  AcquireEffects enter(AcquireState next, Input&& in);
  void begin_create();
  void drop_watches(Input& in);
  void report(Input& in, Errc error, std::string_view cause) const;
  void remove_node(AcquireEffects& effects);
  AcquireEffect effect(Kind kind, std::string text = {}) const;
  static bool is_searching(AcquireState state) noexcept;
  bool awaits_event() const noexcept;
  bool predicts_predecessor() const noexcept;
  bool needs_marker() const noexcept;

  // The acquire fails if it needs one more. Creates are counted in a row, recreations in all.
  static constexpr int kMaxPathCreates = 16;
  static constexpr int kMaxCountCreates = 16;
  static constexpr int kMaxPathRecreations = 16;

  /// State that few contenders need, allocated at its first use.
  struct RareState {
    /// The reply to the count or the list, if it comes before the reply to the create. Only the
    /// status and the session of a list are stored. The answer to a request that was not sent can
    /// come before that reply.
    std::optional<CountedAnswer> early_count = {};
    std::string detail = {};                 ///< of the failed create
    std::vector<ZnodeName> candidates = {};  ///< newest last
    DelayMarkers delay_markers = {};
  };

  // A process can have tens of thousands of these objects, so small members are adjacent.
  AttemptId attempt_;                     ///< of the last create or move
  Policy policy_;                         ///< constant except a shared permit count
  const std::int32_t initial_count_;      ///< of a shared count
  std::int8_t count_creates_in_row_ = 0;  ///< creates of the count in a row
  std::int8_t path_creates_in_row_ = 0;   ///< creates of the path in a row
  std::int8_t path_recreations_ = 0;      ///< because of unusable sequence numbers
  AcquireState state_ = AcquireState::idle;
  AcquireState paused_in_ = AcquireState::idle;
  Awaited awaited_ = Awaited::create_only;
  Status create_status_ = Status::ok;
  bool ending_ = false;  ///< no grant follows: withdrawn or failed
  OwnNode node_;
  Predecessors predecessors_;
  Lazy<RareState> rare_;
};

}  // namespace zklock::core
