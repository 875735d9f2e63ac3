// SPDX-License-Identifier: Apache-2.0
// The sub-requests of a CreateContender, on a handle of the C client without a server.
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <zookeeper/zookeeper.h>

#include "zklock/client/zookeeper/call.h"

namespace zklock::client {
namespace {

class CreateContenderCallTest : public ::testing::Test {
 protected:
  ~CreateContenderCallTest() override { zookeeper_close(handle_); }

  CallContext context() {
    return {handle_, reply_, pending_, watches_, nodes_, acl_, acl_, hosts_, {}, unused_watch_};
  }
  /// Sends the sub-requests. Returns the code of issue().
  int issue(request::CreateContender operation) {
    call_ = make_call({}, std::move(operation), {});
    return call_->issue(context());
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
                               context());
  }

  zhandle_t* const handle_ = zookeeper_init2("127.0.0.1:1", nullptr, 10'000, nullptr, nullptr,
                                             ZOO_NO_LOG_CLIENTENV, [](const char*) {});
  std::shared_ptr<Call> call_;
  Reply reply_;
  PendingRequests pending_;
  WatchRegistry watches_{1'000};
  NodeBudget nodes_{1'000};
  const Acl acl_{parent_acl(AclPolicy::open(), {})};
  const ConnectionString hosts_ = ConnectionString::parse("127.0.0.1:1");
  std::optional<Watch> unused_watch_;
  std::deque<PendingRequest> queue_;
  std::vector<bool> writes_;
  const Stat stat_{};
};

constexpr const char* kNode = "/a/p/lock-0000000000";

TEST_F(CreateContenderCallTest, PathCreated_ThirdCompletionEndsCall) {
  ASSERT_EQ(issue({"/a/p", "lock-", "", true, true}), ZOK);
  ASSERT_EQ(pending_.size(), 3U);
  EXPECT_FALSE(complete(ZOK, "/a/p"));
  EXPECT_FALSE(complete(ZOK, kNode));
  EXPECT_TRUE(complete(ZOK));
  EXPECT_EQ(writes_, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(reply_.status, Status::ok);
  EXPECT_EQ(reply_.name, "lock-0000000000");
  EXPECT_FALSE(reply_.path_existed);
  ASSERT_TRUE(reply_.parent);
  EXPECT_EQ(reply_.parent->status, Status::ok);
}

TEST_F(CreateContenderCallTest, PathNotCreated_CreateDecides) {
  for (const int code : {ZNODEEXISTS, ZNOAUTH, ZINVALIDACL, ZUNIMPLEMENTED}) {
    ASSERT_EQ(issue({"/a/p", "lock-", "", false, true}), ZOK);
    EXPECT_FALSE(complete(code));
    EXPECT_TRUE(complete(ZOK, kNode));
    EXPECT_EQ(reply_.status, Status::ok) << code;
    EXPECT_TRUE(reply_.path_existed) << code;
  }
}

TEST_F(CreateContenderCallTest, AncestorMissing_IsNoNode) {
  ASSERT_EQ(issue({"/a/p", "lock-", "", false, true}), ZOK);
  EXPECT_FALSE(complete(ZNONODE));
  EXPECT_TRUE(complete(ZNONODE));
  EXPECT_EQ(reply_.status, Status::no_node);
  EXPECT_FALSE(reply_.path_existed);
  EXPECT_EQ(nodes_.bytes(), 0U);
}

TEST_F(CreateContenderCallTest, ConnectionLostInBetween_IsUnknown) {
  ASSERT_EQ(issue({"/a/p", "lock-", "", true, true}), ZOK);
  EXPECT_FALSE(complete(ZOK, "/a/p"));
  EXPECT_FALSE(complete(ZCONNECTIONLOSS));
  EXPECT_TRUE(complete(ZOK)) << "the exists may be sent on the next connection";
  EXPECT_EQ(reply_.status, Status::unknown);
  EXPECT_GT(nodes_.bytes(), 0U);
}

TEST_F(CreateContenderCallTest, PathNotWanted_IsNotSent) {
  ASSERT_EQ(issue({"/a/p", "lock-", "", false, false}), ZOK);
  ASSERT_EQ(pending_.size(), 1U);
  EXPECT_TRUE(complete(ZOK, kNode));
  EXPECT_FALSE(reply_.path_existed);
}

// The C client refuses the name of the contender, but not its path.
TEST_F(CreateContenderCallTest, OnlyPathSent_NothingIsPending) {
  EXPECT_EQ(issue({"/a/p", "\x01", "", true, true}), ZBADARGUMENTS);
  EXPECT_TRUE(pending_.empty());
  EXPECT_EQ(nodes_.bytes(), 0U);
}

}  // namespace
}  // namespace zklock::client
