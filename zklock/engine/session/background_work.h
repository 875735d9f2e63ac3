// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "zklock/client/port/mutex.h"

namespace zklock::detail {

/// Work that continues after a call has returned. Examples are releases and withdrawals until the
/// ensemble has confirmed them, downgrades, and callbacks of a loss that wait for a thread.
///
/// A piece of work has one or more parts. A withdrawal, for example, first waits for the reply to
/// its create, and then deletes the znode. Both are parts of one piece: flush() blocks until the
/// znode is deleted. A part is in flight until end(). Between stall() and resume() it is stalled
/// instead.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. Part of its EngineContext.
class BackgroundWork {
 public:
  /// Identifies a piece. Each new piece has a higher id. 0: none.
  enum class Id : std::uint64_t {};

  /// Begins a part of the piece `of`, or of a new piece if `of` is 0. REQUIRES: `of` has not ended.
  Id begin(Id of = {});
  /// Ends a part that is in flight.
  void end(Id id) noexcept;
  /// Marks a part that cannot progress: no expected reply or timer will resume it.
  void stall(Id id) noexcept;
  /// Marks a stalled part as in flight again.
  void resume(Id id) noexcept;

  /// Returns the newest piece so far; 0 before the first.
  Id newest() const noexcept { return Id{last_}; }
  /// Returns whether no piece up to `last` has a part in flight.
  bool is_settled(Id last) const;
  /// Returns whether all pieces up to `last` have ended.
  bool has_ended(Id last) const;
  bool is_idle() const noexcept { return pieces_.empty(); }
  /// Returns the number of pieces that have not ended.
  std::size_t size() const noexcept { return pieces_.size(); }
  /// Returns what is notified when a part ends or stalls.
  client::Condition& changed() noexcept { return changed_; }

  /// Called when the session is closed. Ends all pieces. A piece that begins later ends at once.
  void close() noexcept;

 private:
  struct Piece {
    int in_flight = 0;
    int stalled = 0;
  };

  void move(Id id, int Piece::*from, int Piece::*to) noexcept;

  client::Condition changed_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
  std::map<std::uint64_t, Piece> pieces_;
};

}  // namespace zklock::detail
