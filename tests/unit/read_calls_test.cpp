// SPDX-License-Identifier: Apache-2.0
// Completions that only some servers send.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/client/zookeeper/call.h"

namespace zklock::client {
namespace {

constexpr RequestId kId{1};

/// A watch of /n that was sent.
class ReadCalls : public ::testing::Test {
 protected:
  static constexpr std::size_t kFirst = 0;
  static constexpr std::size_t kExists = 1;

  static std::shared_ptr<Call> call_of(Operation operation) {
    CallHeader header;
    header.id = kId;
    return make_call({}, std::move(operation), std::move(header));
  }
  /// Returns the reply that the completion of the sub-request makes complete.
  Reply complete(Operation operation, std::size_t sub_request, const Completion& completion) {
    const auto call = call_of(std::move(operation));
    EXPECT_TRUE(watches_.expect(kId, {"/n"}, [](SessionId, request::WatchEvent) {}));
    Reply reply;
    EXPECT_TRUE(call->complete(sub_request, completion, context(reply)));
    return reply;
  }
  CallContext context(Reply& reply) {
    return {nullptr, reply, pending_, watches_, nodes_, acl_, acl_, hosts_, {}, unused_watch_};
  }
  void expect_watched_by_checks(const Reply& reply) {
    EXPECT_EQ(reply.status, Status::ok);
    EXPECT_EQ(reply.detail, "");
    EXPECT_TRUE(reply.is_without_stat());
    EXPECT_TRUE(reply.unreadable);
    EXPECT_EQ(watches_.begin_presence_checks(), std::vector<std::string>{"/n"});
    EXPECT_EQ(watches_.cancel(kId), std::nullopt) << "the servers have no watch";
  }

  PendingRequests pending_;
  WatchRegistry watches_{100};
  NodeBudget nodes_{100};
  const Acl acl_{{{AclEntry::all, "world", "anyone"}}};
  const ConnectionString hosts_ = ConnectionString::parse("localhost:2181");
  std::optional<Watch> unused_watch_;
};

TEST_F(ReadCalls, ExistsRefusedAfterGet_ShowsThatZnodeExists) {
  expect_watched_by_checks(
      complete(request::GetAndWatch{"/n", {[](auto...) {}}}, kExists, {.code = ZNOAUTH}));
}

TEST_F(ReadCalls, ExistsRefused_ShowsThatZnodeExists) {
  expect_watched_by_checks(
      complete(request::ExistsAndWatch{"/n", {[](auto...) {}}}, kFirst, {.code = ZNOAUTH}));
}

TEST_F(ReadCalls, ExistsAfterGet_WatchRemainsAtServers) {
  Stat stat{};
  stat.czxid = 7;
  const Reply reply =
      complete(request::GetAndWatch{"/n", {[](auto...) {}}}, kExists, {.code = ZOK, .stat = &stat});
  EXPECT_TRUE(reply.unreadable);
  EXPECT_FALSE(reply.is_without_stat());
  EXPECT_EQ(reply.token.zxid, 7);
  EXPECT_EQ(watches_.begin_presence_checks(), std::vector<std::string>{"/n"});
  EXPECT_EQ(watches_.cancel(kId), (Watch{"/n"}));
}

TEST_F(ReadCalls, CountRefused_IsRefused) {
  const Reply reply = complete(request::CountChildren{"/n"}, kFirst, {.code = ZNOAUTH});
  EXPECT_EQ(reply.status, Status::no_auth);
  EXPECT_FALSE(reply.unreadable);
}

// The client has no permission to create a level, or to read the last.
TEST_F(ReadCalls, ExistsRefusedAfterCreates_PathExists) {
  for (const int code : {ZNOAUTH, ZNODEEXISTS}) {
    const auto call = call_of(request::CreateParents{"/m/n"});
    Reply reply;
    EXPECT_FALSE(call->complete(0, {.code = code}, context(reply)));
    EXPECT_FALSE(call->complete(1, {.code = ZNOAUTH}, context(reply)));
    EXPECT_TRUE(call->complete(2, {.code = ZNOAUTH}, context(reply)));
    EXPECT_EQ(reply.status, Status::ok) << code;
    EXPECT_EQ(reply.detail, "");
  }
}

TEST_F(ReadCalls, UnknownRequest_NamesTheNeededVersion) {
  const Reply reply = complete(request::CountChildren{"/n"}, kFirst, {.code = ZUNIMPLEMENTED});
  EXPECT_EQ(reply.status, Status::server_error);
  EXPECT_EQ(reply.detail, "the server is too old: zklock needs ZooKeeper 3.5.1 or later");
}

}  // namespace
}  // namespace zklock::client
