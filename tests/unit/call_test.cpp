// SPDX-License-Identifier: Apache-2.0
// Completions that only some servers send, or that a race makes.
#include "zklock/client/zookeeper/call.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::client {
namespace {

/// Makes the context that a call gets from its coordinator.
class CallTest : public ::testing::Test {
 protected:
  CallContext context(zhandle_t* handle = nullptr) {
    return {handle, reply_, pending_, watches_, nodes_, acl_, acl_, hosts_, {}, unused_watch_};
  }

  Reply reply_;
  PendingRequests pending_;
  WatchRegistry watches_{1'000};
  NodeBudget nodes_{1'000};
  const Acl acl_{{{AclEntry::all, "world", "anyone"}}};
  const ConnectionString hosts_ = ConnectionString::parse("127.0.0.1:1");
  std::optional<Watch> unused_watch_;
};

// ---- reads ---------------------------------------------------------------------------------------

constexpr RequestId kId{1};

/// A watch of /n that was sent.
class ReadCalls : public CallTest {
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
    EXPECT_TRUE(call->complete(sub_request, completion, context()));
    return reply_;
  }
  void expect_watched_by_checks(const Reply& reply) {
    EXPECT_EQ(reply.status, Status::ok);
    EXPECT_EQ(reply.detail, "");
    EXPECT_TRUE(reply.is_without_stat());
    EXPECT_TRUE(reply.unreadable);
    EXPECT_EQ(watches_.begin_presence_checks(), std::vector<std::string>{"/n"});
    EXPECT_EQ(watches_.cancel(kId), std::nullopt) << "the servers have no watch";
  }
};

TEST_F(ReadCalls, ExistsRefusedAfterGet_ShowsThatZnodeExists) {
  expect_watched_by_checks(
      complete(request::GetAndWatch{"/n", {[](auto...) {}}}, kExists, {.code = ZNOAUTH}));
}

TEST_F(ReadCalls, ExistsRefused_ShowsThatZnodeExists) {
  expect_watched_by_checks(
      complete(request::ExistsAndWatch{"/n", {[](auto...) {}}}, kFirst, {.code = ZNOAUTH}));
}

TEST_F(ReadCalls, CountRefused_IsRefused) {
  const Reply reply = complete(request::Exists{"/n"}, kFirst, {.code = ZNOAUTH});
  EXPECT_EQ(reply.status, Status::no_auth);
  EXPECT_FALSE(reply.unreadable);
}

// The client has no permission to create a level, or to read the last.
TEST_F(ReadCalls, ExistsRefusedAfterCreates_PathExists) {
  for (const int code : {ZNOAUTH, ZNODEEXISTS}) {
    const auto call = call_of(request::CreateParents{"/m/n"});
    reply_ = {};
    EXPECT_FALSE(call->complete(0, {.code = code}, context()));
    EXPECT_FALSE(call->complete(1, {.code = ZNOAUTH}, context()));
    EXPECT_TRUE(call->complete(2, {.code = ZNOAUTH}, context()));
    EXPECT_EQ(reply_.status, Status::ok) << code;
    EXPECT_EQ(reply_.detail, "");
  }
}

TEST_F(ReadCalls, UnknownRequest_NamesTheNeededVersion) {
  const Reply reply = complete(request::Exists{"/n"}, kFirst, {.code = ZUNIMPLEMENTED});
  EXPECT_EQ(reply.status, Status::server_error);
  EXPECT_EQ(reply.detail, "the server is too old: zklock needs ZooKeeper 3.5.1 or later");
}

// ---- creates -------------------------------------------------------------------------------------

class CreateContenderCallTest : public CallTest {
 protected:
  ~CreateContenderCallTest() override { zookeeper_close(handle_); }

  /// Sends the sub-requests. Returns the code of issue().
  int issue(request::CreateContender operation) {
    call_ = make_call({}, std::move(operation), {});
    return call_->issue(context(handle_));
  }
  /// Completes the oldest pending sub-request. Returns whether that completed the reply.
  bool complete(int code, const char* name = nullptr) {
    if (queue_.empty()) queue_ = pending_.take_all();
    const PendingRequest next = std::move(queue_.front());
    queue_.pop_front();
    writes_.push_back(next.kind == RequestKind::write);
    reply_ = {};
    const bool is_ok = code == ZOK;
    return next.call->complete(next.sub_request,
                               {.code = code, .stat = is_ok ? &stat_ : nullptr, .value = name},
                               context(handle_));
  }

  zhandle_t* const handle_ = zookeeper_init2("127.0.0.1:1", nullptr, 10'000, nullptr, nullptr,
                                             ZOO_NO_LOG_CLIENTENV, [](const char*) {});
  std::shared_ptr<Call> call_;
  std::deque<PendingRequest> queue_;
  std::vector<bool> writes_;
  const Stat stat_{};
};

constexpr const char* kNode = "/a/p/lock-0000000000";

TEST_F(CreateContenderCallTest, PathNotCreated_CreateDecides) {
  for (const int code : {ZNODEEXISTS, ZNOAUTH, ZINVALIDACL, ZUNIMPLEMENTED}) {
    ASSERT_EQ(issue({"/a/p", "lock-", "", false, true}), ZOK);
    EXPECT_FALSE(complete(code));
    EXPECT_TRUE(complete(ZOK, kNode));
    EXPECT_EQ(reply_.status, Status::ok) << code;
    EXPECT_TRUE(reply_.path_existed) << code;
  }
}

TEST_F(CreateContenderCallTest, ConnectionLostInBetween_IsUnknown) {
  ASSERT_EQ(issue({"/a/p", "lock-", "", true, true}), ZOK);
  EXPECT_FALSE(complete(ZOK, "/a/p"));
  EXPECT_FALSE(complete(ZCONNECTIONLOSS));
  EXPECT_TRUE(complete(ZOK)) << "the exists may be sent on the next connection";
  EXPECT_EQ(reply_.status, Status::unknown);
  EXPECT_GT(nodes_.bytes(), 0U);
}

// The C client refuses the name of the contender, but not its path.
TEST_F(CreateContenderCallTest, OnlyPathSent_NothingIsPending) {
  EXPECT_EQ(issue({"/a/p", "\x01", "", true, true}), ZBADARGUMENTS);
  EXPECT_TRUE(pending_.empty());
  EXPECT_EQ(nodes_.bytes(), 0U);
}

}  // namespace
}  // namespace zklock::client
