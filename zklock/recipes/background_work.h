// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

#include "zklock/client/scheduler.h"
#include "zklock/deadline.h"

namespace zklock::recipes {

/// Releases and withdrawals that the ensemble has not confirmed yet.
///
/// A piece of work has one or more parts. A withdrawal, for example, first waits for the reply to its
/// create, and then deletes the znode. Both are parts of one piece: wait() blocks until the znode is
/// deleted. A part is under way until end(), or stalled between stall() and resume().
///
/// Thread-safety: all members, from any thread.
class BackgroundWork {
 public:
  /// Names a piece. Rises with every new piece. 0: none
  enum class Id : std::uint64_t {};

  /// Begins a part of the piece `of`, or of a new piece if `of` is 0. REQUIRES: `of` has not ended.
  Id begin(Id of = {});
  void end(Id id) noexcept;
  /// A part that is under way cannot go on for now: nothing that the client waits for changes that.
  void stall(Id id) noexcept;
  void resume(Id id) noexcept;
  /// The newest piece so far; 0 before the first.
  Id newest() const;
  /// Blocks until no piece up to `last` has a part under way. Returns false if `deadline` came first
  /// or a part is stalled.
  bool wait(Deadline deadline, Id last);
  bool wait(Deadline deadline) { return wait(deadline, newest()); }
  /// Returns true if all pieces have ended.
  bool idle() const;
  /// Ends all pieces, and every piece that begins later: their session is closed.
  void close() noexcept;

 private:
  struct Piece {
    int under_way = 0;
    int stalled = 0;
  };
  void move(Id id, int Piece::*from, int Piece::*to) noexcept;

  mutable std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable changed_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
  std::map<std::uint64_t, Piece> pieces_;
};

}  // namespace zklock::recipes
