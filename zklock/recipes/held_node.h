// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace zklock::recipes {

/// What the node of a hold is called: its full path. That may change once, at a downgrade.
///
/// | state   | path()                      | event     | next    |
/// |---------|-----------------------------|-----------|---------|
/// | settled | what it is called           | moves()   | moving  |
/// | moving  | what it was called, and may | settles() | settled |
/// |         | still be                    |           |         |
///
/// Thread-safety: all members, from any thread.
class HeldNode {
 public:
  using Then = std::function<void()>;

  explicit HeldNode(std::string path) : path_(std::move(path)) {}

  std::string path() const;
  /// Calls `then` once, when it is settled: before it returns, or later, with no lock held, on a
  /// thread that must not be kept.
  void when_settled(Then then);

  void moves();
  /// To be called by the caller, with no lock held: those who wait for it.
  [[nodiscard]] std::vector<Then> settles(std::string path);

 private:
  mutable std::mutex mutex_;
  // guarded by mutex_
  std::string path_;
  bool moving_ = false;
  std::vector<Then> waiting_;
};

}  // namespace zklock::recipes
