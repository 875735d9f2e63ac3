// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "zklock/core/session.h"

namespace zklock::recipes {

/// The creates of one client at one path that were given up as never carried out: their reply was
/// lost, and no znode of theirs was found afterwards. If the ensemble carries out such a create all
/// the same, no contender claims the znode, and it would be in the way until the session ends. So a
/// znode of that session with one of these attempts in its data may be deleted.
///
/// A create without a reply is not among these until its contender has looked for the znode. An
/// attempt is never used again.
///
/// Thread-safety: within a Section of the engine, of which it is a part.
class LateCreates {
 public:
  /// Older ones are forgotten.
  static constexpr std::size_t most_attempts = 256;

  /// Without memory it is not added.
  void add(core::SessionId session, std::string attempt) noexcept {
    if (std::exchange(session_, session) != session) attempts_.clear();
    if (attempts_.size() == most_attempts) attempts_.pop_front();
    try {
      attempts_.push_back(std::move(attempt));
      ++added_;
    } catch (const std::exception&) {
    }
  }
  bool contains(core::SessionId session, std::string_view attempt) const {
    return session == session_ && std::ranges::find(attempts_, attempt) != attempts_.end();
  }
  /// Rises with each that is added; 0: none was.
  std::uint32_t added() const noexcept { return added_; }

 private:
  core::SessionId session_;
  std::deque<std::string> attempts_;
  std::uint32_t added_ = 0;
};

}  // namespace zklock::recipes
