// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/lease_term.h"
#include "zklock/core/node_data.h"
#include "zklock/core/seldom.h"
#include "zklock/recipes/arrival_watch.h"
#include "zklock/recipes/background_work.h"
#include "zklock/recipes/downgrade.h"
#include "zklock/recipes/lock_engine.h"
#include "zklock/recipes/own_node_watch.h"
#include "zklock/recipes/predecessor_watches.h"
#include "zklock/recipes/revocation_watch.h"
#include "zklock/recipes/session_keeper.h"

namespace zklock::recipes {

class Contender;
class LocalQueue;

/// A place in the queue of one lock path: the node, from its creation to its removal. It drives the
/// acquire machine on the coordinator, and tells the contender that stands in it what becomes of it.
///
/// | standing | contender    | node           | ends with                                         |
/// |----------|--------------|----------------|---------------------------------------------------|
/// | queued   | waits        | maybe          | grant; error; the contender goes                  |
/// | left     | none         | maybe          | the machine knows that the node is gone           |
/// | held     | holds        | yes; another   | release; loss; being kept or passed on (see       |
/// |          |              | at a downgrade | local_queue.h)                                    |
/// | idle     | none         | yes            | being held again; release; loss                   |
/// | over     | has lost it, | being deleted  |                                                   |
/// |          | or none      |                |                                                   |
///
/// Thread-safety: the members of SessionMember from any thread; the others within a Section of the
/// engine.
class Place final : public SessionMember, public std::enable_shared_from_this<Place> {
 public:
  /// `requester`: whom its node names. `local`: of those who may share it; null when it is nobody
  /// else's.
  Place(std::shared_ptr<LockEngine> engine, Requester requester, core::AcquireFsm::Policy policy,
        std::shared_ptr<LocalQueue> local = nullptr);
  ~Place() override;

  /// The contender gets the place, and is told of it from now on.
  void enter(const std::shared_ptr<Contender>& contender) { contender_ = contender; }
  /// Nobody stands in it any more, for now.
  void vacate() noexcept { contender_.reset(); }
  /// Queues.
  void start();
  /// The contender waits no longer, and hears no more.
  void give_up();
  /// The same, and the machine knows it.
  void leave();
  /// What goes from now on is released, and leaves no delay behind.
  void leave_no_delay();
  /// What was held excludes nobody any more.
  void downgrade();
  /// While it is held: the node there, where its holder says something (see core/proclamation.h), goes
  /// with its own, in one transaction.
  void take_along(std::string path);
  /// Nobody holds here any more; the node stays.
  void leave_session() noexcept;
  enum class Manner {
    release,
    to_own_successor,  ///< the same, and the next one knows
    plainly,
    with_care
  };
  /// Deletes the node, as a part of `work` or of a new piece of work.
  void remove(Manner manner, BackgroundWork::Id work = {});

  ClientCore& core() const noexcept { return engine_->core(); }
  LockEngine& engine() const noexcept { return *engine_; }
  const core::AcquireFsm::Policy& policy() const noexcept { return fsm_.policy(); }
  /// With the number of permits, where that is shared.
  const core::QueueRule& rule() const noexcept { return fsm_.rule(); }
  /// Rises with those who come.
  std::uint64_t number() const noexcept { return fsm_.number(); }
  bool at_gate() const noexcept { return fsm_.at_gate(); }
  bool over() const noexcept { return fsm_.over(); }
  /// For somebody who stood before it.
  bool waited() const noexcept { return fsm_.waited(); }
  bool leaves_delay() const noexcept { return fsm_.leaves_delay(); }
  core::Duration held_for() const { return core().scheduler().now() - holding_->since; }
  /// Of what is let go of: whether somebody may have come who waits for it.
  bool may_be_awaited();
  FencingToken token() const noexcept { return fsm_.token(); }
  SessionId session() const noexcept { return fsm_.session(); }
  core::Sequence sequence() const noexcept { return fsm_.sequence(); }
  std::string attempt() const { return fsm_.attempt(); }
  const std::shared_ptr<core::LeaseTerm>& term() const noexcept { return term_; }
  const std::string& own_name() const noexcept {
    return reads_on() ? holding_->downgrade.name() : fsm_.own_name();
  }
  /// All that its node may be called at this moment.
  std::vector<std::string> own_names() const;

  /// SessionMember; no Section.
  std::shared_ptr<SessionMember> alive() noexcept override { return weak_from_this().lock(); }
  void session_ended(SessionId session) override;
  void term_lapsed(const std::shared_ptr<core::LeaseTerm>& term) override;
  void suspended(SessionId session) override;
  void resumed(SessionId session) override;
  void tick(int& requests) override;

  /// Within a Section. Sets the watch on the own node now; false: it is set, or cannot be yet.
  bool watch_own();

  /// For its parts.
  template <class Step>
  auto entering(Step step) {
    return recipes::entering(weak_from_this(), std::move(step));
  }
  /// Null when nobody stands in it.
  std::shared_ptr<Contender> contender() const noexcept { return contender_.lock(); }
  /// What the node of a reader says that was a writer.
  std::string data_as_reader() const;
  /// Of a reply to a Get of its node's name: whether that is this node.
  bool is_own(const client::Reply& node) const;
  LocalQueue* local() const noexcept { return local_.get(); }
  /// Of one that was granted.
  ArrivalWatch& arrivals() noexcept { return holding_->arrivals; }
  /// The lease as it stands, kept for the grant that may follow.
  bool lease_valid() { return lease_valid(fsm_.session()); }
  OwnNodeWatch& own_watch() noexcept { return own_watch_; }
  PredecessorWatches& predecessors() noexcept { return predecessors_; }
  void own_node_gone();
  void path_began_again();
  /// It is its turn at the turnstile.
  void let_through();
  void predecessor_watched(const std::string& node, const client::Reply& reply);
  /// The user has asked for the name of what was granted.
  void becomes_known_by_name() noexcept { holding_->known_by_name = true; }
  /// Who of this client is granted when this is let go of; null when that has to be left to the
  /// servers.
  std::shared_ptr<Place> own_successor() const;
  /// It waits for a node of this client, whose holder has let go.
  void predecessor_let_go() noexcept;
  /// Nobody who has come before it can be granted after it.
  bool stands_by_number() const noexcept;
  /// `which`: of those whom its machine waits for.
  void predecessor_event(std::size_t which, client::request::WatchEvent event);
  const core::Few<std::string>& waited_for() const noexcept { return fsm_.watched(); }
  /// Where who wants it to let go says so.
  std::string revocation_marker() const;
  /// The marker of a delay that it leaves no more, while it may be there: it goes with the node, in
  /// one transaction; empty when there is none.
  const std::string& unwanted_delay_marker() const noexcept { return delays_->unwanted_marker; }
  /// It is gone, or the caller removes it; empty when there was none.
  std::string take_unwanted_delay_marker();
  /// Alone: the node stays.
  void remove_unwanted_delay_marker(BackgroundWork::Id work = {});
  void asked_to_release();
  void forced_to_release();

 private:
  using Effect = core::AcquireEffect;
  using Companion = client::Deleter::Companion;

  template <class Step>
  auto on_reply(Step step);
  void run(core::AcquireEffects effects);
  void carry_out(const Effect& effect);
  void create();
  void ask_for_node();
  void node_made();
  void count();
  void move(const std::string& attempt);
  bool lease_valid(SessionId session);
  core::CreatedAnswer answer_of(const client::Reply& created);
  core::AcquireEffects inspected(const client::Reply& reply);
  void check_own(SessionId session);
  /// The status of a request that is bound to no session, as the machine is to see it.
  core::Status status_unbound(const client::Reply& reply);
  core::Status status_for_own(const client::Reply& first, const client::Reply& get) const;
  void list(SessionId session);
  core::AcquireEffects listed(const client::Reply& queue, const client::Reply& count);
  std::string count_path() const;
  void pause();
  void mark(const Effect& effect);
  void clear(const Effect& effect);
  void delay();
  void end_delay() noexcept;
  client::RequestId submit(client::Operation operation, SessionId session,
                           client::ReplyHandler handler);
  void grant();
  void fail(Errc error, const std::string& cause);
  void machine_ended();
  void tell_position();
  void node_is_lost();
  bool goes_by_number() const noexcept;
  client::Deleter::Manner manner_of_release();
  client::Deleter::Manner deletion(Manner manner);
  void remove_node(SessionId session, const std::string& name, std::vector<Companion> companions,
                   client::Deleter::Manner manner, BackgroundWork::Id work,
                   std::function<void()> gone = {});
  /// What goes with its node; the caller sees to it.
  std::vector<Companion> take_companions();

  struct Delays {
    std::string unwanted_marker;
    client::TimerId timer{};
    std::uint64_t rounds = 0;
  };
  /// What a place needs that was granted; those who wait for that are many.
  struct Holding {
    explicit Holding(Place& place) : revocation(place), arrivals(place), downgrade(place) {}

    RevocationWatch revocation;
    ArrivalWatch arrivals;
    Downgrade downgrade;
    core::Instant since{};
    std::optional<bool> awaited;           ///< decided when it is let go of
    std::vector<std::string> taken_along;  ///< paths of nodes
    bool known_by_name = false;            ///< by any of those who have held
  };
  bool reads_on() const noexcept { return holding_ && holding_->downgrade.reads(); }
  bool name_in_doubt() const noexcept { return holding_ && holding_->downgrade.in_doubt(); }
  bool name_settled() const noexcept { return !holding_ || holding_->downgrade.settled(); }

  const std::shared_ptr<LockEngine> engine_;
  const Requester requester_;
  const std::shared_ptr<LocalQueue> local_;  ///< of the engine

  // guarded by the engine's mutex
  std::weak_ptr<Contender> contender_;
  core::AcquireFsm fsm_;
  BackgroundWork::Id work_{};      ///< from give_up() until the machine has ended
  bool let_through_ = false;       ///< by the turnstile, and has not passed
  bool had_node_ = false;          ///< a server was reached
  client::RequestId create_id_{};  ///< or of another request that is bound to no session
  client::RequestId count_id_{};
  client::RequestId list_id_{};
  core::Seldom<Delays> delays_;
  PredecessorWatches predecessors_;
  OwnNodeWatch own_watch_{*this};
  std::unique_ptr<Holding> holding_;       ///< from the grant on
  std::int64_t queued_ms_ = 0;             ///< when its first node was created
  core::Instant wanted_since_{};           ///< its node; once it has asked for it: since then
  std::shared_ptr<core::LeaseTerm> term_;  ///< in which the grant is made
};

}  // namespace zklock::recipes
