// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/node_name.h"

namespace zklock::core {

/// What one contender wants: the rule by which a list of children is judged.
///
/// Contenders are served in the order of arrival. One may be granted when those before it that are
/// in its way weigh no more than there is room:
///
/// | access    | in its way: exclusive | shared | permits(k) | room                         |
/// |-----------|-----------------------|--------|------------|------------------------------|
/// | exclusive | 1                     | 1      | 1          | 0                            |
/// | shared    | 1                     | -      | 1          | 0                            |
/// | permits(k)| all                   | all    | k          | all permits less the own     |
///
/// Weighted access is another matter: it is the leave to queue for the lock, for which the others
/// wait at a gate. It goes to the first in the order of weight, as long as nobody has the lock or
/// queues for it; so `before` means, for a weighted contender: all that are not weighted, and the
/// weighted ones that precede() it. To the others the weighted are no contenders.
///
/// So classes that meet at one path exclude each other, whichever they are. All that stand before
/// count, waiting or holding: who wants much is not overtaken by those who want little.
///
/// How many permits there are is said by the first contender that wants some. Who says another
/// number is refused, and as long as its node is there it is in the way of those behind it: so
/// nobody else is refused on its account, and holders never count on different numbers.
struct QueueRule {
  Access access = Access::exclusive;
  bool beside_readers = false;  ///< of exclusive access: its node's name says so
  std::int32_t wanted = 1;      ///< permits
  std::int32_t all = 1;         ///< permits that there are
  std::int32_t of = 0;  ///< the number that all contenders must agree on; 0: see shares_count()
  std::int32_t weight = 0;
  std::int32_t ageing = 0;  ///< that all contenders must agree on; 0: none

  static QueueRule mutex() noexcept { return {}; }
  static QueueRule writer() noexcept { return {.beside_readers = true}; }
  static QueueRule reader() noexcept { return {.access = Access::shared}; }
  /// `shared`: `all` is only for who comes first, and says it to the others; see permit_count.h.
  static QueueRule permits(std::int32_t wanted, std::int32_t all, bool shared) noexcept;
  static QueueRule weighted(std::int32_t weight, std::int32_t ageing) noexcept;

  /// Of the own node's name.
  std::string prefix() const;
  bool is_mutex() const noexcept { return access == Access::exclusive && !beside_readers; }
  bool is_writer() const noexcept { return access == Access::exclusive && beside_readers; }
  /// How many permits there are is read from the servers, and may change while it waits.
  bool shares_count() const noexcept { return access == Access::permits && of == 0; }

  friend bool operator==(const QueueRule&, const QueueRule&) = default;
};

/// The order in which weighted contenders that agree on the ageing are served: the heavier first,
/// those of equal weight in the order of arrival; and nobody is overtaken for ever. For each unit
/// by which a later one is heavier it has `ageing` places of advance, a place being a number of the
/// parent's counter. At equality the earlier one goes first. So a contender of weight w is overtaken
/// only by those that arrive fewer than (heaviest - w) * ageing places after it. The order depends on
/// the names alone, not on time, so all contenders agree on it.
bool precedes(const Contention& a, const Contention& b) noexcept;

/// What a list of children says about one contender.
///
/// | verdict  | meaning                                                                   |
/// |----------|---------------------------------------------------------------------------|
/// | first    | nobody is in its way: it may be granted                                    |
/// | behind   | it waits until one of `watch` goes; while all are there it is not granted  |
/// | vanished | its own node is not in the list; never to be taken for a grant            |
/// | at_odds  | the first that wants the like counts on other settings: `rival`            |
struct Decision {
  enum class Verdict { first, behind, vanished, at_odds };
  Verdict verdict = Verdict::vanished;
  /// The nearest before it that suffice to be in its way, and none too many: one, or as many as
  /// permits at most. Empty when more is wanted than there is: only a change of that can help.
  std::vector<std::string> watch = {};
  /// The one to watch is exclusive: when it held, nobody else did, and so its release is a grant.
  bool follows_release = false;
  std::size_t position = 0;  ///< how many contenders stand before it
  std::int32_t rival = 0;
};

/// Pure. Children that are not contenders count for nothing.
Decision decide(std::span<const std::string> children, std::string_view own, const QueueRule& rule);

/// Who, of contenders that come in the order of arrival, may hold at the same time: nobody before
/// them is in their way. One object for one queue, asked from the front to the back.
class Holders {
 public:
  /// `all`: how many permits there are, where the names do not say.
  explicit Holders(std::int32_t all) : all_(all) {}
  bool next_holds(const Contention& next);

 private:
  std::int32_t all_;
  std::size_t exclusive_ = 0;
  std::size_t shared_ = 0;
  std::int64_t permits_ = 0;
  std::int32_t of_ = 0;  ///< what the first of those says
  bool at_odds_ = false;
};

/// The contenders among `children`, in the order in which they will be served as it stands now:
/// those who queue in the order of arrival, and behind them those at a gate as they precede() each
/// other.
std::vector<NodeName> contenders(std::span<const std::string> children);

/// Of all contenders in that order: those who may hold. `all_permits` as in Holders.
std::vector<NodeName> holders(std::span<const NodeName> queue, std::int32_t all_permits);

}  // namespace zklock::core
