// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/session.h"
#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {

class PathLock;

/// The creates of one client at one path whose reply was lost and whose znode was not found
/// afterwards. If the ensemble executes such a create later, no contender claims the znode, and it
/// would block the queue until the session ends. So the children are listed and read again. A znode
/// of the session that sent these creates is deleted if its data name one of these attempts.
///
/// A look is one list of the children and the reads after it; it serves all attempts. Two looks
/// cover an attempt. The first begins T/2 or more after the attempt was added, the second T/2 after
/// the first (T: the session timeout). Then the attempt is forgotten. It is also forgotten when its
/// session ends. If a reply of a look is lost, the look is repeated.
///
/// An attempt is added only after its contender has searched for the znode. Its id is never used
/// for another create.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. The path lock owns this object.
class LateCreates {
 public:
  /// The limit. Beyond it, the oldest attempts are forgotten.
  static constexpr std::size_t kMostAttempts = 256;

  explicit LateCreates(PathLock& path) : path_(path) {}
  LateCreates(const LateCreates&) = delete;
  LateCreates& operator=(const LateCreates&) = delete;

  void add(core::SessionId session, std::string attempt);

 private:
  struct Attempt {
    std::string id;
    int looks = 0;         ///< completed looks
    bool in_look = false;  ///< added before the look was scheduled
  };
  /// Returns a callback that does nothing after the end of the session. It retains the path lock,
  /// which may have no public object and no contender any more.
  template <class Next>
  auto of_this_session(Next next);
  using Step = void (LateCreates::*)(const client::Reply&);
  /// Sends a request of a look. Calls `step` with its reply, if the look goes on.
  void submit(client::Operation operation, Step step);
  bool goes_on(const client::Reply& reply);
  void look_later();
  void look();
  void listed(const client::Reply& reply);
  void inspect_next();
  void inspected(const client::Reply& reply);
  void looked();
  bool contains(std::string_view attempt) const;

  PathLock& path_;
  core::SessionId session_;
  Epoch epoch_;  ///< of the session
  std::deque<Attempt> attempts_;
  std::vector<std::string> candidates_;  ///< names of znodes still to be read
  bool is_looking_ = false;              ///< a look is in flight or scheduled
};

}  // namespace zklock::detail
