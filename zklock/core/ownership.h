// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <numeric>

namespace zklock::detail {

/// The kind of one count of an owner. A count is released by the call that belongs to its kind:
/// lock() by unlock(), lock_shared() by unlock_shared(), and a Hold by release().
enum class CountKind { lock, hold, shared_lock, shared_hold };

}  // namespace zklock::detail

namespace zklock::core {

using detail::CountKind;  // the public class Hold has one
inline constexpr std::size_t kCountKinds = 4;

constexpr bool is_shared(CountKind kind) noexcept {
  return kind == CountKind::shared_lock || kind == CountKind::shared_hold;
}

/// Returns `kind` for shared access. REQUIRES: it is `lock` or `hold`.
constexpr CountKind as_shared(CountKind kind) noexcept {
  return kind == CountKind::lock ? CountKind::shared_lock : CountKind::shared_hold;
}

/// The state of one owner on one path: whether it waits or holds, and how many times it holds.
///
/// | state   | on_granted() | lose()  | add(k)    | drop(k), more | drop(k), last | withdraw() |
/// |---------|--------------|---------|-----------|---------------|---------------|------------|
/// | waiting | -> held      | -       | -         | refused       | refused       | -> over    |
/// | held    | -            | -> lost | count + 1 | count - 1     | -> over       | held       |
/// | lost    | -            | lost    | refused   | count - 1     | -> over       | lost       |
/// | over    | -            | over    | refused   | refused       | refused       | over       |
///
/// "-": never happens. An unlock by an owner that waits is refused. The close of a client calls
/// withdraw() in every state. After the grant, each call that waited for it adds its count. From
/// then on, count() is above 0 in held and lost. It is always 0 in waiting and over.
///
/// Thread-safety: none; pure.
class Ownership {
 public:
  enum class State { waiting, held, lost, over };

  State state() const noexcept { return state_; }
  int count() const noexcept { return std::accumulate(counts_.begin(), counts_.end(), 0); }
  int count(CountKind kind) const noexcept { return counts_[static_cast<std::size_t>(kind)]; }
  /// Returns the number of counts that exclude all other contenders.
  int exclusive_count() const noexcept { return count(CountKind::lock) + count(CountKind::hold); }

  void on_granted() noexcept {
    assert(state_ == State::waiting && count() == 0);
    if (state_ == State::waiting) state_ = State::held;
  }
  /// Returns true if this call changed held to lost.
  bool lose() noexcept {
    assert(state_ != State::waiting);
    if (state_ != State::held) return false;
    state_ = State::lost;
    return true;
  }
  void withdraw() noexcept {
    if (state_ == State::waiting) state_ = State::over;
  }
  bool add(CountKind kind) noexcept {
    assert(state_ != State::waiting);
    if (state_ != State::held) return false;
    ++of(kind);
    return true;
  }

  enum class Dropped { refused, retained, last };
  Dropped drop(CountKind kind) noexcept {
    if (of(kind) == 0) return Dropped::refused;
    assert(of(kind) > 0 && (state_ == State::held || state_ == State::lost));
    --of(kind);
    if (count() > 0) return Dropped::retained;
    state_ = State::over;
    return Dropped::last;
  }

 private:
  int& of(CountKind kind) noexcept { return counts_[static_cast<std::size_t>(kind)]; }

  State state_ = State::waiting;
  std::array<int, kCountKinds> counts_{};
};

}  // namespace zklock::core
