// SPDX-License-Identifier: Apache-2.0
// Calls of an operator, and queries, with scripted replies. A watch event after its watch was
// removed, which the port allows.
#include "tests/model/scripted_coordinator.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/manual_time.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/evict.h"
#include "zklock/release_request.h"
#include "zklock/semaphore.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using core::Status;

/// No znode exists. Each reply takes a second.
class MissingZnodes final : public ScriptedCoordinator {
 public:
  explicit MissingZnodes(ManualTime& time) : time_(time) {}

  client::RequestId submit(client::Request request, client::ReplyHandler handler) override {
    const auto* const transaction = std::get_if<client::request::Transaction>(&request.operation);
    if (transaction != nullptr) requested_.push_back(transaction->guard);
    time_.pass(1s);
    client::Reply reply;
    reply.status = core::Status::no_node;
    reply.failed_operation = 0;
    handler(reply);
    return client::RequestId{++requests_};
  }

  /// Returns the znodes that were guards of transactions.
  const std::vector<std::string>& requested() const noexcept { return requested_; }

 private:
  ManualTime& time_;
  std::uint64_t requests_ = 0;
  std::vector<std::string> requested_;
};

class SemaphoreQuery : public ::testing::Test {
 protected:
  /// Expects that no request has a later time limit than the query.
  template <class Query>
  void expect_ends_by_deadline(Query query) {
    const Deadline deadline(time_->now() + 1s);
    try {
      query(deadline);
      ADD_FAILURE() << "the second request began at the deadline";
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::not_connected);
    }
    EXPECT_EQ(time_->due().size(), 2U);
    for (const core::Instant due : time_->due()) EXPECT_LE(due, deadline.at());
  }

  const std::shared_ptr<ManualTime> time_ = std::make_shared<ManualTime>();
  const std::unique_ptr<Client> client_ =
      make_client(std::make_shared<MissingZnodes>(*time_), time_);
  Semaphore semaphore_{*client_, "/lock", SharedCount{.initial = 3}};
};

// The first request reads the count, and the second lists the queue.
TEST_F(SemaphoreQuery, DeadlinePassesMeanwhile_AvailablePermitsEnds) {
  expect_ends_by_deadline(
      [&](Deadline deadline) { return semaphore_.available_permits(deadline); });
}

TEST_F(SemaphoreQuery, DeadlinePassesMeanwhile_ParticipantsEnds) {
  expect_ends_by_deadline([&](Deadline deadline) { return semaphore_.participants(deadline); });
}

// A passed deadline is a single attempt, so both requests are sent.
TEST_F(SemaphoreQuery, RequestAnswered_ItsTimerIsCancelled) {
  EXPECT_EQ(semaphore_.available_permits(Deadline::passed()), 3);
  EXPECT_EQ(time_->due().size(), 2U);
  for (const core::Instant due : time_->due()) EXPECT_GT(due, time_->now());
  EXPECT_EQ(time_->cancelled(), 2U);
}

class RequestRelease : public ::testing::Test {
 protected:
  RequestRelease() { client_ = make_client(servers_, time_); }
  bool request(std::optional<std::string> node, Deadline deadline) {
    return request_release(*client_, "/lock", {.node = std::move(node), .deadline = deadline});
  }
  void expect_no_later_timer(core::Instant time) {
    for (const core::Instant due : time_->due()) EXPECT_LE(due, time);
  }

  const std::shared_ptr<ManualTime> time_ = std::make_shared<ManualTime>();
  const std::shared_ptr<MissingZnodes> servers_ = std::make_shared<MissingZnodes>(*time_);
  std::unique_ptr<Client> client_;
};

const std::string kWriter = "__WRIT__0000000003";
const std::vector<std::string> kBoth{"/lock/" + kWriter, "/lock/__READ__0000000003"};

TEST_F(RequestRelease, Writer_RequestCoversDowngradedName) {
  EXPECT_TRUE(request("lock-0000000003", Deadline(time_->now() + 1min)));
  EXPECT_EQ(servers_->requested(), std::vector<std::string>{"/lock/lock-0000000003"});
  EXPECT_TRUE(request(kWriter, Deadline(time_->now() + 1min)));
  EXPECT_EQ(servers_->requested().size(), 3U) << "of this one both names";
}

TEST_F(RequestRelease, FormerWriter_RequestEndsAtDeadline) {
  const core::Instant deadline = time_->now() + 1s;
  EXPECT_FALSE(request(kWriter, Deadline(deadline))) << "the outcome of its downgrade is unknown";
  expect_no_later_timer(deadline);
}

TEST_F(RequestRelease, DeadlinePassed_RequestsBothNamesOnce) {
  const core::Instant longest = time_->now() + 15s;
  EXPECT_TRUE(request(kWriter, Deadline::passed()));
  EXPECT_EQ(servers_->requested(), kBoth);
  expect_no_later_timer(longest);  // for both of them
}

TEST_F(RequestRelease, DeadlinePassesMeanwhile_RequestEndsAtDeadline) {
  for (const auto& node : {std::optional(kWriter), std::optional<std::string>()}) {
    const core::Instant deadline = time_->now() + 1s;
    time_->pass_after_next_reading(2s);
    EXPECT_FALSE(request(node, Deadline(deadline)));
    expect_no_later_timer(deadline);
  }
}

/// Replies as the test specifies, then with `closed`. Records the kinds of the requests.
class Script final : public ScriptedCoordinator {
 public:
  client::RequestId submit(client::Request request, client::ReplyHandler handler) override {
    const auto* const write = std::get_if<client::request::Transaction>(&request.operation);
    if (write != nullptr) {
      const auto& removed = std::get<client::request::write::Remove>(write->writes.front());
      requests_ += "delete " + removed.path + " version " + std::to_string(removed.version) +
                   " in session " + std::to_string(request.session.value) +
                   (request.fail_if_disconnected ? " now\n" : "\n");
    } else {
      requests_ +=
          std::holds_alternative<client::request::Check>(request.operation) ? "check\n" : "get\n";
    }
    client::Reply reply;
    reply.status = Status::closed;
    if (!replies_.empty()) {
      reply = std::move(replies_.front());
      replies_.pop_front();
    }
    handler(std::move(reply));
    return {};
  }

  void add(Status status) {
    client::Reply reply;
    reply.status = status;
    // A check and a get of the contender's znode.
    reply.session = {9};
    reply.token = {.zxid = 7};
    reply.ephemeral_owner = {3};
    reply.version = 5;
    replies_.push_back(std::move(reply));
  }
  client::Reply& last() { return replies_.back(); }
  std::string take_requests() { return std::exchange(requests_, {}); }

 private:
  std::deque<client::Reply> replies_;
  std::string requests_;
};

/// The contender of the test, and the replies and the requests of its eviction.
class Evict : public ::testing::Test {
 protected:
  Evict() : client_(make_client(script_, std::make_shared<ManualTime>())) {
    contender_.node = "lock-0000000001";
    contender_.token = {.zxid = 7};
    contender_.session_id = 3;
  }
  void expect(const std::vector<Status>& replies, bool evicted, const std::string& requests) {
    for (const Status status : replies) script_->add(status);
    EXPECT_EQ(evict(*client_, "/a", contender_), evicted);
    EXPECT_EQ(script_->take_requests(), requests);
  }

  const std::shared_ptr<Script> script_ = std::make_shared<Script>();
  const std::unique_ptr<Client> client_;
  Participant contender_;
};

const std::string kLook = "check\nget\n";
const std::string kDelete = "delete /a/lock-0000000001 version 5 in session 9 now\n";

TEST_F(Evict, Znode_ItsVersionIsDeleted) {
  expect({Status::ok, Status::ok, Status::ok}, true, kLook + kDelete);
  contender_.token.zxid = 8;
  expect({Status::ok, Status::ok}, false, kLook);  // it is another znode of that name
}

TEST_F(Evict, OutcomeUnknownOrNotSent_LooksBeforeAnotherDelete) {
  for (const Status status : {Status::unknown, Status::not_sent, Status::session_ended}) {
    expect({Status::ok, Status::ok, status, Status::no_node, Status::no_node}, true,
           kLook + kDelete + kLook);
  }
}

TEST_F(Evict, WrittenMeanwhile_LooksAgain) {
  expect({Status::ok, Status::ok, Status::bad_version, Status::ok, Status::ok, Status::no_node},
         true, kLook + kDelete + kLook + kDelete);
}

TEST_F(Evict, ConnectionLostDuringLook_IsRepeated) {
  expect({Status::ok, Status::unknown, Status::ok, Status::ok, Status::ok}, true,
         kLook + kLook + kDelete);
}

// The server of the second session can lag behind.
TEST_F(Evict, LookInTwoSessions_IsRepeated) {
  script_->add(Status::ok);
  script_->last().session = {8};
  expect({Status::ok, Status::ok, Status::ok, Status::ok}, true, kLook + kLook + kDelete);
}

TEST_F(Evict, NoPermission_Throws) {
  for (const Status status : {Status::ok, Status::ok, Status::no_auth}) script_->add(status);
  try {
    (void)evict(*client_, "/a", contender_);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::no_auth);
  }
}

/// Passes all calls on, and retains the first event handler of every path.
class Eavesdropper final : public ScriptedCoordinator {
 public:
  explicit Eavesdropper(SimCoordinator& port) : port_(port) {}
  void start(client::SessionObserver& observer) override { port_.start(observer); }
  client::RequestId submit(client::Request request, client::ReplyHandler handler) override {
    if (const auto* watch = std::get_if<client::request::GetAndWatch>(&request.operation)) {
      first_handlers.try_emplace(watch->path, watch->on_event);
    }
    return port_.submit(std::move(request), std::move(handler));
  }
  void unwatch(client::RequestId watch) noexcept override { port_.unwatch(watch); }
  void close() override { port_.close(); }

  std::map<std::string, client::request::OnWatchEvent> first_handlers;

 private:
  SimCoordinator& port_;
};

TEST(PathLockLateEvents, WatchRemoved_LateEventIsIgnored) {
  using client::request::WatchEvent;
  World world;
  SimEnsemble& ensemble = world.ensemble();
  const auto port = std::make_shared<Eavesdropper>(world.client(0));
  const auto core =
      detail::ClientCore::make({.coordinator = port,
                                .scheduler = {std::shared_ptr<void>(), &world.scheduler(0)},
                                .dispatcher = std::make_shared<NoThreads>(),
                                .loss_dispatcher = std::make_shared<NoThreads>()},
                               {.hosts = "sim", .application = "test", .host = "host"});
  ensemble.create_container("/lock");
  std::vector<std::string> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back("/lock/" + *ensemble.create_sequential("/lock", "permits-1-of-3-"));
  }
  detail::PendingAcquire::start(core->path_lock(core::LockPath("/lock")),
                                {.owner = Owner::unique(),
                                 .rule = core::QueueRule::permits(2, 3, false),
                                 .time_limit = detail::TimeLimit::endless(),
                                 .done = [](const detail::AcquireOutcome&) {}},
                                {});
  world.run_all();
  ASSERT_EQ(world.client(0).live_interests(), 2U) << "the two nearest";
  ASSERT_EQ(ensemble.remove(others[2]), Status::ok);
  world.run_all();
  ASSERT_EQ(world.client(0).live_interests(), 2U) << "the middle one for the second time";

  world.client(0).reset_counts();
  port->first_handlers.at(others[1])(world.client(0).session(), WatchEvent::changed);
  port->first_handlers.at(others[2])(world.client(0).session(), WatchEvent::deleted);
  EXPECT_EQ(world.client(0).requests(), 0U);
  EXPECT_EQ(world.client(0).live_interests(), 2U);
  core->close();
}

}  // namespace
}  // namespace zklock::model
