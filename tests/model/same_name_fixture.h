// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {

/// The lock path is deleted and recreated, so the sequence numbers restart.
class SameNameTest : public PathLockTest {
 protected:
  explicit SameNameTest(bool announces = true)
      : PathLockTest(detail::ClientCore::kMostCreatesAtOnce, announces) {}

  static std::string path_of(const std::string& node) {
    return std::string(LockWorld::kPath) + "/" + node;
  }
  /// Deletes the path, as ZooKeeper does with an empty container, or as an operator does. No event
  /// is delivered before the next run().
  void remove_path() {
    for (const auto& names : {lock_.nodes(), lock_.hold_markers()}) {
      for (const std::string& node : names) {
        ASSERT_EQ(ensemble().remove(path_of(node)), Status::ok);
      }
    }
    ASSERT_EQ(ensemble().remove(LockWorld::kPath), Status::ok);
  }
  void reconnect(std::size_t c) {
    lock_.world().reconnect(c);
    run();
  }
  /// Runs the steps of one client until `done`, or until none is left.
  template <class Fact>
  void run_only(std::size_t c, Fact done) {
    while (!done()) {
      const auto steps = lock_.world().steps();
      const auto next = std::ranges::find_if(steps, [c](const Step& step) {
        return step.client == c && step.kind != Step::Kind::timer;
      });
      if (next == steps.end()) return;
      lock_.world().run(*next);
    }
  }
  void run_only(std::size_t c) {
    run_only(c, [] { return false; });
  }
  /// The sequence numbers restart at 0.
  void SetUp() override {
    PathLockTest::SetUp();
    remove_path();
  }
};

}  // namespace zklock::model
