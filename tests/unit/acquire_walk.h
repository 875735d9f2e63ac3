// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "acquire_steps.h"

namespace zklock::core::acquire_test {

/// An acquire machine and a small ZooKeeper that drives it at random. Replies are lost, sessions
/// end, znodes are deleted, other contenders arrive and leave. The number of permits changes, and
/// holders leave delay markers behind. wrong() describes the first violation; it is empty if there
/// is none.
class Walk {
 public:
  struct Wish {
    QueueRule rule;
    Lazy<QueueRule> gate = {};
  };
  static constexpr int kWishes = 6;
  static Wish wish(int which);
  /// Counts the events of all walks that share it.
  struct Counts {
    int granted = 0;
    int gave_up = 0;
    int created_again = 0;
    int adopted = 0;
    int seeds = 0;
    int marks = 0;
    int moves = 0;
    int taken_names = 0;
    int delays = 0;
    std::size_t most_watches = 0;
  };
  /// Adds to `counts`.
  Walk(std::uint64_t seed, const Wish& wish, Counts& counts);

  /// Takes that many random steps. After that there are no faults, and the machine must be granted
  /// or end.
  void run(int steps);

  const std::string& wrong() const { return wrong_; }
  /// The pairs of different states that followed each other.
  const std::set<std::pair<State, State>>& transitions() const { return transitions_; }

 private:
  struct Node {
    std::string name;
    std::string attempt;
    SessionId session;  ///< 0: another client's; it never ends
    std::int64_t zxid = 0;
    bool announces = true;
    bool known = false;  ///< the machine knows this znode
    int removes = 0;     ///< deletes that the machine requested
    bool ours() const { return session.value != 0; }
  };
  /// Ordered by sequence number.
  using Nodes = std::map<int, Node>;

  bool granted() const { return fsm_.state() == State::granted; }
  bool one_in(unsigned n) { return random_() % n == 0; }
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  void blame(const std::string& what);

  void take(const AcquireEffects& effects);
  void take(const AcquireEffect& effect);
  void submit(const AcquireEffect& effect);
  void removal(const AcquireEffect& effect);
  void check_grant(const AcquireEffect& effect);
  void check_failure(const AcquireEffect& effect);
  void check_delay();
  void check_clear(const AcquireEffect& effect);
  void check_markers();
  void check_end();
  void check_nodes();
  void check_watches();

  void step();
  void event();
  void others();
  void answer();
  Status trouble(const AcquireEffect& request);
  void answer_create(Status status);
  void answer_move(Status status);
  Status answer_new_node(Status status, Node& made);
  void answer_count(Status status);
  void answer_parents(Status status);
  void answer_list(Status status);
  void answer_first_list(Status status);
  PermitsAnswer count_answer(Status status);
  void answer_count_create(const AcquireEffect& request, Status status);
  void answer_mark(const AcquireEffect& request, Status status);
  void answer_clear(const AcquireEffect& request, Status status);
  void answer_inspect(const AcquireEffect& request, Status status);
  void answer_watch(const AcquireEffect& request, Status status);
  void answer_check(const AcquireEffect& request, Status status);
  void answer_remove_parent(const AcquireEffect& request, Status status);

  std::string prefix_of_create() const;
  std::string prefix_of_other();
  void count_up();
  void pass_other_names(std::string_view prefix);
  void add_other();
  void add_other(int sequence, std::string_view prefix);
  bool shares_count() const { return policy_.rule.shares_count(); }
  int initial() const { return policy_.rule.total; }
  void change_permits(std::optional<int> all);
  void remove_other(Nodes::iterator other);
  void delete_node(Nodes::iterator node, bool announced);
  void event_between();
  void end_session();
  void late_events();
  bool lease_valid() { return lease_was_valid_ = calm_ || !one_in(4); }
  Nodes::iterator find(const std::string& name);
  Nodes::iterator find_own();
  bool is_first();
  bool is_first_at_gate(const ParsedZnodeName& own);
  Children children() const;

  std::mt19937_64 random_;
  AcquireFsm::Policy policy_;
  AcquireFsm fsm_;
  State state_ = State::idle;  ///< of the machine, when last seen
  std::set<std::pair<State, State>> transitions_;
  bool calm_ = false;  ///< no more trouble

  // The state of the ensemble.
  bool parent_ = true;
  std::int32_t next_sequence_ = 0;
  std::int64_t zxid_ = 100;
  SessionId session_{1};
  Nodes nodes_;
  std::set<int> watched_;
  bool watch_is_trusted_ = false;
  std::optional<int> all_permits_;  ///< none: no count is stored
  std::string count_data_;
  bool watches_count_ = false;
  std::string last_watch_;
  /// The value is the session that created it; 0: another client's.
  std::map<std::string, SessionId> markers_;
  /// Deleted by the machine. An outstanding create of such a marker was sent before the delete.
  std::set<std::string> unmarked_;
  bool is_next_name_taken_ = false;  ///< at the last list
  bool has_config_ = false;          ///< a child that is never deleted

  // The state between the ensemble and the machine.
  std::deque<AcquireEffect> outstanding_;
  std::string attempt_;
  bool abandoned_ = false;
  int pauses_ = 0;
  std::optional<std::int64_t> unreported_deletion_;  ///< czxid
  bool delay_runs_ = false;
  std::set<std::string> delays_for_;  ///< markers of the current or latest delay

  // The actions that the machine may take.
  /// A reply since the creation of its znode says that it is first.
  bool first_ = false;
  bool lease_was_valid_ = false;
  bool gave_up_ = false;
  /// The machine failed before it could learn whether its znode exists.
  bool fate_open_ = false;
  bool over_ = false;

  int creates_ = 0;
  Counts& counts_;
  std::string wrong_;
};

}  // namespace zklock::core::acquire_test
