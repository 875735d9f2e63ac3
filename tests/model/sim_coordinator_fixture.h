// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "tests/model/recorder.h"
#include "zklock/testing/simulation/sim_coordinator.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {

class SimCoordinatorTest : public ::testing::Test {
 protected:
  SimCoordinatorTest() { world.ensemble().create_container("/p"); }
  SimCoordinator& coordinator() { return world.client(0); }

  World world{2};
  Recorder client{world, 0};
  Recorder other{world, 1};
};

}  // namespace zklock::model
