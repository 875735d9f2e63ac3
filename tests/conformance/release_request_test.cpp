// SPDX-License-Identifier: Apache-2.0
// request_release(): the request to a holder, and the forced release.
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/holder_process.h"
#include "conformance/lock_test.h"
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

TEST_F(ReleaseRequests, HolderIgnoresRequest_RequestTimesOut) {
  const Hold hold = mutex_.acquire();
  EXPECT_FALSE(request_release(*requester_, kPath, {.deadline = 5s}));
  EXPECT_TRUE(requester_->flush(kTestTimeout));
  EXPECT_EQ(nodes().size(), 1U) << "no marker is left";
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(log_.reaches({"acquired", "release_requested"}));
}

TEST_F(ReleaseRequests, RequestTimesOutBeforeReply_LeavesNoMarker) {
  if (SharedServer::server() == nullptr) GTEST_SKIP() << "needs a server of this kit";
  const Hold hold = mutex_.acquire();
  const std::string node = hold.node().substr(kPath.size() + 1);
  FaultProxy slow({SharedServer::server()->port()});
  slow.delay(50ms);
  ClientOptions behind = options();
  behind.hosts = slow.hosts() + chroot_.path();
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

TEST_F(ReleaseRequests, HolderProcessKilled_RequestEndsAtSessionExpiry) {
  HolderProcess dead(chroot_.hosts(), kPath, 6s);
  dead.wait_until_held();
  dead.process().kill();
  EXPECT_TRUE(request_release(*requester_, kPath, {.deadline = kTestTimeout}));
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

TEST_F(ReleaseRequests, MarkerInQueue_DoesNotBlockContenders) {
  Hold hold = mutex_.acquire();
  const auto number = hold.node().substr(hold.node().size() - 10);
  const std::string marker = kPath + "/release-request-" + number;
  ASSERT_EQ(raw().create(marker).rc, ZOK);
  ReentrantMutex others(*requester_, kPath);
  EXPECT_FALSE(others.try_lock());
  ASSERT_TRUE(requester_->flush(kTestTimeout)) << "its znode is deleted";
  EXPECT_EQ(mutex_.participants().size(), 1U);
  auto next = others.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  hold.release();
  EXPECT_TRUE(get(next));
  // The marker is the only other child.
  const Hold again = others.acquire({.owner = Owner::unique()});
  EXPECT_TRUE(again);
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

TEST_F(ReleaseRequests, BadInputOrClosedClient_IsRefused) {
  EXPECT_EQ(error_of([&] { return request_release(*requester_, "relative"); }), Errc::invalid_path);
  EXPECT_EQ(error_of([&] { return request_release(*requester_, kPath, {.node = "config"}); }),
            Errc::invalid_option);
  requester_->close();
  EXPECT_EQ(error_of([&] { return request_release(*requester_, kPath); }), Errc::closed);
}

TEST_F(ReleaseRequests, NoCreatePermission_RequestThrowsNoAuth) {
  ClientOptions with_acl = options();
  with_acl.digest = DigestCredential{"team", "secret"};
  with_acl.acl = AclPolicy::creator_all();
  const auto ours = connect(with_acl);
  ReentrantMutex mutex(*ours, "/guarded");
  Hold hold = mutex.acquire();
  const std::string node = hold.node().substr(std::string("/guarded/").size());
  EXPECT_EQ(error_of([&] {
              return request_release(*requester_, "/guarded", {.force = true, .node = node});
            }),
            Errc::no_auth);
  EXPECT_EQ(hold.state(), HoldState::held);
  auto colleague = connect(with_acl);
  EXPECT_TRUE(request_release(*colleague, "/guarded", {.force = true, .deadline = kTestTimeout}));
  EXPECT_EQ(hold.state(), HoldState::lost);
}

class ReleaseRequestAtFrozenServer : public OwnServerTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> requester_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  // Names the holder's znode, so that request_release() does not list the queue first.
  static ReleaseRequestOptions request_for(const Hold& hold, Deadline deadline) {
    return {.node = hold.node().substr(kPath.size() + 1), .deadline = deadline};
  }
};

TEST_F(ReleaseRequestAtFrozenServer, InterruptedRequest_LeavesNoMarker) {
  const Hold hold = mutex_.acquire();
  const auto options = request_for(hold, kTestTimeout);
  server_.pause();
  bool interrupted = false;
  boost::thread thread([&] {
    try {
      static_cast<void>(request_release(*requester_, kPath, options));
    } catch (const boost::thread_interrupted&) {
      interrupted = true;
    }
  });
  thread.interrupt();  // at its first wait, for the reply to the marker's create
  thread.join();
  server_.resume();
  EXPECT_TRUE(interrupted);
  // Requests of one session are executed and answered in order.
  EXPECT_EQ(ReentrantMutex(*requester_, kPath).participants(kTestTimeout).size(), 1U);
  EXPECT_TRUE(requester_->flush(kTestTimeout));
  EXPECT_EQ(nodes().size(), 1U) << "no marker is left";
}

TEST_F(ReleaseRequestAtFrozenServer, DeadlineBeforeConnectionTimeout_EndsRequest) {
  const Hold hold = mutex_.acquire();
  ClientOptions patient = options();
  patient.connection_timeout = std::chrono::hours(1);
  const auto requester = connect(patient);
  server_.kill();
  auto requested = in_thread(
      [&, options = request_for(hold, 1s)] { return request_release(*requester, kPath, options); });
  const bool ended = requested.wait_for(kTestTimeout) == std::future_status::ready;
  requester->close();
  EXPECT_TRUE(ended);
  EXPECT_EQ(error_of([&] { return get(requested); }), std::nullopt);
  server_.start();
  EXPECT_TRUE(server_.wait_until_serving()) << server_.log();
}

}  // namespace
}  // namespace zklock::testing
