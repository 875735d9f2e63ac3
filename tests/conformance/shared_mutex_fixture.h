// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <boost/chrono.hpp>
#include <boost/thread/lock_types.hpp>
#include <boost/thread/shared_lock_guard.hpp>
#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {

class SharedMutexTest : public LockTest {
 protected:
  static AcquireOptions with_new_owner() { return {.owner = Owner::unique()}; }

  const std::unique_ptr<Client> client_ = connect();
  SharedMutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect();
  SharedMutex others_mutex_{*other_, kPath};
};

}  // namespace zklock::testing
