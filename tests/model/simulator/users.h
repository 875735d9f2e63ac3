// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/model/simulator/lock_object.h"
#include "tests/model/simulator/onlooker.h"
#include "tests/model/simulator/scribe.h"
#include "zklock/leadership.h"
#include "zklock/owner.h"

namespace zklock::simulator {

class Leader;

/// One wish for a lock, from the call to the end of what came of it.
struct Call {
  /// What a history knows as a hold: a hold, or one of several that were taken as one, or the whole.
  struct Part {
    std::uint32_t hold = 0;
    std::uint32_t resource = 0;
    std::size_t ensemble = 0;
    int path = 0;
    int index = -1;  ///< in the CompositeHold
    bool said_lost = false;
    bool told_lost = false;
    bool told_to_end = false;  ///< a leadership, for whatever reason
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_loss = {};
  };
  std::uint32_t id = 0;
  SimProcess* process = nullptr;
  std::size_t ensemble = 0;  ///< of what is one hold
  ObjectPlan object;
  PlanStep step;
  std::optional<Owner> owner;
  std::uint64_t owner_number = 0;
  std::stop_source stop;
  Got got;
  Leadership leadership;
  FencingToken token;              ///< also afterwards; of what is one hold
  std::uint32_t said = 0;          ///< the last value that a leader has proclaimed
  std::optional<Instant> said_at;  ///< when it was told so
  std::vector<Part> parts;
  bool ended = false;  ///< the call
  bool over = true;    ///< nothing is held
};

/// The programs in the processes: they make the objects, call them, and use what they get, as the
/// plan says.
///
/// Thread-safety: none.
class Users {
 public:
  Users(Universe& universe, Scribe& scribe, const Plan& plan);
  ~Users();
  Users(const Users&) = delete;
  Users& operator=(const Users&) = delete;

  /// A step that is not a fault.
  void act(const PlanStep& step);

  SimProcess& process(int slot) { return *seats_[static_cast<std::size_t>(slot)].process; }
  /// Another process comes in its place.
  void replace(int slot);
  void remake(int slot, int object);
  /// A process was killed: what it held is nobody's.
  void bury(const SimProcess& process);
  /// A process goes on: what it holds is asked before all else.
  void ask_all(const SimProcess& process);
  /// One of its waiting calls, if there is one.
  void cancel_one(SimProcess& process);
  /// The same, when its clients hear something next.
  void cancel_at_news(const SimProcess& process) { canceller_ = &process; }
  void throw_at_next_grant(SimProcess& process) { thrower_ = &process; }
  /// The handler closes the clients; another process comes afterwards.
  void close_at_next_grant(SimProcess& process) { closer_ = &process; }
  /// The whole simulation is forked, and so that process; what the child can do, and must not, is
  /// noted.
  void fork_process();
  /// One of its threads that has locked something, if there is one.
  void end_a_thread(const SimProcess& process);
  std::uint64_t threads_ended() const noexcept { return threads_ended_; }
  std::uint64_t listeners_thrown() const noexcept { return listeners_thrown_; }
  std::uint64_t closed_by_handlers() const noexcept { return closed_by_handlers_; }
  /// That node is to be deleted, or its session to be ended, by hand.
  void node_taken(std::size_t ensemble, const std::string& path);
  bool is_held(const std::string& node) const;
  /// So is a shared number of permits there.
  void permits_went(const std::string& path);

  /// All leaders resign, nobody else comes.
  void wind_up();
  /// No call waits, and nothing is held.
  bool all_over() const;
  /// Says which observers have not heard, long after it, what a leader has said.
  void look_at_what_is_said();
  /// The objects go, but for the observers.
  void destroy_objects();
  /// Says what they see that is not there any more.
  void look_through_observers();
  void drop_observers();
  /// Acquires that path plainly, as somebody new; returns when that is over, or the time is.
  void sweep(std::size_t ensemble, int path, Instant until);
  /// There are nodes of locks, besides shared numbers of permits.
  bool nodes_are_left() const;
  /// Says what the processes have not given back.
  void look_for_leftovers();

  std::uint64_t calls() const noexcept { return calls_.size(); }

  /// For leaders.
  Call& begin_leadership(SimProcess& process, const ObjectPlan& object);
  void leads(Call& call, const Leadership& leadership);
  void end_leadership(Call& call);
  /// The leader is about to end that leadership, which is then told lost.
  void resigns(const Call& call);
  Universe& universe() noexcept { return universe_; }
  Scribe& scribe() noexcept { return scribe_; }

 private:
  struct Seat {
    SimProcess* process = nullptr;
    std::vector<std::unique_ptr<LockObject>> objects;  ///< null where it is another class
    std::vector<std::unique_ptr<Leader>> leaders;
    std::vector<std::unique_ptr<Onlooker>> onlookers;
    std::array<std::optional<Owner>, 3> owners;
  };
  void furnish(Seat& seat);
  void make_object(Seat& seat, std::size_t i);
  void acquire(const PlanStep& step);
  void lock(Call& call, AcquireOptions options);
  static std::shared_ptr<recipes::LockEngine> engine_of(const Call& call);
  Call& new_call(SimProcess& process, const ObjectPlan& object, const PlanStep& step);
  void start(Call& call, LockObject& object);
  void ended(Call& call, Got got);
  void name_parts(Call& call);
  bool is_taken(const Call& call, const Call::Part& part) const;
  void granted(Call& call);
  void register_loss(Call& call);
  void probe(const Call& call);
  void ask(Call& call, Call::Part& part, bool strictly);
  HoldState state_of(const Call& call, const Call::Part& part) const;
  const Hold* hold_of(const Call& call, const Call::Part& part) const;
  void count(const Call& call);
  void plan_ending(Call& call);
  void nest(Call& call);
  void commit(Call& call);
  std::uint32_t begin_commit(const Call& call, std::string guard);
  void commit_told(std::uint32_t number, const std::exception_ptr& error);
  void proclaim(Call& call, int left);
  bool is_first(const Leadership& leadership);
  void write(Call& call);
  void let_go(Call& call);
  void end_thread(Call& call);
  const char* misdeed_of_child();
  bool child_has_something() const;
  void close_in_handler(SimProcess& process);
  void forget(Call& call, bool given_back = false);
  void set_permits(const PlanStep& step);
  void ask_release(const PlanStep& step);
  void after(SimProcess& process, std::int64_t micros, std::function<void()> task);
  void declare_permits(const ObjectPlan& object);

  Universe& universe_;
  Scribe& scribe_;
  const Plan& plan_;
  std::vector<Seat> seats_;
  std::deque<std::unique_ptr<Call>> calls_;
  std::vector<Call*> live_;  ///< that hold
  std::size_t waiting_ = 0;
  std::uint32_t last_id_ = 0;
  std::uint32_t last_commit_ = 0;
  std::map<std::uint32_t, const SimProcess*> commits_;  ///< that nothing has been told of
  std::vector<FencingToken> fenced_;                    ///< the highest that each resource has seen
  std::vector<std::string> markers_;                    ///< of requests for release
  std::vector<Seat> graves_;                            ///< what killed processes have left
  SimProcess* thrower_ = nullptr;
  SimProcess* closer_ = nullptr;
  const SimProcess* canceller_ = nullptr;
  std::uint64_t threads_ended_ = 0;  ///< with something locked
  std::uint64_t listeners_thrown_ = 0;
  std::uint64_t closed_by_handlers_ = 0;
  bool winding_up_ = false;
};

}  // namespace zklock::simulator
