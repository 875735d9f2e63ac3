// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zklock::core {

/// How a count was taken, and so how it is given back: lock() by unlock(), a Hold by its release.
enum class CountKind { lock, hold };

/// One owner's standing on one path: whether it waits or holds, and how many times.
///
/// | state   | granted()  | lose()  | add(k)      | drop(k), more left | drop(k), the last | withdraw() |
/// |---------|------------|---------|-------------|--------------------|-------------------|------------|
/// | waiting | -> held    |   -     |   -         |   -                |   -               | -> over    |
/// | held    |   -        | -> lost | count + 1   | count - 1          | -> over           |   -        |
/// | lost    |   -        | lost    | refused     | count - 1          | -> over           |   -        |
/// | over    |   -        | over    | refused     | refused            | refused           |   -        |
///
/// "-" never happens. The counts are above zero exactly in `held` and `lost`, once the waiting
/// calls have got theirs.
///
/// Thread-safety: none; pure.
class Ownership {
 public:
  enum class State { waiting, held, lost, over };

  State state() const noexcept { return state_; }
  int count() const noexcept { return static_cast<int>(locks_ + holds_); }
  int count(CountKind kind) const noexcept { return static_cast<int>(of(kind)); }

  void granted() noexcept {
    if (state_ == State::waiting) state_ = State::held;
  }
  /// True if this call made it lost.
  bool lose() noexcept {
    if (state_ != State::held) return false;
    state_ = State::lost;
    return true;
  }
  void withdraw() noexcept {
    if (state_ == State::waiting) state_ = State::over;
  }
  bool add(CountKind kind) noexcept {
    if (state_ != State::held) return false;
    ++of(kind);
    return true;
  }

  enum class Dropped { refused, kept, last };
  Dropped drop(CountKind kind) noexcept {
    if (of(kind) == 0) return Dropped::refused;
    --of(kind);
    if (count() > 0) return Dropped::kept;
    state_ = State::over;
    return Dropped::last;
  }

 private:
  std::uint32_t& of(CountKind kind) noexcept { return kind == CountKind::lock ? locks_ : holds_; }
  std::uint32_t of(CountKind kind) const noexcept {
    return kind == CountKind::lock ? locks_ : holds_;
  }

  State state_ = State::waiting;
  std::uint32_t locks_ = 0;
  std::uint32_t holds_ = 0;
};

}  // namespace zklock::core
