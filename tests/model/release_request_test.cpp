// SPDX-License-Identifier: Apache-2.0
// Requests for a release, with ports that reply at once. Each step has the rest of the timeout.
#include "zklock/release_request.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/manual_time.h"
#include "tests/model/scripted_coordinator.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;

/// The contenders' znodes do not exist. Each reply takes some time.
class NobodyThere final : public ScriptedCoordinator {
 public:
  NobodyThere(ManualTime& time, core::Duration per_answer) : time_(time), per_answer_(per_answer) {}

  client::RequestId submit(client::Request request, client::ReplyHandler handler) override {
    const auto* const transaction = std::get_if<client::request::Transaction>(&request.operation);
    if (transaction != nullptr) requested_.push_back(transaction->guard);
    time_.pass(per_answer_);
    client::Reply reply;
    reply.status = core::Status::no_node;
    reply.failed_operation = 0;
    handler(reply);
    return client::RequestId{requested_.size()};
  }

  const std::vector<std::string>& requested() const noexcept { return requested_; }

 private:
  ManualTime& time_;
  const core::Duration per_answer_;
  std::vector<std::string> requested_;
};

class RequestRelease : public ::testing::Test {
 protected:
  RequestRelease() { client_ = make_client(servers_, time_); }
  bool request(std::optional<std::string> node, Deadline deadline) {
    return request_release(*client_, "/lock", {.node = std::move(node), .deadline = deadline});
  }

  const std::shared_ptr<ManualTime> time_ = std::make_shared<ManualTime>();
  const std::shared_ptr<NobodyThere> servers_ = std::make_shared<NobodyThere>(*time_, 1s);
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
