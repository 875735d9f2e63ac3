// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

namespace zklock::recipes {

class Place;

/// Lets so many places of one lock path ask for their nodes at once, and the others in the order in
/// which they came. A request under way takes several times the memory of the place that it is for:
/// thousands may come in one burst, and there are never more of these than let the servers work
/// without a pause.
///
/// Thread-safety: within a Section of the engine, of which it is a part.
class Turnstile {
 public:
  /// `at_once`: at least 1.
  explicit Turnstile(std::size_t at_once) : at_once_(at_once) {}
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;

  /// It asks now, or when it is its turn; not if it has gone, or its machine has ended, by then.
  void enter(const std::shared_ptr<Place>& place);
  /// One has asked; it has its answer.
  void asked() noexcept { ++under_way_; }
  void answered();

 private:
  const std::size_t at_once_;
  std::size_t under_way_ = 0;
  /// Empty while fewer are under way. Their contenders keep them.
  std::deque<std::weak_ptr<Place>> line_;
};

}  // namespace zklock::recipes
