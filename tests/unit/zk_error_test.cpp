// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/zk_error.h"

#include <set>

#include <gtest/gtest.h>
#include <zookeeper/zookeeper.h>

namespace zklock::client {
namespace {

using core::AnsweredBy;
using core::Status;

TEST(ZkError, ReplyLost_IsUnknown) {
  for (const int code : {-4, -7, -2, -118}) {
    EXPECT_EQ(to_status(code), Status::unknown) << code;
    EXPECT_EQ(answered_by(code, RequestKind::multi), std::nullopt) << code;
  }
}

TEST(ZkError, EveryOtherCode_HasItsStatus) {
  EXPECT_EQ(to_status(ZOK), Status::ok);
  EXPECT_EQ(to_status(ZSESSIONEXPIRED), Status::session_ended);
  EXPECT_EQ(to_status(ZINVALIDSTATE), Status::session_ended);
  EXPECT_EQ(to_status(ZCLOSING), Status::closed);
  EXPECT_EQ(to_status(ZNONODE), Status::no_node);
  EXPECT_EQ(to_status(ZNODEEXISTS), Status::node_exists);
  EXPECT_EQ(to_status(ZNOTEMPTY), Status::not_empty);
  EXPECT_EQ(to_status(ZBADVERSION), Status::bad_version);
  EXPECT_EQ(to_status(ZNOAUTH), Status::no_auth);
  EXPECT_EQ(to_status(ZAUTHFAILED), Status::auth_failed);
  EXPECT_EQ(to_status(-124), Status::auth_failed);
  EXPECT_EQ(to_status(ZINVALIDACL), Status::invalid_acl);
  EXPECT_EQ(to_status(-125), Status::quota_exceeded);
  EXPECT_EQ(to_status(ZNOTREADONLY), Status::read_only);
  EXPECT_EQ(to_status(ZTHROTTLEDOP), Status::throttled);
  // A code without a meaning of its own must not cause a repetition or an adoption.
  const std::set<int> special = {0,    -2,   -4,   -7,   -9,   -101, -102, -103, -110, -111,
                                 -112, -114, -115, -116, -118, -119, -124, -125, -127};
  for (int code = -200; code <= 200; ++code) {
    if (special.contains(code)) continue;
    EXPECT_EQ(to_status(code), Status::server_error) << code;
  }
}

TEST(ZkError, OnlyLeaderReplies_ProveAQuorum) {
  for (const int code : {0, -101, -103, -108, -110, -111, -125}) {
    EXPECT_EQ(answered_by(code, RequestKind::write), AnsweredBy::quorum) << code;
  }
  for (const int code : {-102, -114}) {
    EXPECT_EQ(answered_by(code, RequestKind::write), AnsweredBy::server) << code;
    EXPECT_EQ(answered_by(code, RequestKind::multi), AnsweredBy::quorum) << code;
  }
  for (const int code : {-115, -119, -120, -121, -123, -124, -127}) {
    EXPECT_EQ(answered_by(code, RequestKind::multi), AnsweredBy::server) << code;
  }
  for (const int code : {-1, -3, -5, -6, -8, -9, -13, -14, -15, -100, -112, -113, -116, -117, 7}) {
    EXPECT_EQ(answered_by(code, RequestKind::multi), std::nullopt) << code;
  }
}

TEST(ZkError, ReadAndSync_ProveNoQuorum) {
  for (const int code : {0, -101, -102}) {
    EXPECT_EQ(answered_by(code, RequestKind::read), AnsweredBy::server) << code;
  }
  EXPECT_EQ(answered_by(0, RequestKind::sync), AnsweredBy::leader);
  EXPECT_EQ(answered_by(-102, RequestKind::sync), AnsweredBy::server);
  EXPECT_EQ(answered_by(-4, RequestKind::read), std::nullopt);
}

TEST(ZkError, CodeName_HasNameAndNumber) {
  EXPECT_EQ(code_name(ZNOAUTH), "ZNOAUTH (-102)");
  EXPECT_EQ(code_name(0), "ZOK (0)");
  EXPECT_EQ(code_name(-125), "ZQUOTAEXCEEDED (-125)");
  EXPECT_EQ(code_name(-999), "unknown code (-999)");
}

}  // namespace
}  // namespace zklock::client
