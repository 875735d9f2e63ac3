// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"
#include "zklock/core/session.h"

namespace zklock::recipes {

class LockEngine;

/// The creates of one client at one path that were given up as never carried out: their reply was
/// lost, and no znode of theirs was found afterwards. If the ensemble carries out such a create all
/// the same, no contender claims the znode, and it would be in the way until the session ends. So
/// the children are listed and read again, and a znode of that session with one of these attempts in
/// its data is deleted.
///
/// T: the session timeout. An attempt is looked for T/2 after it was added, or later, and T/2 after
/// that. Then it is forgotten. It is forgotten too when its session ends. A look whose reply is lost
/// is repeated. One look serves all attempts.
///
/// A create without a reply is not among these until its contender has looked for the znode. An
/// attempt is never used again.
///
/// Thread-safety: within a Section of the engine, of which it is a part.
class LateCreates {
 public:
  /// Older ones are forgotten.
  static constexpr std::size_t most_attempts = 256;

  explicit LateCreates(LockEngine& engine) : engine_(engine) {}
  LateCreates(const LateCreates&) = delete;
  LateCreates& operator=(const LateCreates&) = delete;

  /// Without memory it is not added.
  void add(core::SessionId session, std::string attempt) noexcept;

 private:
  struct Attempt {
    std::string id;
    int looks = 0;         ///< that were completed
    bool in_look = false;  ///< added before the look that is under way
  };
  template <class Step>
  auto of_this_session(Step step);
  bool goes_on(const client::Reply& reply);
  void look_later();
  void look();
  void listed(const client::Reply& reply);
  void inspect_next();
  void inspected(const client::Reply& reply);
  void looked();
  bool contains(std::string_view attempt) const;

  LockEngine& engine_;
  core::SessionId session_;
  std::deque<Attempt> attempts_;
  std::vector<std::string> candidates_;  ///< names; while looking
  bool is_looking_ = false;              ///< or is about to: a timer runs
};

}  // namespace zklock::recipes
