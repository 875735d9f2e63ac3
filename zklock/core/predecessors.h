// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "zklock/core/acquire_messages.h"
#include "zklock/core/acquire_state.h"
#include "zklock/core/lazy.h"
#include "zklock/core/own_node.h"
#include "zklock/core/queue_rule.h"
#include "zklock/core/status.h"

namespace zklock::core {

/// The znodes whose events one contender waits for, and the watches on them: its predecessors, and
/// the shared permit count if there is one. Reading them shows whether the last list is outdated.
class Predecessors {
 public:
  /// The znodes, in the order of the requests.
  const boost::container::small_vector<std::string, 1>& nodes() const noexcept { return nodes_; }
  bool contain(std::string_view node) const noexcept;
  /// Number of contenders ahead in the last list; 0 if there is none, or if the predecessor was
  /// predicted and the position is unknown.
  std::size_t position() const noexcept { return position_; }
  /// Returns whether the announced release of the only znode is a grant.
  bool is_release_a_grant() const noexcept { return grant_by_release_ == GrantByRelease::yes; }
  /// Returns true once the contender has waited for an event.
  bool has_waited() const noexcept { return has_waited_; }

  /// Takes the znodes and the position of a decision.
  void set(Decision decision);
  void add_permit_count();
  /// The contender begins to create a new znode. Forgets the replies about the predecessors of the
  /// former one.
  void on_create() noexcept { rare_.reset(); }
  /// The children were listed, and the path is still the one in which its own znode was created.
  void on_listed();

  /// The requests to read and watch all znodes are sent.
  void begin_watching() noexcept;
  /// The reply to one of them. `permits`: the permit count as last read.
  void on_watched(std::string_view node, const WatchedAnswer& answer, const OwnNode& own,
                  std::int32_t permits);
  bool has_all_replies() const noexcept { return outstanding_watches_ == 0; }
  /// The first status that is neither ok nor no_node, and its detail. If there is none, it is ok,
  /// and is_list_outdated() shows a reply no_node.
  Status status() const noexcept { return status_; }
  const std::string& detail() const noexcept { return rare_->detail; }
  /// Returns whether a reply or an event shows that the last list is outdated.
  bool is_list_outdated() const noexcept { return is_list_outdated_; }
  void begin_waiting() noexcept { has_waited_ = true; }
  /// An event of a watch. Returns false if the watch is not one of the present ones.
  bool on_event(std::string_view node) noexcept;
  /// Forgets the watches. Returns whether the server still has one of them. The server does not
  /// keep a watch that failed or fired.
  bool drop_watches() noexcept;

  bool is_consistent_with(AcquireState state) const noexcept;

 private:
  /// Whether the release of the watched predecessor is a grant. if_announced: yes, if the data of
  /// the predecessor promise an announcement.
  enum class GrantByRelease : std::uint8_t { no, if_announced, yes };
  struct RareState {
    std::string detail = {};  ///< of the first failed reply
    /// Czxids of predecessors that entered the queue after its own znode, although their sequence
    /// number is lower. Either the path was recreated, or they were made by hand.
    std::vector<Zxid> newer = {};
    /// Those of them that were read before the last list. That list showed that the path was not
    /// recreated. So the contender waits for them as for all predecessors.
    std::vector<Zxid> confirmed_newer = {};
  };

  boost::container::small_vector<std::string, 1> nodes_;
  std::size_t position_ = 0;
  std::int32_t active_watches_ = 0;       ///< neither fired nor removed
  std::int32_t outstanding_watches_ = 0;  ///< requests without reply
  GrantByRelease grant_by_release_ = GrantByRelease::no;
  Status status_ = Status::ok;
  bool is_list_outdated_ = false;
  bool has_waited_ = false;
  Lazy<RareState> rare_;
};

}  // namespace zklock::core
