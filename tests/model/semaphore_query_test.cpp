// SPDX-License-Identifier: Apache-2.0
// Queries of a semaphore that consist of several requests, with ports that reply at once.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/model/manual_time.h"
#include "tests/model/scripted_coordinator.h"
#include "zklock/semaphore.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;

/// The lock path does not exist. Each reply takes a second.
class EmptyServers final : public ScriptedCoordinator {
 public:
  explicit EmptyServers(ManualTime& time) : time_(time) {}

  client::RequestId submit(client::Request /*request*/, client::ReplyHandler handler) override {
    time_.pass(1s);
    client::Reply reply;
    reply.status = core::Status::no_node;
    handler(reply);
    return client::RequestId{++requests_};
  }

 private:
  ManualTime& time_;
  std::uint64_t requests_ = 0;
};

class SemaphoreQuery : public ::testing::Test {
 protected:
  /// Expects that no request has a later time limit than the query.
  template <class Query>
  void expect_ends_by_deadline(Query query) {
    const Deadline deadline(time_->now() + 1s);
    try {
      query(deadline);
      ADD_FAILURE() << "the second request began at the deadline";
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::not_connected);
    }
    EXPECT_EQ(time_->due().size(), 2U);
    for (const core::Instant due : time_->due()) EXPECT_LE(due, deadline.at());
  }

  const std::shared_ptr<ManualTime> time_ = std::make_shared<ManualTime>();
  const std::unique_ptr<Client> client_ =
      make_client(std::make_shared<EmptyServers>(*time_), time_);
  Semaphore semaphore_{*client_, "/lock", SharedCount{.initial = 3}};
};

// The first request reads the count, and the second lists the queue.
TEST_F(SemaphoreQuery, DeadlinePassesMeanwhile_AvailablePermitsEnds) {
  expect_ends_by_deadline(
      [&](Deadline deadline) { return semaphore_.available_permits(deadline); });
}

TEST_F(SemaphoreQuery, DeadlinePassesMeanwhile_ParticipantsEnds) {
  expect_ends_by_deadline([&](Deadline deadline) { return semaphore_.participants(deadline); });
}

TEST_F(SemaphoreQuery, DeadlineHasPassed_BothRequestsAreSent) {
  EXPECT_EQ(semaphore_.available_permits(Deadline::passed()), 3);
  EXPECT_EQ(time_->due().size(), 2U);
  for (const core::Instant due : time_->due()) EXPECT_GT(due, time_->now());
}

TEST_F(SemaphoreQuery, RequestAnswered_ItsTimerIsCancelled) {
  EXPECT_EQ(semaphore_.available_permits(Deadline::passed()), 3);
  EXPECT_EQ(time_->cancelled(), 2U);
}

}  // namespace
}  // namespace zklock::model
