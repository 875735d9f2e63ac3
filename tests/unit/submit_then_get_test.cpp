// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/port/submit_then_get.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::client {
namespace {

/// Stores the requests, and replies when the test says so.
class Answerer final : public Coordinator {
 public:
  RequestId submit(Request request, ReplyHandler handler) override {
    requests.push_back(std::move(request));
    handlers.push_back(std::move(handler));
    return RequestId{handlers.size()};
  }
  void start(SessionObserver& /*observer*/) override {}
  void post(std::function<void()> task) override { task(); }
  bool cancel_unsent(RequestId /*request*/) noexcept override { return false; }
  void unwatch(RequestId /*request*/) noexcept override {}
  void close() override {}
  std::string connection_problem() const override { return {}; }

  void answer(std::size_t i, Status status) {
    Reply reply;
    reply.status = status;
    handlers.at(i)(std::move(reply));
  }

  std::vector<Request> requests;
  std::vector<ReplyHandler> handlers;
};

using Received = std::vector<std::pair<Status, Status>>;

Received received_when_answered(std::size_t earlier, Status first, Status node) {
  Answerer servers;
  Received received;
  submit_then_get(
      servers, request::Check{"/a"}, "/a", SessionId{7},
      [&received](const Reply& f, const Reply& n) { received.emplace_back(f.status, n.status); });
  for (const std::size_t i : {earlier, 1 - earlier}) {
    EXPECT_TRUE(received.empty()) << "one of the two has not come";
    servers.answer(i, i == 0 ? first : node);
  }
  return received;
}

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

TEST(ThenGet, RepliesInAnyOrder_BothReportedOnce) {
  const Received both{{Status::no_node, Status::closed}};
  EXPECT_EQ(received_when_answered(0, Status::no_node, Status::closed), both);
  EXPECT_EQ(received_when_answered(1, Status::no_node, Status::closed), both);
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

}  // namespace
}  // namespace zklock::client
