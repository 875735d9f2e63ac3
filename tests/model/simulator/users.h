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

#include "tests/model/simulator/history_writer.h"
#include "tests/model/simulator/lock_object.h"
#include "tests/model/simulator/observer_model.h"
#include "zklock/leadership.h"
#include "zklock/owner.h"

namespace zklock::simulator {

class Leader;

/// An acquire, from the call to the end of its hold.
struct Call {
  /// A hold in the sense of the history: a single hold, a partial hold of a composite one, or the
  /// whole.
  struct Part {
    std::uint32_t hold = 0;
    std::uint32_t resource = 0;
    std::size_t ensemble = 0;
    int path = 0;
    int index = -1;  ///< index in the CompositeHold
    Access access = Access::exclusive;
    bool said_lost = false;
    bool notified = false;
    bool must_end = false;  ///< end_token() of the leadership was stopped
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_loss = {};
  };
  std::uint32_t id = 0;
  SimProcess* process = nullptr;
  std::size_t ensemble = 0;  ///< of a single hold
  ObjectPlan object;
  PlanStep step;
  std::optional<Owner> owner;
  std::uint64_t owner_number = 0;
  std::stop_source stop;
  Got got;
  Leadership leadership;
  FencingToken token;              ///< of a single hold; kept after the release
  std::uint32_t said = 0;          ///< the value proclaimed last
  std::optional<Instant> said_at;  ///< when its proclamation completed
  std::vector<Part> parts;
  bool ended = false;  ///< the call has completed
  bool over = true;    ///< nothing is held
};

/// The programs of the processes. They create the lock objects, call them, and use the holds as the
/// plan says.
///
/// Thread-safety: none.
class Users {
 public:
  Users(Universe& universe, HistoryWriter& history_writer, const Plan& plan);
  ~Users();
  Users(const Users&) = delete;
  Users& operator=(const Users&) = delete;

  /// Runs a step that is not a fault.
  void act(const PlanStep& step);

  SimProcess& process(int slot) { return *programs_[static_cast<std::size_t>(slot)].process; }
  /// Starts another process in the slot.
  void replace(int slot);
  /// Destroys the object with that number, and creates it again.
  void remake(int slot, int object);
  /// Notes that the process was killed: its holds are released and its calls have ended.
  void bury(const SimProcess& process);
  /// Queries all holds of a process that has just been resumed.
  void query_all(const SimProcess& process);
  /// Cancels the first waiting call of the process, if there is one.
  void cancel_one(SimProcess& process);
  /// Calls cancel_one() before the next message that a client of the process receives.
  void cancel_at_message(const SimProcess& process) { canceller_ = &process; }
  void throw_at_next_grant(SimProcess& process) { thrower_ = &process; }
  /// The handler of the next grant closes the clients of the process. Then another process takes
  /// its slot.
  void close_at_next_grant(SimProcess& process) { closer_ = &process; }
  /// Forks the whole simulation. Notes an action of the child that the library must prevent.
  void fork_process();
  /// Ends a thread of the process that holds a lock, if there is one.
  void end_a_thread(const SimProcess& process);
  std::uint64_t threads_ended() const noexcept { return threads_ended_; }
  std::uint64_t listeners_thrown() const noexcept { return listeners_thrown_; }
  std::uint64_t closed_by_handlers() const noexcept { return closed_by_handlers_; }
  /// Records that this znode is about to be deleted, or its session ended, by hand.
  void node_taken(std::size_t ensemble, const std::string& path);
  bool is_held(const std::string& node) const;
  /// Notes the initial numbers of permits of a path again, because its shared count was deleted.
  void permits_went(const std::string& path);

  /// Ends all candidacies and requests for release. No acquire starts after that.
  void wind_up();
  /// Returns whether no call is waiting and no hold exists.
  bool all_over() const;
  /// Notes the observers that have not received a leader's value long after its proclamation
  /// completed.
  void look_at_what_is_said();
  /// Destroys the objects except the observers.
  void destroy_objects();
  /// Notes the observers that still have a holder, leader or value.
  void look_through_observers();
  void drop_observers();
  /// Acquires and releases the path with a new process. Returns when this is done, or at `until`.
  void sweep(std::size_t ensemble, int path, Instant until);
  /// Returns whether there are children of lock paths besides shared permit counts.
  bool nodes_are_left() const;
  /// Notes the resources that the processes have not released.
  void look_for_leftovers();
  /// Notes the contradictions in the metrics of the clients.
  void look_at_metrics();

  std::uint64_t calls() const noexcept { return calls_.size(); }

  /// The members below are for Leader.
  Call& begin_leadership(SimProcess& process, const ObjectPlan& object);
  void leads(Call& call, const Leadership& leadership);
  void end_leadership(Call& call);
  /// Notes that the leader is about to end that leadership. Its loss is then notified.
  void resigns(const Call& call);
  Universe& universe() noexcept { return universe_; }
  HistoryWriter& history_writer() noexcept { return history_writer_; }

 private:
  struct Program {
    SimProcess* process = nullptr;
    std::vector<std::unique_ptr<LockObject>> objects;  ///< null for the other classes
    std::vector<std::unique_ptr<Leader>> leaders;
    std::vector<std::unique_ptr<ObserverModel>> observers;
    std::array<std::optional<Owner>, 3> owners;
  };
  void furnish(Program& program);
  void make_object(Program& program, std::size_t i);
  void acquire(const PlanStep& step);
  void lock(Call& call, AcquireOptions options);
  static std::shared_ptr<detail::PathLock> engine_of(const Call& call);
  Call& new_call(SimProcess& process, const ObjectPlan& object, const PlanStep& step);
  void start(Call& call, LockObject& object);
  void ended(Call& call, Got got);
  void name_parts(Call& call);
  bool is_taken(const Call& call, const Call::Part& part) const;
  void granted(Call& call);
  void register_loss(Call& call);
  void probe(const Call& call);
  void query(Call& call, Call::Part& part, bool strictly);
  HoldState state_of(const Call& call, const Call::Part& part) const;
  const Hold* hold_of(const Call& call, const Call::Part& part) const;
  void count(const Call& call);
  void plan_ending(Call& call);
  void nest(Call& call);
  void commit(Call& call);
  std::uint32_t begin_commit(const Call& call, std::string guard);
  void committed(std::uint32_t number, const std::exception_ptr& error);
  void proclaim(Call& call, int left);
  bool is_visibly_first(const Leadership& leadership);
  void write(Call& call);
  void release_node(Call& call);
  void end_thread(Call& call);
  const char* misdeed_of_child();
  bool child_has_something() const;
  void close_in_handler(SimProcess& process);
  void forget(Call& call, bool given_back = false);
  void set_permits(const PlanStep& step);
  void request_release(const PlanStep& step);
  void after(SimProcess& process, std::int64_t micros, std::function<void()> task);
  void declare_permits(const ObjectPlan& object);

  Universe& universe_;
  HistoryWriter& history_writer_;
  const Plan& plan_;
  std::vector<Program> programs_;
  std::deque<std::unique_ptr<Call>> calls_;
  std::vector<Call*> live_;  ///< with a hold
  std::size_t waiting_ = 0;
  std::uint32_t last_id_ = 0;
  std::uint32_t last_commit_ = 0;
  std::map<std::uint32_t, const SimProcess*> commits_;  ///< not completed yet
  std::vector<FencingToken> fenced_;                    ///< highest token of each resource
  std::vector<std::string> markers_;                    ///< of requests for release
  std::vector<Program> killed_programs_;                ///< state left by killed processes
  SimProcess* thrower_ = nullptr;
  SimProcess* closer_ = nullptr;
  const SimProcess* canceller_ = nullptr;
  std::uint64_t threads_ended_ = 0;  ///< while they held a lock
  std::uint64_t listeners_thrown_ = 0;
  std::uint64_t closed_by_handlers_ = 0;
  bool winding_up_ = false;
};

}  // namespace zklock::simulator
