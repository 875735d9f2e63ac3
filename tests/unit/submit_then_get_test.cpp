// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/port/submit_then_get.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/scripted_coordinator.h"

namespace zklock::client {
namespace {

/// Stores the requests, and replies when the test says so.
class Answerer final : public model::ScriptedCoordinator {
 public:
  RequestId submit(Request request, ReplyHandler handler) override {
    requests.push_back(std::move(request));
    handlers.push_back(std::move(handler));
    return RequestId{handlers.size()};
  }

  void answer(std::size_t i, Status status) {
    Reply reply;
    reply.status = status;
    answer(i, std::move(reply));
  }
  void answer(std::size_t i, Reply reply) { handlers.at(i)(std::move(reply)); }

  std::vector<Request> requests;
  std::vector<ReplyHandler> handlers;
};

using Received = std::vector<std::pair<Status, Status>>;

TEST(ThenGet, Submit_SendsTheGetSecondOnTheSameSession) {
  Answerer servers;
  const Instant since{std::chrono::seconds(5)};
  const auto ids = submit_then_get(
      servers, request::Check{"/a"}, "/b", SessionId{7}, [](const auto&...) {}, since);
  EXPECT_EQ(ids, std::pair(RequestId{1}, RequestId{2}));
  ASSERT_EQ(servers.requests.size(), 2U);
  EXPECT_EQ(std::get<request::Check>(servers.requests[0].operation).path, "/a");
  EXPECT_EQ(std::get<request::Get>(servers.requests[1].operation).path, "/b");
  for (const Request& request : servers.requests) {
    EXPECT_EQ(request.session, SessionId{7});
    EXPECT_EQ(request.wanted_since, since);
  }
}

// At the end of a client, one reply is the server's, and the other is the client's own.
TEST(ThenGet, RepliesFromTwoThreads_BothReportedOnce) {
  for (int round = 0; round < 500; ++round) {
    Answerer servers;
    Received received;
    submit_then_get(
        servers, request::Check{"/a"}, "/a", SessionId{7},
        [&received](const Reply& f, const Reply& n) { received.emplace_back(f.status, n.status); });
    std::thread other([&servers] { servers.answer(0, Status::no_node); });
    servers.answer(1, Status::closed);
    other.join();
    EXPECT_EQ(received, (Received{{Status::no_node, Status::closed}}));
  }
}

// ---- get_by_quorum() ---------------------------------------------------------------------------

/// A get_by_quorum() of a znode that the client may not read.
class GetByQuorumRefused : public ::testing::Test {
 protected:
  GetByQuorumRefused() {
    get_by_quorum(servers_, "/a/b", SessionId{7},
                  [this](Reply reply) { received_.push_back(std::move(reply)); });
    servers_.answer(0, Status::no_auth);
    servers_.answer(1, Status::no_auth);
    expect_exists(2, "/a/b");
  }
  void expect_exists(std::size_t i, const std::string& path) {
    ASSERT_EQ(servers_.requests.size(), i + 1);
    const auto* const exists = std::get_if<request::Exists>(&servers_.requests[i].operation);
    ASSERT_NE(exists, nullptr);
    EXPECT_EQ(exists->path, path);
    EXPECT_EQ(servers_.requests[i].session, SessionId{7});
    EXPECT_TRUE(received_.empty());
  }
  static Reply with_token(std::int64_t zxid) {
    Reply reply;
    reply.status = Status::ok;
    reply.token.zxid = zxid;
    return reply;
  }

  Answerer servers_;
  std::vector<Reply> received_;
};

TEST_F(GetByQuorumRefused, ExistsAnswered_StatIsPassed) {
  servers_.answer(2, with_token(5));
  ASSERT_EQ(received_.size(), 1U);
  EXPECT_EQ(received_[0].status, Status::ok);
  EXPECT_EQ(received_[0].token.zxid, 5);
  EXPECT_TRUE(received_[0].unreadable);
  EXPECT_FALSE(received_[0].is_without_stat());
}

TEST_F(GetByQuorumRefused, ExistsRefused_StatOfParentIsPassed) {
  servers_.answer(2, Status::no_auth);
  expect_exists(3, "/a");
  servers_.answer(3, with_token(4));
  ASSERT_EQ(received_.size(), 1U);
  EXPECT_EQ(received_[0].status, Status::ok);
  EXPECT_TRUE(received_[0].is_without_stat());
  ASSERT_TRUE(received_[0].parent);
  EXPECT_EQ(received_[0].parent->token.zxid, 4);
}

TEST_F(GetByQuorumRefused, ExistsOfParentFails_ItsReplyIsPassed) {
  servers_.answer(2, Status::no_auth);
  servers_.answer(3, Status::no_node);
  ASSERT_EQ(received_.size(), 1U);
  EXPECT_EQ(received_[0].status, Status::no_node);
}

}  // namespace
}  // namespace zklock::client
