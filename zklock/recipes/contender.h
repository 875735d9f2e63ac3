// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/lease_term.h"
#include "zklock/core/ownership.h"
#include "zklock/hold.h"
#include "zklock/recipes/downgrade.h"
#include "zklock/recipes/hold_tenure.h"
#include "zklock/recipes/lock_engine.h"
#include "zklock/recipes/own_node_watch.h"
#include "zklock/recipes/predecessor_watches.h"
#include "zklock/recipes/revocation_watch.h"
#include "zklock/recipes/session_keeper.h"

namespace zklock::recipes {

/// One owner at one lock path, from its first wish to its last unlock: drives the acquire machine
/// on the coordinator, and afterwards keeps the counts and the fate of the hold.
///
/// | standing  | in the engine's map | node           | ends with                                  |
/// |-----------|---------------------|----------------|--------------------------------------------|
/// | waiting   | yes                 | maybe          | grant; error; last waiting call cancelled  |
/// | leaving   | no                  | maybe          | the machine knows that the node is gone    |
/// | held      | yes                 | yes; another   | last count dropped; loss                   |
/// |           |                     | at a downgrade |                                            |
/// | lost      | yes                 | being deleted  | last count dropped                         |
/// | over      | no                  | being deleted  |                                            |
///
/// Thread-safety: the members of a Hold, and those of SessionMember, from any thread; the others
/// within a Section of the engine.
class Contender : public SessionMember, public std::enable_shared_from_this<Contender> {
 public:
  /// `key`: under which the engine keeps it; `owner`: whom it names.
  Contender(std::shared_ptr<LockEngine> engine, Owner key, Owner owner,
            core::AcquireFsm::Policy policy, std::shared_ptr<LockLine> listener);
  ~Contender() override;

  /// Within a Section.
  struct Call {
    std::uint64_t ticket = 0;
    core::CountKind kind = core::CountKind::hold;
    const void* on_behalf = nullptr;
    Deadline deadline;
    core::HoldLimit limit = {};
    std::shared_ptr<LockLine> listener = {};
    core::Instant began = {};
    client::TimerId timer = {};
    std::function<void(Outcome)> done = {};
  };
  void start();
  /// A call waits with this contender, or nests if it holds.
  void join(Call call);
  enum class Why { deadline, cancelled, closed };
  void leave(std::uint64_t ticket, Why why);
  void leave_all(const void* on_behalf);
  /// Forgets the waiting calls, without a word: the caller hears of the failure by an exception.
  void drop_calls() noexcept;
  core::Ownership::Dropped drop(core::CountKind kind, client::Deleter::Manner manner);
  /// The client is closing: waiting calls end, a hold is lost.
  void close();
  const core::Ownership& ownership() const noexcept { return ownership_; }
  bool holds_validly();
  const std::string& own_name() const noexcept {
    return downgrade_.reads() ? downgrade_.name() : fsm_.own_name();
  }
  /// All that its node may be called at this moment.
  std::vector<std::string> own_names() const;
  const Owner& key() const noexcept { return key_; }

  /// What a Hold asks; any thread, no Section.
  Hold make_hold(core::CountKind kind) { return Hold(shared_from_this(), kind); }
  /// Once it was granted.
  const HoldTenure& tenure() const noexcept { return *tenure_; }
  const Owner& owner() const noexcept { return owner_; }
  std::int32_t permits() const noexcept { return policy_.rule.wanted; }
  /// For those whose loss follows from this one's, and who tell it to others: while they keep this,
  /// a node that nothing threatens is not handed over, within the patience that callbacks have.
  /// Null when there is no such loss.
  static std::shared_ptr<void> being_told(const Hold& hold);
  bool renew(std::optional<core::Duration> length);
  void release(core::CountKind kind) noexcept;

  /// SessionMember; no Section.
  void session_ended(SessionId session) override;
  void term_lapsed(const std::shared_ptr<core::LeaseTerm>& term) override;
  void suspended(SessionId session) override;
  void resumed(SessionId session) override;
  void tick() override;

  /// For its parts. What they hear goes nowhere when the contender is gone: `step` is called with
  /// the contender, within a Section, and whatever else comes.
  template <class Step>
  auto entering(Step step) {
    return [self = weak_from_this(), step = std::move(step)](const auto&... news) {
      const auto contender = self.lock();
      if (!contender) return;
      const LockEngine::Section section(*contender->engine_);
      step(*contender, news...);
    };
  }
  ClientCore& core() const noexcept { return engine_->core(); }
  LockEngine& engine() const noexcept { return *engine_; }
  SessionId session() const noexcept { return fsm_.session(); }
  core::Sequence sequence() const noexcept { return fsm_.sequence(); }
  const std::string& attempt() const noexcept { return fsm_.attempt(); }
  /// What the node of a reader says that was a writer.
  std::string data_as_reader() const;
  /// Of a reply to a Get of its node's name: whether that is this node.
  bool is_own(const client::Reply& node) const;
  OwnNodeWatch& own_watch() noexcept { return own_watch_; }
  PredecessorWatches& predecessors() noexcept { return predecessors_; }
  void own_node_gone();
  void predecessor_watched(const std::string& node, const client::Reply& reply);
  void look_at_the_clock();
  /// Where who wants it to let go says so.
  std::string revocation_marker() const;
  void asked_to_release();
  void forced_to_release();
  /// The marker of a delay that it leaves no more, while it may be there: it goes with the node, in
  /// one transaction; empty when there is none.
  const std::string& unwanted_delay_marker() const noexcept { return unwanted_delay_marker_; }
  void delay_marker_gone() noexcept { unwanted_delay_marker_.clear(); }
  /// Alone: the node stays.
  void remove_unwanted_delay_marker();
  void predecessor_event(const std::string& node, client::request::WatchEvent event);

 private:
  using Effect = core::AcquireEffect;

  template <class Step>
  client::ReplyHandler on_reply(Step step);
  void run(core::AcquireEffects effects);
  void carry_out(const Effect& effect);
  void create(const std::string& attempt);
  void check_own(SessionId session);
  void list(SessionId session);
  core::AcquireEffects listed(const client::Reply& queue, const client::Reply& count);
  std::string count_path() const;
  /// Why a call cannot nest here; nothing when it can.
  std::optional<Error> refusal(core::CountKind kind) const;
  void pause();
  void mark(const Effect& effect);
  void clear(const Effect& effect);
  void delay();
  void end_delay() noexcept;
  client::RequestId submit(client::Operation operation, SessionId session,
                           client::ReplyHandler handler);
  /// Within a Section: the lease as it stands, kept for the grant that may follow.
  bool lease_valid();
  void grant();
  void fail(Errc error, const std::string& cause);
  void step_ended();
  core::QueueRule rule_for(const std::vector<Call>& waiting) const;
  void give_up();
  void depart();
  void tell_place();
  bool holds_on(SessionId session) const noexcept;
  enum class Loss {
    lease,   ///< may soon have the node deleted by the servers
    node,    ///< gone already
    limit,   ///< the maximum hold time
    forced,  ///< by request_release()
  };
  void lose(Loss why);
  void tell_loss(Loss why);
  /// Hands over when it goes: when all have been told.
  struct HandOver {
    explicit HandOver(std::shared_ptr<Contender> whose) : contender(std::move(whose)) {}
    HandOver(const HandOver&) = delete;
    HandOver& operator=(const HandOver&) = delete;
    ~HandOver();

    const std::shared_ptr<Contender> contender;
  };
  /// Stops the token where the user's callbacks may run, after this Section. `keep` goes then.
  void tell(std::stop_source source, std::shared_ptr<void> keep);
  void hand_over();
  client::Deleter::Manner manner_of_release() const noexcept;
  void leave_session() noexcept;
  /// With the child `companion`, where it has one.
  void remove_node(SessionId session, const std::string& name, const std::string& companion,
                   client::Deleter::Manner manner);
  void remove_own_node(client::Deleter::Manner manner);
  void leave_no_delay();
  void downgrade_if_only_shared();
  void complete(Call& call, Outcome outcome);
  Outcome outcome_of(const Call& call, Why why);
  Error error(Errc code, std::string_view cause) const;

  const std::shared_ptr<LockEngine> engine_;
  const Owner key_;
  const Owner owner_;
  const core::AcquireFsm::Policy policy_;
  const core::NodeData identity_;
  const LockEvents events_;

  // guarded by the engine's mutex
  core::AcquireFsm fsm_;
  core::Ownership ownership_;
  std::vector<Call> calls_;  ///< that wait
  bool begun_work_ = false;
  BackgroundWork::Id work_{};      ///< while leaving, or between a loss and the handing over
  bool had_node_ = false;          ///< a server was reached
  client::RequestId create_id_{};  ///< or of another request that is bound to no session
  client::RequestId count_id_{};
  client::RequestId list_id_{};
  std::string unwanted_delay_marker_;
  client::TimerId delay_timer_{};
  std::uint64_t delays_ = 0;
  PredecessorWatches predecessors_{*this};
  OwnNodeWatch own_watch_{*this};
  RevocationWatch revocation_{*this};
  Downgrade downgrade_{*this};
  bool abandoned_ = false;      ///< by a thread that ended with the lock
  std::int64_t queued_ms_ = 0;  ///< when its node was created
  std::weak_ptr<HandOver> hand_over_;
  std::shared_ptr<core::LeaseTerm> term_;  ///< in which the grant is made

  // set before the grant is told, and constant from then on
  std::unique_ptr<HoldTenure> tenure_;
};

}  // namespace zklock::recipes
