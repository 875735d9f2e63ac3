// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/ownership.h"
#include "zklock/core/znode_name.h"

namespace zklock::core {

/// The rule of one contender. decide() applies it to a list of children, and says whether the
/// contender is first.
///
/// Contenders are served in the order of arrival. Each contender ahead has a load for this one.
/// This one is first if the sum of the loads is at most its room:
///
/// | own access | load of exclusive   | of shared | of permits(k) | room                     |
/// |------------|---------------------|-----------|---------------|--------------------------|
/// | exclusive  | 1                   | 1         | 1             | 0                        |
/// | shared     | 1                   | 0         | 1             | 0                        |
/// | permits(n) | infinite            | infinite  | k (1)         | total of the permits - n |
/// | weighted   | 1                   | 1         | 1             | 0                        |
///
/// (1) Infinite if its name has another total.
///
/// So all classes that meet at one path exclude each other. All contenders that are ahead count,
/// whether they wait or hold. So a request for many permits is not overtaken by requests for few.
///
/// A weighted contender does not wait for the lock, but for permission to queue for it. It waits at
/// the gate: its znode is a child of the lock path, with a name of its own kind. The contender that
/// is first at the gate gets the permission, but only while the queue is empty. So ahead of a
/// weighted contender are all contenders in the queue, and the weighted contenders that precede it
/// (see precedes()). Each has a load of 1. Contenders in the queue ignore the weighted ones.
///
/// The first contender that requests permits sets their total. A later contender with another total
/// is refused (mismatch). Contenders behind the refused one are not refused, because they compare
/// their total only with that of the first. But they wait until the znode of the refused one is
/// deleted (1). So all holders have one total.
struct QueueRule {
  Access access = Access::exclusive;
  bool is_write_lock = false;    ///< a writer; its znode's name says so
  std::int32_t wanted = 1;       ///< permits that it requests
  std::int32_t total = 1;        ///< total of the permits, as known now
  std::int32_t named_total = 0;  ///< total in the znode's name; 0: none
  std::int32_t weight = 0;       ///< see precedes()
  std::int32_t ageing = 0;       ///< agreed by all contenders; 0: none

  static QueueRule mutex() noexcept { return {}; }
  static QueueRule writer() noexcept { return {.is_write_lock = true}; }
  static QueueRule reader() noexcept { return {.access = Access::shared}; }
  /// `shared`: `total` is only the initial value of the shared permit count; see
  /// child_nodes.h.
  static QueueRule permits(std::int32_t wanted, std::int32_t total, bool shared) noexcept;
  static QueueRule weighted(std::int32_t weight, std::int32_t ageing) noexcept;

  /// Returns the name of this contender's znode without the sequence number.
  std::string prefix() const;
  bool is_mutex() const noexcept { return access == Access::exclusive && !is_write_lock; }
  bool is_writer() const noexcept { return access == Access::exclusive && is_write_lock; }
  /// Returns the kind of the count that this contender gets for a `lock` or a `hold`.
  CountKind count_kind(CountKind kind) const noexcept {
    return access == Access::shared ? as_shared(kind) : kind;
  }
  /// Returns whether the total is read from the ensemble. It may change while the contender waits.
  bool shares_count() const noexcept { return access == Access::permits && named_total == 0; }
  /// Returns whether both rules request the same access, and as many permits of the same count.
  bool requests_as(const QueueRule& other) const noexcept {
    return access == other.access && wanted == other.wanted && named_total == other.named_total;
  }

  friend bool operator==(const QueueRule&, const QueueRule&) = default;
};

/// Returns whether `a` is served before `b`, both weighted. Contenders of equal weight are served
/// in the order of arrival. With an ageing of 0, heavier contenders are served first.
///
/// With an ageing, a contender that is n units heavier overtakes only those that arrived fewer than
/// n * ageing sequence numbers earlier. So only a limited number of contenders can overtake
/// another. The order depends only on the names, so all contenders agree on it.
bool precedes(const ParsedZnodeName& a, const ParsedZnodeName& b) noexcept;

/// The result of judging a list of children for one contender.
///
/// | verdict  | meaning                                                                     |
/// |----------|-----------------------------------------------------------------------------|
/// | first    | no contender ahead blocks it: it may be granted                             |
/// | behind   | blocked until one of `watch` is deleted; if it is empty, until the permit   |
/// |          | count changes                                                               |
/// | vanished | its own znode is not in the list; never a grant                             |
/// | mismatch | the first contender of the same access has another total of permits, or     |
/// |          | another ageing                                                              |
struct Decision {
  enum class Verdict { first, behind, vanished, mismatch };
  Verdict verdict = Verdict::vanished;
  /// The fewest nearest contenders ahead whose loads together exceed the room. Before one of them
  /// is deleted, this contender cannot be first. With permits there are at most `total` of them,
  /// otherwise one. Empty if the contender requests more permits than exist: then only another
  /// permit count can help.
  std::vector<std::string> watch = {};
  /// Whether the announced release of the watched contender is a grant. That is so if the watched
  /// contender is exclusive, and this one exclusive or shared. Why: while it held, all contenders
  /// ahead of it had ended, and none between it and this contender blocks.
  bool grant_by_release = false;
  std::size_t position = 0;        ///< number of contenders ahead
  std::int32_t other_setting = 0;  ///< with mismatch: the other setting
};

/// Returns the decision for the contender `own`. Pure. Children that are not contenders are
/// ignored.
Decision decide(std::span<const std::string> children, std::string_view own, const QueueRule& rule);

/// Finds the contenders of one queue that may hold at the same time: those that no contender ahead
/// blocks. Weighted contenders never hold.
///
/// REQUIRES: add() is called for all contenders of one queue, in the order of contenders().
class Holders {
 public:
  /// `total_permits`: the total of the permits, if the names do not say it.
  explicit Holders(std::int32_t total_permits) : total_permits_(total_permits) {}
  /// Adds the contender `next`, behind those of the earlier calls. Returns whether it may hold.
  bool add(const ParsedZnodeName& next);

 private:
  std::int32_t total_permits_;
  std::size_t exclusive_ = 0;
  std::size_t shared_ = 0;
  std::int64_t permits_ = 0;
  std::int32_t agreed_total_ = 0;  ///< total in the first name with permits
  bool mismatched_ = false;
};

/// Returns the contenders among `children`, in the order in which they would be served now. The
/// contenders in the queue come first, in the order of arrival. Those at the gate follow, in the
/// order of precedes().
std::vector<ZnodeName> contenders(std::span<const std::string> children);

/// Returns those contenders that may hold. `queue`: all contenders, as contenders() orders them.
/// `total_permits`: as in Holders.
std::vector<ZnodeName> holders(std::span<const ZnodeName> queue, std::int32_t total_permits);

}  // namespace zklock::core
