// SPDX-License-Identifier: Apache-2.0
// A request that is submitted while memory runs out.
#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/scarce_memory.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"

namespace zklock::client {
namespace {

using testing::ScarceMemory;
using testing::SharedServer;
using testing::TestChroot;

TEST(ZkCoordinatorMemory, NoMemoryToSubmit_ProcessTerminates) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe(Probe::with(chroot.hosts()));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const auto submit = [&](std::size_t memory) {
    rq::CreateContender create{"/p", "lock-", "data"};
    const ScarceMemory scarce(memory);
    (void)probe.send(1, std::move(create));
  };
  for (const std::size_t memory : {0U, 1U}) EXPECT_DEATH(submit(memory), "bad_alloc") << memory;
}

}  // namespace
}  // namespace zklock::client
