// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/core/znode_name.h"

namespace zklock::core {

/// The hold marker of a contender that holds for long: an ephemeral child of the lock path. Its
/// name has the time of the grant. Observers read it from a list of the children. No contender
/// reads it, so it has no effect on any grant.
///
/// The lock znode itself cannot show that time: a contender would take a write to it for an
/// announced release.
///
/// Name: "held-<milliseconds since 1970>-<sequence number>". The time is by the clock of the
/// ensemble's leader. The sequence number is that of the contender's znode. The name is not a
/// contender's. Curator sorts it behind all contenders, so it blocks none.
struct HoldMarker {
  std::int64_t since_ms = 0;
  Sequence owner_sequence = {};

  std::string name() const;
  /// Returns std::nullopt for every name that name() does not return, and for a negative time.
  static std::optional<HoldMarker> parse(std::string_view name);
  friend bool operator==(const HoldMarker&, const HoldMarker&) = default;
};

/// Returns the age from which a hold is marked: half of `timeout`, at most 5 s. So short holds cost
/// nothing. A marker is one write in a time in which the client sends several heartbeats anyway.
constexpr Duration hold_marker_age(Duration timeout) noexcept {
  return std::min<Duration>(timeout / 2, std::chrono::seconds(5));
}

/// Whether the hold marker of one lock znode exists.
///
/// | state              | input      | status, condition                    | next     |
/// |--------------------|------------|--------------------------------------|----------|
/// | none               | on_tick    | the hold is old enough               | sending  |
/// | sending            | on_created | ok / node_exists                     | present  |
/// |                    |            | unknown / session_ended / closed /   | possible |
/// |                    |            | auth_failed                          |          |
/// |                    |            | throttled / not_sent / not_connected | none     |
/// |                    |            | any other                            | refused  |
/// | none, sending,     | on_release |                                      | ended    |
/// | present, possible, |            |                                      |          |
/// | refused            |            |                                      |          |
/// | ended              |            |                                      | (final)  |
///
/// | state                | the release deletes the marker                                       |
/// |----------------------|----------------------------------------------------------------------|
/// | none, refused, ended | no                                                                   |
/// | sending, possible    | after the lock znode: a transaction with it would fail if the marker |
/// |                      | does not exist                                                       |
/// | present              | with the lock znode, in one transaction                              |
///
/// The create's transaction checks the lock znode. So after the delete of the lock znode the marker
/// is not created any more.
///
/// Thread-safety: none; pure.
class HoldMarkerState {
 public:
  enum class State : std::uint8_t { none, sending, present, possible, refused, ended };
  enum class Removal : std::uint8_t { none, with_node, after_node };

  /// Returns whether the caller must create the marker now. `timeout`: of the session.
  [[nodiscard]] bool on_tick(Duration held_for, Duration timeout) noexcept;
  /// The reply to the create.
  void on_created(Status status) noexcept;
  /// The lock znode is being deleted. Returns how the caller must delete the marker.
  [[nodiscard]] Removal on_release() noexcept;

  State state() const noexcept { return state_; }
  /// Returns whether the release has to delete the marker.
  bool may_exist() const noexcept { return removal() != Removal::none; }

 private:
  Removal removal() const noexcept;

  State state_ = State::none;
};

}  // namespace zklock::core
