// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {

class PathLockSharedTest : public PathLockTest {
 protected:
  using Request = LockWorld::Request;

  static Request to_write(Owner owner = Owner::unique()) { return LockWorld::to_write(owner); }
  static Request to_read(Owner owner = Owner::unique()) { return LockWorld::to_read(owner); }
  static Request within(Request request, Duration timeout) {
    request.timeout = timeout;
    return request;
  }
  std::size_t requests() {
    std::size_t all = 0;
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) all += client(c).requests();
    return all;
  }
  std::size_t watches() {
    std::size_t all = 0;
    for (std::size_t c = 0; c < lock_.world().clients(); ++c) all += client(c).live_interests();
    return all;
  }
};

}  // namespace zklock::model
