// SPDX-License-Identifier: Apache-2.0
// Requests that are submitted while memory runs out.
#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/raw_client.h"
#include "support/scarce_memory.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"

namespace zklock::client {
namespace {

using testing::at_every_allocation;
using testing::RawClient;
using testing::ScarceMemory;
using testing::SharedServer;
using testing::TestChroot;
using Kind = Event::Kind;

class ZkCoordinatorMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(probe_.call(rq::CreateParents{"/p"}).status, Status::ok);
    ASSERT_EQ(raw_.create("/old").rc, ZOK);
  }

  ClientOptions options() const {
    ClientOptions options = Probe::with(chroot_.hosts());
    options.max_node_bytes = (chroot_.path() + "/p/lock-0000000000").size();  // enough for one
    return options;
  }

  // Submits with memory for `memory` allocations. If that did not throw, waits for the reply.
  // Returns whether memory ran out.
  bool submit(std::size_t memory, Operation operation) {
    submitted_ = true;
    bool ran_out = false;
    {
      const ScarceMemory scarce(memory);
      try {
        (void)probe_.send(static_cast<int>(memory), std::move(operation));
      } catch (const std::bad_alloc&) {
        submitted_ = false;
      }
      ran_out = scarce.ran_out();
    }
    EXPECT_NE(submitted_, ran_out) << memory;
    if (submitted_) {
      EXPECT_TRUE(probe_.journal().wait(++replies_, Kind::reply)) << memory;
    }
    return ran_out;
  }

  std::size_t replies_that_are(Status status) {
    return probe_.journal().count([status](const Event& event) {
      return event.kind == Kind::reply && event.status == status;
    });
  }

  // Checks that a contender exists exactly if its request was submitted, and deletes it.
  void expect_a_contender(std::size_t memory) {
    const auto names = raw_.children("/p").names;
    EXPECT_EQ(names.size(), submitted_ ? 1U : 0U) << memory;
    for (const std::string& name : names) {
      EXPECT_EQ(probe_.call(rq::Delete{"/p/" + name}).status, Status::ok);
    }
  }

  const TestChroot chroot_{SharedServer::hosts()};
  RawClient raw_{chroot_.hosts()};
  Probe probe_{options()};
  bool submitted_ = false;
  std::size_t replies_ = 0;
};

TEST_F(ZkCoordinatorMemory, NoMemory_ContenderIsCreatedOnlyIfSubmitted) {
  const std::size_t failures = at_every_allocation([&](std::size_t memory) {
    const bool ran_out = submit(memory, rq::CreateContender{"/p", "lock-", "data"});
    expect_a_contender(memory);
    return ran_out;
  });
  EXPECT_GE(failures, 2U) << "the call, the path";
  EXPECT_EQ(replies_that_are(Status::ok), 1U) << "earlier attempts do not count against the cap";
}

TEST_F(ZkCoordinatorMemory, NoMemory_PathIsCreatedOnlyIfSubmitted) {
  const std::size_t failures = at_every_allocation([&](std::size_t memory) {
    const bool ran_out = submit(memory, rq::CreateContender{"/q", "lock-", "data", true, true});
    EXPECT_EQ(probe_.call(rq::Check{"/q"}).status, submitted_ ? Status::ok : Status::no_node)
        << memory;
    return ran_out;
  });
  EXPECT_GE(failures, 4U) << "the call, the paths, the count";
}

TEST_F(ZkCoordinatorMemory, NoMemory_TransactionIsExecutedOnlyIfSubmitted) {
  const std::size_t failures = at_every_allocation([&](std::size_t memory) {
    const bool ran_out = submit(
        memory,
        rq::Transaction{
            "/old",
            {rq::write::Set{"/old", std::to_string(memory)},
             rq::write::Create{
                 .path = "/p/lock-", .ephemeral = true, .contender = true, .sequential = true}}});
    const bool is_set = raw_.get_data("/old").data == std::to_string(memory);
    EXPECT_EQ(is_set, submitted_) << memory;
    expect_a_contender(memory);
    return ran_out;
  });
  EXPECT_GE(failures, 6U) << "the call, the reply, the operations, their results, the name";
  EXPECT_EQ(replies_that_are(Status::ok), 1U) << "earlier attempts do not count against the cap";
}

TEST_F(ZkCoordinatorMemory, NoMemoryForUnusablePath_IsRefusedOnlyIfSubmitted) {
  const std::size_t failures = at_every_allocation([&](std::size_t memory) {
    return submit(memory, rq::Transaction{"/old", {rq::write::Set{"/a//b", "2"}}});
  });
  EXPECT_GE(failures, 3U) << "the call, the reply, its task";
  EXPECT_EQ(probe_.journal().last(Kind::reply).status, Status::server_error);
  EXPECT_EQ(probe_.journal().last(Kind::reply).session, SessionId{}) << "it was not sent";
}

// The first levels may have been created by then.
TEST_F(ZkCoordinatorMemory, NoMemoryForParents_NoReplyFollows) {
  const std::size_t failures = at_every_allocation([&](std::size_t memory) {
    const bool ran_out = submit(memory, rq::CreateParents{"/n" + std::to_string(memory) + "/a/b"});
    EXPECT_EQ(probe_.call(rq::Check{"/"}).status, Status::ok);  // behind what was sent
    return ran_out;
  });
  EXPECT_GE(failures, 6U);
  EXPECT_EQ(probe_.journal().count(Kind::reply), 1U);
  EXPECT_EQ(probe_.journal().last(Kind::reply).status, Status::ok);
}

}  // namespace
}  // namespace zklock::client
