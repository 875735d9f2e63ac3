// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "conformance/lock_test.h"

namespace zklock::testing {

// A fixture with a mutex whose lock another client can take.
class BlockableTest : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
  // The other client holds the lock from block() to unblock().
  const std::unique_ptr<Client> other_ = connect();
  ReentrantMutex others_mutex_{*other_, kPath};
  Hold others_hold_;
  void block() { others_hold_ = others_mutex_.acquire(); }
  void unblock() { others_hold_.release(); }

  // Waits until the path has one child: the znode of the other client's hold.
  bool only_the_holder_is_left() {
    return eventually(
        [this] {
          const auto left = nodes();
          return left.size() == 1 && kPath + "/" + left.front() == others_hold_.node();
        },
        kTestTimeout);
  }
};

}  // namespace zklock::testing
