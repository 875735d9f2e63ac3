// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {

/// The lock path is deleted and recreated, so the sequence numbers restart.
class SameNameTest : public PathLockTest {
 protected:
  explicit SameNameTest(bool announces = true)
      : PathLockTest(detail::ClientCore::kMostCreatesAtOnce, announces) {}

  /// Deletes the path, as ZooKeeper does with an empty container, or as an operator does. No event
  /// is delivered before the next run().
  void remove_path() {
    for (const auto& names : {lock_.nodes(), lock_.hold_markers()}) {
      for (const std::string& node : names) {
        ASSERT_EQ(ensemble().remove(child(node)), Status::ok);
      }
    }
    ASSERT_EQ(ensemble().remove(LockWorld::kPath), Status::ok);
  }
  void reconnect(std::size_t c) {
    lock_.world().reconnect(c);
    run();
  }
  /// The sequence numbers restart at 0.
  void SetUp() override {
    PathLockTest::SetUp();
    remove_path();
  }
};

}  // namespace zklock::model
