// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

namespace zklock::recipes {

class Place;

/// Limits how many places of one lock path have their create under way at a time. The other places
/// wait in a line, in the order of their numbers. A request takes several times the memory of its
/// place, and thousands of places can arrive in one burst.
///
/// A place that was let through may send its create, and may repeat it, until it has passed. It has
/// passed when it has its znode, has failed, or has an unknown outcome. If it has to create a znode
/// again later, it waits in the line again, ahead of all newer places.
///
/// Thread-safety: none. REQUIRES: within a Section of the engine, which owns this object.
class Turnstile {
 public:
  /// `at_once`: the limit, at least 1.
  explicit Turnstile(std::size_t at_once) : at_once_(at_once) {}
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;

  /// Calls place->let_through() now, or later when the limit permits it.
  void enter(const std::shared_ptr<Place>& place);
  /// Records that a place has passed, and lets waiting places through.
  void passed();
  /// Removes `place` from the line. Returns false if it is not in the line.
  bool withdraw(const Place& place);
  /// Empties the line: no waiting place is let through any more.
  void close() noexcept { line_.clear(); }

 private:
  using Line = std::deque<std::shared_ptr<Place>>;
  Line::iterator where(const Place& place);
  void let_through(Place& place);

  const std::size_t at_once_;
  std::size_t under_way_ = 0;
  /// Waiting places, by their numbers. Empty while fewer than at_once_ are under way.
  Line line_;
};

}  // namespace zklock::recipes
