// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace zklock::core {

/// The states of one call that takes several locks, one by one. Each lock is a part.
///
/// | state          | input                   | condition                          | next       |
/// |----------------|-------------------------|------------------------------------|------------|
/// | idle           | start                   |                                    | requesting |
/// |                | stop                    |                                    | ended      |
/// | requesting     | on_part_answered        | too few parts left, may retry (1)  | requesting |
/// |                |                         | too few parts left                 | ended      |
/// |                |                         | enough held, late                  | granted    |
/// |                |                         | enough held, none untried          | granted    |
/// |                |                         | late                               | ended      |
/// |                |                         | otherwise: requests the next part  | requesting |
/// |                | on_part_timed_out, stop |                                    | cancelling |
/// |                | on_part_lost            | too few parts left                 | cancelling |
/// |                |                         | otherwise: releases the part       | requesting |
/// | cancelling     | on_part_answered        | after stop                         | ended      |
/// |                |                         | otherwise as in requesting         | requesting,|
/// |                |                         |                                    | granted,   |
/// |                |                         |                                    | ended      |
/// |                | on_part_lost            | releases the part                  | cancelling |
/// | granted, ended |                         |                                    | (final)    |
///
/// "Too few parts left": the parts held, requested and not yet tried are fewer than needed. "Late":
/// the deadline of the call has passed.
///
/// (1) The call begins again with the first part if Rule::wait is set, it is not late, and one of
/// two conditions holds. Either a part was lost and Rule::queue_again is set, or no part was lost
/// and enough parts may become reachable.
///
/// Before the call ends without a grant, or begins again, it releases all parts that it holds.
enum class CompositeState { idle, requesting, cancelling, granted, ended };

/// The reply of a part.
///
/// | reply       | meaning                                                                     |
/// |-------------|-----------------------------------------------------------------------------|
/// | granted     | the part is held now                                                        |
/// | none        | not held: its time ran out, other contenders hold it, or it was cancelled   |
/// | unreachable | not reachable now; that may change                                          |
/// | skipped     | not requested, because it was not reachable before                          |
/// | failed      | an error                                                                    |
enum class PartAnswer { granted, none, unreachable, skipped, failed };

/// A request or notification that the driver carries out.
struct CompositeEffect {
  enum class Kind {
    request,       ///< acquire `part`, until the call's deadline
    request_once,  ///< acquire `part` by a single attempt
    cancel,        ///< cancel the request to `part`; its reply follows
    release,       ///< release `part`, which is held or lost
    grant,         ///< enough parts are held
    end,           ///< no grant: late, busy or stopped
    fail_lost,     ///< `part` was lost; Rule::queue_again is false
    fail,          ///< too many parts failed or are unreachable
  };
  Kind kind;
  std::size_t part = 0;
  friend bool operator==(const CompositeEffect&, const CompositeEffect&) = default;
};

using CompositeEffects = std::vector<CompositeEffect>;

template <class Machine>
class InvariantCheck;

/// The rule by which one call takes `needed` of its parts. It requests them in their order, which
/// is equal for all calls. Pure: each input returns effects.
///
/// Why no two calls wait for each other: a call waits only for a part that comes after all parts
/// that it holds. Take a chain of calls, each of which waits for a part that the following call
/// holds. Along the chain, the parts that the calls wait for come later and later in the order, so
/// the chain is not a cycle. A call may have skipped an earlier part. It requests that part only
/// after it has released all its parts, so the order holds. A call does not wait for parts beyond
/// the needed ones.
///
/// If too few parts are reachable, a call that `persists` begins again until it is late. Without
/// `persists`, a call that skipped a part begins again once, because the part may be reachable now.
/// Until it begins again, the driver may answer for a part without a request. Afterwards,
/// requests_every_part() is true, and the driver requests every part.
///
/// The call tries all parts. Once enough are held, it tries the rest by single attempts. Parts held
/// beyond the needed number can be lost without harm.
///
/// Thread-safety: none. The driver calls it from one thread at a time, and carries out the effects
/// in order, before the next input.
class CompositeFsm {
 public:
  struct Rule {
    std::size_t parts = 1;
    std::size_t needed = 1;   ///< 1 to `parts`
    bool wait = true;         ///< false: a single attempt at each part
    bool queue_again = true;  ///< begin again after losses; false: fail_lost
    bool persists = false;    ///< begin again while too few are reachable
  };

  explicit CompositeFsm(Rule rule) : rule_(rule), standings_(rule.parts, Standing::untried) {}

  CompositeState state() const noexcept { return state_; }
  bool is_over() const noexcept {
    return state_ == CompositeState::granted || state_ == CompositeState::ended;
  }
  /// The part whose reply is outstanding.
  std::size_t requested_part() const noexcept { return requested_; }
  /// Returns true once the call has begun again because too few parts were reachable.
  bool requests_every_part() const noexcept { return requests_every_part_; }
  bool holds(std::size_t part) const { return standings_.at(part) == Standing::held; }

  CompositeEffects start();
  /// The reply of the part requested_part(). `late`: the deadline of the call has passed.
  CompositeEffects on_part_answered(PartAnswer answer, bool late);
  /// The part requested_part() has been unreachable for too long.
  CompositeEffects on_part_timed_out();
  /// The held `part` was lost. REQUIRES: the driver reports each known loss before it calls
  /// on_part_answered().
  CompositeEffects on_part_lost(std::size_t part);
  /// Ends the call: no grant follows.
  CompositeEffects stop();

 private:
  friend class InvariantCheck<CompositeFsm>;
  using Kind = CompositeEffect::Kind;
  enum class Standing { untried, requested, held, lost, busy, unreachable, skipped, failed };

  static bool can_follow(CompositeState before, CompositeState after) noexcept;
  void assert_invariants() const noexcept;
  CompositeEffects go_on(bool late);
  CompositeEffects too_few(bool late);
  CompositeEffects request_next();
  CompositeEffects start_again();
  bool may_become_reachable() const noexcept;
  CompositeEffects end(Kind kind, std::size_t part = 0);
  CompositeEffects release_all();
  std::size_t count(Standing standing) const noexcept;
  bool enough_possible() const noexcept;

  const Rule rule_;
  CompositeState state_ = CompositeState::idle;
  std::vector<Standing> standings_;
  std::size_t requested_ = 0;
  bool timed_out_ = false;  ///< on_part_timed_out() cancelled the request
  bool stopped_ = false;
  bool requests_every_part_ = false;
};

}  // namespace zklock::core
