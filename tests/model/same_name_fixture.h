// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {

/// The lock path is deleted and recreated, so the sequence numbers restart.
class SameNameTest : public PathLockTest {
 protected:
  explicit SameNameTest(bool announces = true)
      : PathLockTest(detail::ClientCore::kMostCreatesAtOnce, announces) {}

  /// Returns a grant in the recreated path. The other clients receive no event meanwhile.
  std::size_t granted_in_later_path(std::size_t c, const LockWorld::Request& request = {}) {
    remove_path();
    const auto call = lock_.acquire(c, request);
    run_only(c, [&] { return is_granted(call); });
    return call;
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
