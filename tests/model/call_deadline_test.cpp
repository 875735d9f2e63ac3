// SPDX-License-Identifier: Apache-2.0
// Calls that consist of several requests, with ports that reply at once. Each request has the rest
// of the timeout.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/manual_time.h"
#include "tests/model/scripted_coordinator.h"
#include "zklock/release_request.h"
#include "zklock/semaphore.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;

/// No znode exists. Each reply takes a second.
class MissingZnodes final : public ScriptedCoordinator {
 public:
  explicit MissingZnodes(ManualTime& time) : time_(time) {}

  client::RequestId submit(client::Request request, client::ReplyHandler handler) override {
    const auto* const transaction = std::get_if<client::request::Transaction>(&request.operation);
    if (transaction != nullptr) requested_.push_back(transaction->guard);
    time_.pass(1s);
    client::Reply reply;
    reply.status = core::Status::no_node;
    reply.failed_operation = 0;
    handler(reply);
    return client::RequestId{++requests_};
  }

  /// Returns the znodes that were guards of transactions.
  const std::vector<std::string>& requested() const noexcept { return requested_; }

 private:
  ManualTime& time_;
  std::uint64_t requests_ = 0;
  std::vector<std::string> requested_;
};

// ---- queries of a semaphore ----------------------------------------------------------------------

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
      make_client(std::make_shared<MissingZnodes>(*time_), time_);
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

// ---- requests for a release ----------------------------------------------------------------------

class RequestRelease : public ::testing::Test {
 protected:
  RequestRelease() { client_ = make_client(servers_, time_); }
  bool request(std::optional<std::string> node, Deadline deadline) {
    return request_release(*client_, "/lock", {.node = std::move(node), .deadline = deadline});
  }

  const std::shared_ptr<ManualTime> time_ = std::make_shared<ManualTime>();
  const std::shared_ptr<MissingZnodes> servers_ = std::make_shared<MissingZnodes>(*time_);
  std::unique_ptr<Client> client_;
};

const std::string kWriter = "__WRIT__0000000003";
const std::vector<std::string> kBoth{"/lock/" + kWriter, "/lock/__READ__0000000003"};

TEST_F(RequestRelease, Writer_RequestCoversDowngradedName) {
  EXPECT_TRUE(request(kWriter, Deadline(time_->now() + 1min)));
  EXPECT_EQ(servers_->requested(), kBoth);
}

TEST_F(RequestRelease, OtherContender_RequestHasOneName) {
  EXPECT_TRUE(request("lock-0000000003", Deadline(time_->now() + 1min)));
  EXPECT_EQ(servers_->requested().size(), 1U);
}

TEST_F(RequestRelease, FormerWriter_RequestEndsAtDeadline) {
  const core::Instant deadline = time_->now() + 1s;
  EXPECT_FALSE(request(kWriter, Deadline(deadline))) << "the outcome of its downgrade is unknown";
  for (const core::Instant due : time_->due()) EXPECT_LE(due, deadline);
}

TEST_F(RequestRelease, DeadlinePassed_RequestsBothNamesOnce) {
  const core::Instant longest = time_->now() + 15s;
  EXPECT_TRUE(request(kWriter, Deadline::passed()));
  EXPECT_EQ(servers_->requested(), kBoth);
  for (const core::Instant due : time_->due()) EXPECT_LE(due, longest) << "for both of them";
}

TEST_F(RequestRelease, DeadlinePassesMeanwhile_RequestEndsAtDeadline) {
  const core::Instant deadline = time_->now() + 1s;
  time_->pass_after_next_reading(2s);
  EXPECT_FALSE(request(kWriter, Deadline(deadline)));
  for (const core::Instant due : time_->due()) EXPECT_LE(due, deadline);
}

TEST_F(RequestRelease, DeadlinePassesMeanwhile_QueryEndsAtDeadline) {
  const core::Instant deadline = time_->now() + 1s;
  time_->pass_after_next_reading(2s);
  EXPECT_FALSE(request(std::nullopt, Deadline(deadline)));
  for (const core::Instant due : time_->due()) EXPECT_LE(due, deadline);
}

}  // namespace
}  // namespace zklock::model
