// SPDX-License-Identifier: Apache-2.0
// A contender has abandoned a create as never executed, and the ensemble executes it later. Its
// znode belongs to a live session, but to no contender.
#include <string>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/late_creates.h"

namespace zklock::model {
namespace {

class LateCreate : public PathLockTest {
 protected:
  Duration timeout() { return lock_.core(0).keeper().timeout(); }
  void SetUp() override {
    PathLockTest::SetUp();
    lock_.use(0);
  }
  /// Returns a grant whose first create was lost on its way to the server.
  std::size_t granted_by_second_attempt(Request request = {}) {
    lock_.world().lose_request(0, Kind::create_contender);
    const auto call = lock_.acquire(0, request);
    lock_.world().run_all();
    reconnect(0);
    EXPECT_TRUE(is_granted(call));
    const auto data = core::ZnodeData::parse(ensemble().find(lock_.call(call).node)->data);
    EXPECT_TRUE(data && data->attempt.ends_with(".2"));
    if (data) lost_ = data->attempt.substr(0, data->attempt.size() - 1) + "1";
    return call;
  }
  /// Creates the znode of that create, or a similar one.
  std::string created_late(const std::string& attempt, SessionId session,
                           const std::string& prefix = "lock-") {
    core::ZnodeData data;
    data.attempt = attempt;
    data.announces = true;
    const auto name =
        ensemble().create_sequential(LockWorld::kPath, prefix, data.encode(), session);
    return child(name.value_or(""));
  }
  void expect_deleted_for_waiter(const Request& first, const Request& second,
                                 const std::string& prefix) {
    const auto holder = granted_by_second_attempt(first);
    const auto late = created_late(lost_, client(0).session(), prefix);
    const auto next = lock_.acquire(0, second);
    lock_.world().run_all();
    lock_.release(holder);
    lock_.world().run_all();
    EXPECT_FALSE(is_granted(next));
    run_for(timeout());
    EXPECT_EQ(ensemble().find(late), nullptr);
    EXPECT_TRUE(is_granted(next));
    release(next);
  }
  /// Expects that `node` blocks the queue and is not deleted.
  void expect_kept(const std::string& node) {
    const auto next = lock_.acquire(0);
    lock_.world().run_for(10s);
    EXPECT_FALSE(is_granted(next));
    EXPECT_NE(ensemble().find(node), nullptr);
    lock_.cancel(next);
    lock_.world().run_all();
    ASSERT_EQ(ensemble().remove(node), Status::ok);
  }

  std::string lost_;  ///< the attempt of the abandoned create
};

TEST_F(LateCreate, OfEachKind_DeletedForWaiterBehind) {
  expect_deleted_for_waiter({}, {}, "lock-");
  expect_deleted_for_waiter(LockWorld::to_write(), LockWorld::to_read(),
                            core::QueueRule::writer().prefix());
  expect_deleted_for_waiter(LockWorld::permits(1, 1), LockWorld::permits(1, 1),
                            LockWorld::permits(1, 1).rule.prefix());
}

TEST_F(LateCreate, ZnodeOfOtherAttempt_IsNotDeleted) {
  release(granted_by_second_attempt());
  for (const std::string& attempt : {lost_ + "1", std::string("another.1"), std::string()}) {
    expect_kept(created_late(attempt, client(0).session()));
  }
  const auto name =
      ensemble().create_sequential(LockWorld::kPath, "lock-", "a user's", client(0).session());
  expect_kept(child(*name));
  for (const SessionId session : {client(1).session(), SessionId{}}) {
    expect_kept(created_late(lost_, session));
  }
}

TEST_F(LateCreate, NoContenderOfClient_IsDeleted) {
  for (const auto kind :
       {std::optional<Kind>(), std::optional(Kind::list_children), std::optional(Kind::get)}) {
    release(granted_by_second_attempt());
    const auto late = created_late(lost_, client(0).session());
    const auto other = waiting(1);
    for (int i = 0; kind && i < 3; ++i) {  // the replies to the queries are lost
      const auto lost_before = client(0).lost_replies(*kind);
      lock_.world().lose_reply(0, *kind);
      for (int t = 0; t < 100 && client(0).lost_replies(*kind) == lost_before; ++t) run_for(100ms);
      ASSERT_GT(client(0).lost_replies(*kind), lost_before);
      reconnect(0);
    }
    run_for(timeout());
    EXPECT_EQ(ensemble().find(late), nullptr);
    EXPECT_TRUE(is_granted(other));
    release(other);
  }
}

TEST_F(LateCreate, CreatedAfterFirstQuery_IsDeleted) {
  release(granted_by_second_attempt());
  run_for(timeout() * 3 / 4);
  const auto late = created_late(lost_, client(0).session());
  run_for(timeout() / 2);
  EXPECT_EQ(ensemble().find(late), nullptr);
}

TEST_F(LateCreate, MoreThanTheLimit_OldestIsForgotten) {
  release(granted_by_second_attempt());
  const std::string oldest = lost_;
  release(granted_by_second_attempt());
  const std::string second = lost_;
  for (std::size_t i = 1; i < detail::LateCreates::kMostAttempts; ++i)
    release(granted_by_second_attempt());
  const auto forgotten = created_late(oldest, client(0).session());
  const auto known = created_late(second, client(0).session());
  run_for(2 * timeout());
  EXPECT_EQ(ensemble().find(known), nullptr);
  ASSERT_NE(ensemble().find(forgotten), nullptr);
  ASSERT_EQ(ensemble().remove(forgotten), Status::ok);
}

}  // namespace
}  // namespace zklock::model
