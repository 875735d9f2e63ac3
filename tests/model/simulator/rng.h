// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "zklock/core/session.h"

namespace zklock::simulator {

using core::Duration;
using core::Instant;

/// Pseudorandom numbers that the seed determines.
///
/// Thread-safety: none.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) noexcept : state_(seed) {}

  /// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators".
  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// Returns 0 to n - 1.
  std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(next() % n); }
  bool one_in(std::size_t n) noexcept { return below(n) == 0; }
  int from_to(int least, int most) noexcept {
    return least + static_cast<int>(below(static_cast<std::size_t>(most - least) + 1));
  }
  Duration between(Duration least, Duration most) noexcept {
    const auto width = static_cast<std::uint64_t>((most - least).count());
    return least + Duration(static_cast<Duration::rep>(next() % (width + 1)));
  }
  template <class T>
  T one_of(std::initializer_list<T> all) noexcept {
    return all.begin()[below(all.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace zklock::simulator
