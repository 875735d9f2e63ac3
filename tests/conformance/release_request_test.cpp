// SPDX-License-Identifier: Apache-2.0
// request_release(): the request to a holder, and the forced release. evict(): the delete of a
// contender's znode by another client.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/interruption.h"
#include "conformance/lock_test.h"
#include "zklock/evict.h"
#include "zklock/testing/fault_proxy.h"

namespace zklock::testing {
namespace {

class ReleaseRequests : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> requester_ = connect();
  EventLog log_;
  ReentrantMutex mutex_{*client_, kPath, {.listener = log_.listener()}};
};

TEST_F(ReleaseRequests, RequestTimesOutBeforeReply_LeavesNoMarker) {
  if (SharedServer::server() == nullptr) GTEST_SKIP() << "needs a server of this kit";
  const Hold hold = mutex_.acquire();
  const std::string node = hold.node().substr(kPath.size() + 1);
  FaultProxy slow({SharedServer::server()->port()});
  slow.delay(50ms);
  ClientOptions behind = options();
  behind.hosts = hosts_by(slow);
  const auto requester = connect(behind);
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(request_release(*requester, kPath, {.node = node, .deadline = 20ms}));
    EXPECT_TRUE(requester->flush(kTestTimeout));
    EXPECT_EQ(nodes(), std::vector<std::string>{node});
  }
}

TEST_F(ReleaseRequests, RequestNamesOneHolder_OnlyThatHoldIsLost) {
  Semaphore semaphore(*client_, kPath, 2);
  const Permit first = semaphore.acquire();
  const Permit second = semaphore.acquire();
  const std::string node = second.node().substr(kPath.size() + 1);
  EXPECT_TRUE(
      request_release(*requester_, kPath, {.force = true, .node = node, .deadline = kTestTimeout}));
  EXPECT_EQ(first.state(), HoldState::held);
  EXPECT_EQ(second.state(), HoldState::lost);
}

TEST_F(ReleaseRequests, NamedWaiter_IsRequestedOnceGranted) {
  Hold before = ReentrantMutex(*requester_, kPath).acquire();
  auto waiting = mutex_.async_acquire();
  ASSERT_TRUE(log_.reaches({"waiting 1"}));
  const std::string node = nodes().back();
  auto requested = in_thread([&] {
    return request_release(*requester_, kPath, {.node = node, .deadline = kTestTimeout});
  });
  ASSERT_TRUE(reaches_nodes(3)) << "the marker";
  EXPECT_FALSE(before.release_request_token().stop_requested());
  before.release();
  Hold hold = get(waiting);
  EXPECT_TRUE(
      eventually([&] { return hold.release_request_token().stop_requested(); }, kTestTimeout));
  EXPECT_FALSE(is_ready(requested));
  hold.release();
  EXPECT_TRUE(get(requested));
  EXPECT_TRUE(log_.reaches({"waiting 1", "acquired", "release_requested", "released"}));
}

TEST_F(ReleaseRequests, ForcedBesidePlainRequest_HolderIsLost) {
  const Hold hold = mutex_.acquire();
  auto requested =
      in_thread([&] { return request_release(*requester_, kPath, {.deadline = kTestTimeout}); });
  EXPECT_TRUE(
      eventually([&] { return hold.release_request_token().stop_requested(); }, kTestTimeout));
  const auto operator_client = connect();
  EXPECT_TRUE(request_release(*operator_client, kPath, {.force = true, .deadline = kTestTimeout}));
  EXPECT_TRUE(get(requested));
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_TRUE(requester_->flush(kTestTimeout));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(ReleaseRequests, RequesterClosed_MarkerIsDeleted) {
  const Hold hold = mutex_.acquire();
  auto requester = connect();
  auto requested =
      in_thread([&] { return error_of([&] { return request_release(*requester, kPath); }); });
  ASSERT_TRUE(reaches_nodes(2));
  requester->close();
  EXPECT_EQ(get(requested), Errc::closed);
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(ReleaseRequests, NoHolder_RequestSucceedsAtOnce) {
  EXPECT_TRUE(request_release(*requester_, "/never-locked"));
  mutex_.lock();
  mutex_.unlock();
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(request_release(*requester_, kPath));
  EXPECT_TRUE(request_release(*requester_, kPath, {.node = "lock-0000000000"}));
  EXPECT_TRUE(nodes().empty());
}

class ReleaseRequestAtFrozenServer : public OwnServerTest {};

TEST_F(ReleaseRequestAtFrozenServer, InterruptedRequest_LeavesNoMarker) {
  const auto client = connect();
  const auto requester = connect();
  const Hold hold = ReentrantMutex(*client, kPath).acquire();
  // Names the holder's znode, so that request_release() does not list the queue first.
  const ReleaseRequestOptions options{.node = hold.node().substr(kPath.size() + 1),
                                      .deadline = kTestTimeout};
  server_.pause();
  EXPECT_TRUE(ends_by_interruption(
      [&] { static_cast<void>(request_release(*requester, kPath, options)); }));
  server_.resume();
  // Requests of one session are executed and answered in order.
  EXPECT_EQ(ReentrantMutex(*requester, kPath).participants(kTestTimeout).size(), 1U);
  EXPECT_TRUE(requester->flush(kTestTimeout));
  EXPECT_EQ(nodes().size(), 1U) << "no marker is left";
}

// ---- evict() ------------------------------------------------------------------------------------

class EvictTest : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  // Makes a contender of Curator that never releases.
  void plant_curator() {
    mutex_.lock();  // creates the path
    mutex_.unlock();
    ASSERT_TRUE(client_->flush(kTestTimeout));
    const std::string theirs = "/_c_01234567-89ab-cdef-0123-456789abcdef-lock-";
    ASSERT_EQ(raw().create(kPath + theirs, "", ZOO_EPHEMERAL_SEQUENTIAL).rc, ZOK);
  }
};

TEST_F(EvictTest, CuratorHolder_NextIsGranted) {
  plant_curator();
  auto next = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  const auto contenders = mutex_.participants();
  ASSERT_TRUE(contenders.front().holds);
  EXPECT_TRUE(evict(*client_, kPath, contenders.front()));
  EXPECT_TRUE(get(next));
  EXPECT_TRUE(evict(*client_, kPath, contenders.front())) << "it is deleted already";
}

TEST_F(EvictTest, OtherToken_NothingIsDeleted) {
  plant_curator();
  auto contender = mutex_.participants().front();
  ++contender.token.zxid;
  EXPECT_FALSE(evict(*client_, kPath, contender));
  --contender.token.zxid;
  ++contender.session_id;
  EXPECT_FALSE(evict(*client_, kPath, contender));
  contender.node = "count";
  EXPECT_EQ(error_of([&] { (void)evict(*client_, kPath, contender); }), Errc::invalid_option);
  EXPECT_EQ(nodes().size(), 1U);
}

}  // namespace
}  // namespace zklock::testing
