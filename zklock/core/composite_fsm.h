// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace zklock::core {

/// The states of one call that takes several locks, its parts, one after the other.
///
/// | state       | waits for        | event                       | next                   |
/// |-------------|------------------|-----------------------------|------------------------|
/// | idle        |                  | start()                     | asking, the first part |
/// |             |                  | stop()                      | ended                  |
/// | asking      | the part's reply | reply: too few parts left   | asking, the first part |
/// |             |                  |                             | (1); otherwise ended   |
/// |             |                  | reply: enough held; late or | granted                |
/// |             |                  | no part untried             |                        |
/// |             |                  | reply: late                 | ended                  |
/// |             |                  | reply, otherwise            | asking, the next part  |
/// |             |                  | silent(), stop()            | calling_off            |
/// |             |                  | lost(): too few parts left  | calling_off            |
/// | calling_off | the part's reply | reply, after stop()         | ended                  |
/// |             |                  | reply, otherwise            | as from asking         |
/// | granted     |                  |                             | (final)                |
/// | ended       |                  |                             | (final)                |
///
/// "Too few parts left": those held and those not yet tried are fewer than needed.
///
/// (1) Only if the call waits and is not late. Either a part was lost and Rule::queue_again is set;
/// or none was lost, and enough parts may become reachable.
///
/// Before the call ends without a grant, or begins again, it releases all parts that it holds.
enum class CompositeState { idle, asking, calling_off, granted, ended };

/// The reply of a part.
///
/// | reply        | meaning                                                                    |
/// |--------------|----------------------------------------------------------------------------|
/// | granted      | the part is held now                                                       |
/// | none         | not held: its time ran out, other contenders hold it, or it was called off |
/// | out_of_reach | not reachable now; that may change                                         |
/// | not_asked    | skipped, because it was not reachable before                               |
/// | failed       | an error                                                                   |
enum class PartAnswer { granted, none, out_of_reach, not_asked, failed };

/// A request or notification that the driver carries out.
struct CompositeEffect {
  enum class Kind {
    ask,        ///< acquire `part`, until the call's deadline
    ask_once,   ///< acquire `part` by a single attempt
    call_off,   ///< cancel the request to `part`; its reply follows
    drop,       ///< release `part`, which is held or lost
    grant,      ///< enough parts are held
    end,        ///< no grant: late, busy or stopped
    fail_lost,  ///< `part` was lost; Rule::queue_again is false
    fail,       ///< too many parts failed or are unreachable
  };
  Kind kind;
  std::size_t part = 0;
  friend bool operator==(const CompositeEffect&, const CompositeEffect&) = default;
};

using CompositeEffects = std::vector<CompositeEffect>;

/// The rule by which one call takes `needed` of its parts. It requests them one after the other, in
/// their order, which is equal for all calls. Pure: each input returns effects.
///
/// Why no two calls wait for each other: a call waits only for a part that comes after all parts
/// that it holds. Take a chain of calls, each of which waits for a part that the following call
/// holds. Along it, the awaited parts come later and later, so it cannot close to a circle. Parts
/// that a call has passed over do not matter: before it requests them again, it releases
/// everything. It does not wait for parts beyond the needed ones.
///
/// If too few parts are reachable, a call that `persists` begins again until it is late. A call
/// that skipped a part begins again once even without that, because the part may be reachable now.
/// From then on in_earnest() is true, and the driver requests every part.
///
/// The call tries all parts, by single attempts once enough are held. Parts held beyond the needed
/// number can be lost without harm.
///
/// Thread-safety: none. The driver calls it in turn. It carries out the effects in order, and
/// before the next input.
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
  bool over() const noexcept {
    return state_ == CompositeState::granted || state_ == CompositeState::ended;
  }
  /// The part whose reply is outstanding.
  std::size_t asked() const noexcept { return asked_; }
  /// Returns true once the call has begun again because too few parts were reachable.
  bool in_earnest() const noexcept { return in_earnest_; }
  bool holds(std::size_t part) const { return standings_.at(part) == Standing::taken; }

  CompositeEffects start();
  /// The reply of the part asked(). `late`: the deadline of the call has passed.
  CompositeEffects answered(PartAnswer answer, bool late);
  /// The part asked() has been unreachable for too long.
  CompositeEffects silent();
  /// The held `part` was lost. REQUIRES: called before the next answered().
  CompositeEffects lost(std::size_t part);
  /// Ends the call: no grant follows.
  CompositeEffects stop();

 private:
  using Kind = CompositeEffect::Kind;
  enum class Standing { untried, asked, taken, lost, busy, out_of_reach, not_asked, failed };

  CompositeEffects go_on(bool late);
  CompositeEffects too_few(bool late);
  CompositeEffects ask_next();
  CompositeEffects begin_anew();
  bool may_come_into_reach() const noexcept;
  CompositeEffects end(Kind kind, std::size_t part = 0);
  CompositeEffects drop_all();
  std::size_t count(Standing standing) const noexcept;
  bool enough_possible() const noexcept;

  const Rule rule_;
  CompositeState state_ = CompositeState::idle;
  std::vector<Standing> standings_;
  std::size_t asked_ = 0;
  bool passed_over_ = false;  ///< silent() has called the request off
  bool stopped_ = false;
  bool in_earnest_ = false;
};

}  // namespace zklock::core
