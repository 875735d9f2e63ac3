// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace zklock::core {

/// Where a call stands that gathers several locks, its parts, one after the other.
///
/// | state       | waits for          | event                       | next                          |
/// |-------------|--------------------|-----------------------------|-------------------------------|
/// | idle        |                    | start()                     | asking the first part         |
/// |             |                    | stop()                      | ended                         |
/// | asking      | the part's answer  | any; enough, none untried   | granted                       |
/// |             |                    | any; enough still possible  | asking the next part          |
/// |             |                    | any; enough not possible    | asking the first part, if a   |
/// |             |                    |                             | part was lost, or enough can  |
/// |             |                    |                             | come into reach; else ended   |
/// |             |                    | any; late                   | granted if enough, else ended |
/// |             |                    | silent(), stop()            | calling_off                   |
/// |             |                    | lost(): enough not possible | calling_off                   |
/// | calling_off | the part's answer, | any, after stop()           | ended                         |
/// |             | all the same       | any, otherwise              | as from asking                |
/// | granted     |                    |                             | (final)                       |
/// | ended       |                    |                             | (final)                       |
///
/// Whatever is not granted is dropped: what was taken is given back before it ends, or begins anew.
enum class GatheringState { idle, asking, calling_off, granted, ended };

/// How a part answered: it is held now; it is not (its time ran out, others hold it, the request
/// was called off); it is out of reach, which may pass; it was not asked, because it was out of reach
/// before; it failed.
enum class PartAnswer { granted, none, out_of_reach, not_asked, failed };

/// What the rule asks of its driver.
struct GatheringEffect {
  enum class Kind {
    ask,        ///< `part`, waiting until the deadline of the call
    ask_once,   ///< `part`, a single attempt
    call_off,   ///< the request to `part`, whose answer comes all the same
    drop,       ///< `part` is held, or was lost: give it back
    grant,      ///< enough is held
    end,        ///< without a grant: time has run out, others hold, or it was stopped
    fail_lost,  ///< `part` was lost while others were waited for, by policy an error
    fail,       ///< too many parts failed
  };
  Kind kind;
  std::size_t part = 0;
  friend bool operator==(const GatheringEffect&, const GatheringEffect&) = default;
};

using GatheringEffects = std::vector<GatheringEffect>;

/// The rule by which one call takes `needed` of several parts: one after the other in their order,
/// which is the same for everybody. Pure, one call in, effects out.
///
/// Why no two calls wait for each other: a call waits only for a part that comes after all it
/// holds. So along any chain of calls, each waiting for a part that the next one holds, the awaited
/// parts come later and later, and the chain cannot close. It does not matter which parts a call
/// has passed over, since it never goes back to one without having dropped everything. What it
/// asks for beyond the needed ones it does not wait for.
///
/// If too few parts are in reach, the call begins anew when it `persists`. A part that was not asked
/// is a reason to begin anew also without that: it may have come into reach. From then on the call is
/// in_earnest(): its driver asks every part, so this happens once.
///
/// All parts are tried, also when enough are held already (in a single attempt): what is held
/// beyond the needed can be lost without harm.
///
/// Thread-safety: none; its driver calls it in turn and carries out the effects, in order, before
/// the next call.
class Gathering {
 public:
  struct Rule {
    std::size_t parts = 1;
    std::size_t needed = 1;   ///< 1 to `parts`
    bool wait = true;         ///< false: a single attempt at each part
    bool queue_again = true;  ///< begin anew when too many taken parts were lost
    bool persists = false;    ///< begin anew, until it is late, when too few parts are in reach
  };

  explicit Gathering(Rule rule) : rule_(rule), standings_(rule.parts, Standing::untried) {}

  GatheringState state() const noexcept { return state_; }
  bool over() const noexcept {
    return state_ == GatheringState::granted || state_ == GatheringState::ended;
  }
  /// The part whose answer is awaited.
  std::size_t asked() const noexcept { return asked_; }
  /// Returns true once the call has begun anew because too few parts were in reach.
  bool in_earnest() const noexcept { return in_earnest_; }
  bool holds(std::size_t part) const { return standings_.at(part) == Standing::taken; }

  GatheringEffects start();
  /// The part asked() answers. `late`: the deadline of the call has passed.
  GatheringEffects answered(PartAnswer answer, bool late);
  /// The part asked() has been out of reach for too long.
  GatheringEffects silent();
  /// A part that is held was lost; to be told before the next answer.
  GatheringEffects lost(std::size_t part);
  /// The caller waits no longer: after this there is no grant.
  GatheringEffects stop();

 private:
  using Kind = GatheringEffect::Kind;
  enum class Standing { untried, asked, taken, lost, busy, out_of_reach, not_asked, failed };

  GatheringEffects go_on(bool late);
  GatheringEffects too_few(bool late);
  GatheringEffects ask_next();
  GatheringEffects begin_anew();
  bool may_come_into_reach() const noexcept;
  GatheringEffects end(Kind kind, std::size_t part = 0);
  GatheringEffects drop_all();
  std::size_t count(Standing standing) const noexcept;
  bool enough_possible() const noexcept;

  const Rule rule_;
  GatheringState state_ = GatheringState::idle;
  std::vector<Standing> standings_;
  std::size_t asked_ = 0;
  bool passed_over_ = false;  ///< the request was called off by silent()
  bool stopped_ = false;
  bool in_earnest_ = false;
};

}  // namespace zklock::core
