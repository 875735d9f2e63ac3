// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

namespace zklock::recipes {

class Place;

/// Lets so many places of one lock path ask for their nodes at once, and the others in the order in
/// which they came. A request under way takes several times the memory of the place that it is for,
/// and thousands may come in one burst.
///
/// Who was let through has passed when it has its node, or that cannot be had, or is not known: till
/// then it may ask again at once. Who comes again after that goes before all who came later.
///
/// Thread-safety: within a Section of the engine, of which it is a part.
class Turnstile {
 public:
  /// `at_once`: at least 1.
  explicit Turnstile(std::size_t at_once) : at_once_(at_once) {}
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;

  /// It is let through now, or when it is its turn.
  void enter(const std::shared_ptr<Place>& place);
  /// One that was let through has passed.
  void passed();
  /// True: it stood in line, and does not any more.
  bool withdraw(const Place& place);
  /// Nobody is let through any more.
  void close() noexcept { line_.clear(); }

 private:
  using Line = std::deque<std::shared_ptr<Place>>;
  Line::iterator where(const Place& place);
  void let_through(Place& place);

  const std::size_t at_once_;
  std::size_t under_way_ = 0;
  /// By their numbers; empty while fewer are under way.
  Line line_;
};

}  // namespace zklock::recipes
