// SPDX-License-Identifier: Apache-2.0
// Reads of a queue, with a coordinator that replies as the test specifies.
#include "zklock/engine/queue_reader.h"

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/manual_time.h"
#include "tests/model/scripted_coordinator.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/path_lock.h"
#include "zklock/recipes/locks/lock_handle.h"

namespace zklock::detail {
namespace {

using core::Status;

client::Reply answer(Status status, std::vector<std::string> children = {}) {
  client::Reply reply;
  reply.status = status;
  reply.children = std::move(children);
  reply.pzxid = {1000};  // later than all znodes of these tests
  return reply;
}

// Replies with the given replies, then with `closed`.
class Answers final : public model::ScriptedCoordinator {
 public:
  explicit Answers(std::deque<client::Reply> replies) : replies_(std::move(replies)) {}
  client::RequestId submit(client::Request, client::ReplyHandler handler) override {
    client::Reply reply = answer(Status::closed);
    if (!replies_.empty()) {
      reply = std::move(replies_.front());
      replies_.pop_front();
    }
    handler(std::move(reply));
    return {};
  }

 private:
  std::deque<client::Reply> replies_;
};

class QueueReader : public ::testing::Test {
 protected:
  std::shared_ptr<ClientCore> client(std::deque<client::Reply> replies) {
    return ClientCore::make({.coordinator = std::make_shared<Answers>(std::move(replies)),
                             .scheduler = std::make_shared<model::ManualTime>(),
                             .dispatcher = std::make_shared<model::NoThreads>(),
                             .loss_dispatcher = std::make_shared<model::NoThreads>()},
                            {.hosts = "sim", .application = "test", .host = "host"});
  }
  // Returns what a client with these replies reads.
  std::vector<Participant> participants(std::deque<client::Reply> replies) {
    const auto core = client(std::move(replies));
    return read_participants(core->path_lock(core::LockPath("/a")), TimeLimit::endless());
  }
};

TEST_F(QueueReader, RetryableError_RetriesWithoutClientTimer) {
  for (const Status status : {Status::unknown, Status::session_ended, Status::throttled}) {
    const auto core = client({answer(status), answer(Status::ok)});
    const auto path_lock = core->path_lock(core::LockPath("/a"));
    EXPECT_TRUE(read_queue(path_lock, TimeLimit::endless()).empty())
        << "it blocks for ever if it needs a timer of the client";
    core->close();
  }
}

TEST(Describe, OnlyExclusiveContender_IsCandidate) {
  client::Reply node = answer(Status::ok);
  node.data = "zklock 1\nrole=candidate\n";
  const auto is_candidate = [&node](const std::string& name) {
    return describe(*core::ZnodeName::parse(name), node, OwnZnodes({})).is_candidate;
  };
  EXPECT_TRUE(is_candidate("lock-0000000001"));
  EXPECT_FALSE(is_candidate("__READ__0000000001"));
  EXPECT_FALSE(is_candidate("weight-2-age-100-0000000001"));
}

// The contender is in the queue all the time, and the reader must find it.
TEST_F(QueueReader, DowngradeDuringRead_WriterIsFound) {
  client::Reply reads = answer(Status::ok);
  reads.token = {30};
  reads.data = "zklock 1\nowner=another\ntoken=20\n";
  client::Reply writes = answer(Status::ok);
  writes.token = {25};
  const auto queue = participants({answer(Status::ok, {"__WRIT__0000000002", "__WRIT__0000000001"}),
                                   answer(Status::no_node), writes, reads});
  ASSERT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue[0].node, "__READ__0000000001");
  EXPECT_EQ(queue[0].access, Access::shared);
  EXPECT_EQ(queue[0].owner, "another");
  EXPECT_EQ(queue[0].token, FencingToken{20});
  EXPECT_TRUE(queue[0].holds);
  EXPECT_EQ(queue[1].token, FencingToken{25});
  EXPECT_FALSE(queue[1].holds);
}

// The contender passes the gate while the queue is read. Its znode at the gate is deleted, and the
// first list does not contain its new znode.
TEST_F(QueueReader, PassDuringRead_ContenderIsFound) {
  const std::string light = "weight-2-age-100-0000000003";
  const std::string heavy = "weight-9-age-100-0000000004";
  client::Reply waits = answer(Status::ok);
  waits.token = {33};
  client::Reply queues = answer(Status::ok);
  queues.token = {35};
  queues.data = "zklock 1\nowner=heavy\nsince=34\n";
  queues.created_ms = 35;
  const auto queue = participants({answer(Status::ok, {light, heavy, "lock-0000000002"}),
                                   answer(Status::no_node), answer(Status::no_node), waits,
                                   answer(Status::ok, {light, "lock-0000000005"}), queues});
  ASSERT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue[0].node, "lock-0000000005");
  EXPECT_EQ(queue[0].owner, "heavy");
  EXPECT_EQ(queue[0].token, FencingToken{35});
  EXPECT_EQ(queue[0].since.time_since_epoch(), std::chrono::milliseconds(34));
  EXPECT_TRUE(queue[0].holds);
  EXPECT_EQ(queue[1].node, light);
  EXPECT_EQ(queue[1].token, FencingToken{}) << "it will not be granted by that node";
  EXPECT_FALSE(queue[1].holds);
}

// In the first list a contender waits at the gate. In the second list both have passed it.
TEST_F(QueueReader, PassDuringRead_ContenderAppearsOnce) {
  const std::string light = "weight-2-age-100-0000000003";
  const std::string heavy = "weight-9-age-100-0000000004";
  client::Reply node = answer(Status::ok);
  for (const bool delayed : {false, true}) {
    std::vector<std::string> passed = {"lock-0000000006", "lock-0000000005"};
    if (delayed) passed.emplace_back("delay-5000-77-0000000002");
    const auto queue = participants({answer(Status::ok, {light, heavy, "lock-0000000002"}),
                                     answer(Status::no_node), answer(Status::no_node), node,
                                     answer(Status::ok, passed), node, node});
    ASSERT_EQ(queue.size(), 2U);
    EXPECT_EQ(queue[0].node, "lock-0000000005");
    EXPECT_EQ(queue[0].holds, !delayed) << "the earlier holder left a delay";
    EXPECT_EQ(queue[1].node, "lock-0000000006");
  }
}

// The path is deleted and recreated between the two lists: the name is another contender's then.
TEST_F(QueueReader, PathRecreatedBetweenLists_NameIsReadAgain) {
  const std::string light = "weight-2-age-100-0000000003";
  const auto list = [&](std::int64_t path_czxid, std::vector<std::string> children) {
    client::Reply reply = answer(Status::ok, std::move(children));
    reply.token = {path_czxid};
    return reply;
  };
  const auto owned_by = [](const std::string& owner) {
    client::Reply node = answer(Status::ok);
    node.data = "zklock 1\nowner=" + owner + "\n";
    return node;
  };
  const auto queue =
      participants({list(10, {light, "weight-9-age-100-0000000004"}), answer(Status::no_node),
                    owned_by("earlier"), list(50, {light}), owned_by("later")});
  ASSERT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue[0].owner, "later");
}

TEST_F(QueueReader, HoldMarker_ShowsTimeOfItsHolder) {
  using std::chrono::milliseconds;
  client::Reply node = answer(Status::ok);
  node.created_ms = 1'000;
  const auto queue = participants(
      {answer(Status::ok, {"lock-0000000002", "held-2000-0000000001", "held-3000-0000000002",
                           "lock-0000000001", "held-1500-0000000001"}),
       node, node});
  ASSERT_EQ(queue.size(), 2U);
  ASSERT_TRUE(queue[0].held_since);
  EXPECT_EQ(queue[0].held_since->time_since_epoch(), milliseconds(2'000)) << "the latest";
  EXPECT_FALSE(queue[1].held_since) << "it waits";
}

// One is older than the znode. The time of the other is later than any that a clock has.
TEST_F(QueueReader, HoldMarkerOutOfRange_IsIgnoredOrLatest) {
  client::Reply node = answer(Status::ok);
  node.created_ms = 1'000;
  auto queue = participants({answer(Status::ok, {"lock-0000000001", "held-999-0000000001"}), node});
  ASSERT_EQ(queue.size(), 1U);
  EXPECT_TRUE(queue[0].holds);
  EXPECT_FALSE(queue[0].held_since);
  node.data = "zklock 1\nsince=9223372036854775807\n";
  queue = participants(
      {answer(Status::ok, {"lock-0000000001", "held-9223372036854775807-0000000001"}), node});
  ASSERT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue[0].held_since, queue[0].since);
  EXPECT_GT(queue[0].since, std::chrono::system_clock::now());
}

TEST_F(QueueReader, UselessTokenInData_IsIgnored) {
  client::Reply queues = answer(Status::ok);
  queues.token = {30};
  queues.data = "zklock 1\ntoken=-5\n";
  client::Reply waits = answer(Status::ok);
  waits.token = {31};
  waits.data = "zklock 1\ntoken=5\n";
  const auto queue = participants(
      {answer(Status::ok, {"lock-0000000001", "weight-2-age-100-0000000003"}), queues, waits});
  ASSERT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue[0].token, FencingToken{30}) << "as evict() compares it";
  EXPECT_EQ(queue[1].token, FencingToken{}) << "it will not be granted by that node";
}

// Any further request would get the reply `closed`.
TEST_F(QueueReader, FastHandOffs_ViewHasTheNameAfterFiveLists) {
  std::deque<client::Reply> replies;
  for (const char* const node : {"lock-0000000001", "lock-0000000002", "lock-0000000003",
                                 "lock-0000000004", "lock-0000000005"}) {
    replies.push_back(answer(Status::ok, {node, "lock-0000000009"}));
    replies.push_back(answer(Status::no_node));
  }
  const auto core = client(std::move(replies));
  const auto path_lock = core->path_lock(core::LockPath("/a"));
  const LockState view = read_view(path_lock, ViewScope::first_holder(), TimeLimit::endless()).lock;
  ASSERT_EQ(view.holders.size(), 1U);
  EXPECT_EQ(view.holders[0].node, "lock-0000000005");
  EXPECT_TRUE(view.holders[0].holds);
  EXPECT_EQ(view.waiting, 1U);
}

LockState blocked_by(std::shared_ptr<PathLock> refused, Deadline deadline) {
  return LockHandle::refused(std::move(refused)).blocked_by(deadline);
}

// A query of a passed deadline would have the connection timeout.
TEST_F(QueueReader, BlockedBy_PassedDeadlineSendsNothing) {
  const auto core = client({answer(Status::ok, {"lock-0000000001"}), answer(Status::ok)});
  const auto path_lock = core->path_lock(core::LockPath("/a"));
  EXPECT_EQ(blocked_by(path_lock, Deadline::passed()), LockState());
  EXPECT_EQ(blocked_by(path_lock, Deadline::never()).holding, 1U);
  core->close();
}

}  // namespace
}  // namespace zklock::detail
