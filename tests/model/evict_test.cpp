// SPDX-License-Identifier: Apache-2.0
// evict(), with ports that reply as the test specifies.
#include "zklock/evict.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "tests/model/manual_time.h"
#include "tests/model/scripted_coordinator.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using core::Status;

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
    replies_.push_back(std::move(reply));
  }
  /// Replies to the check and to the get of the contender's znode, in these sessions.
  void add_znode(std::int64_t checked_in = 9, std::int64_t read_in = 9) {
    add(Status::ok);
    replies_.back().session = {checked_in};
    add(Status::ok);
    replies_.back().session = {read_in};
    replies_.back().token = {.zxid = 7};
    replies_.back().ephemeral_owner = {3};
    replies_.back().version = 5;
  }
  const std::string& requests() const noexcept { return requests_; }

 private:
  std::deque<client::Reply> replies_;
  std::string requests_;
};

class Evict : public ::testing::Test {
 protected:
  Evict() {
    client_ = make_client(script_, time_);
    contender_.node = "lock-0000000001";
    contender_.token = {.zxid = 7};
    contender_.session_id = 3;
  }
  bool evicts() { return evict(*client_, "/a", contender_); }

  const std::shared_ptr<ManualTime> time_ = std::make_shared<ManualTime>();
  const std::shared_ptr<Script> script_ = std::make_shared<Script>();
  std::unique_ptr<Client> client_;
  Participant contender_;
};

const std::string kLook = "check\nget\n";
const std::string kDelete = "delete /a/lock-0000000001 version 5 in session 9 now\n";

TEST_F(Evict, Znode_ItsVersionIsDeleted) {
  script_->add_znode();
  script_->add(Status::ok);
  EXPECT_TRUE(evicts());
  EXPECT_EQ(script_->requests(), kLook + kDelete);
}

TEST_F(Evict, LostReply_LooksBeforeAnotherDelete) {
  script_->add_znode();
  script_->add(Status::unknown);
  script_->add(Status::no_node);
  script_->add(Status::no_node);
  EXPECT_TRUE(evicts());
  EXPECT_EQ(script_->requests(), kLook + kDelete + kLook);
}

TEST_F(Evict, WrittenMeanwhile_LooksAgain) {
  script_->add_znode();
  script_->add(Status::bad_version);
  script_->add_znode();
  script_->add(Status::no_node);
  EXPECT_TRUE(evicts());
  EXPECT_EQ(script_->requests(), kLook + kDelete + kLook + kDelete);
}

TEST_F(Evict, AnotherZnodeOfThatName_IsKept) {
  script_->add_znode();
  contender_.token.zxid = 8;
  EXPECT_FALSE(evicts());
  EXPECT_EQ(script_->requests(), kLook);
}

TEST_F(Evict, ConnectionLostDuringLook_IsRepeated) {
  script_->add(Status::ok);
  script_->add(Status::unknown);
  script_->add_znode();
  script_->add(Status::ok);
  EXPECT_TRUE(evicts());
  EXPECT_EQ(script_->requests(), kLook + kLook + kDelete);
}

TEST_F(Evict, DeleteNotSent_LooksBeforeAnotherDelete) {
  for (const Status status : {Status::not_sent, Status::session_ended}) {
    script_->add_znode();
    script_->add(status);
    script_->add(Status::no_node);
    script_->add(Status::no_node);
    EXPECT_TRUE(evicts());
  }
  EXPECT_EQ(script_->requests(), kLook + kDelete + kLook + kLook + kDelete + kLook);
}

// The server of the second session can lag behind.
TEST_F(Evict, LookInTwoSessions_IsRepeated) {
  script_->add_znode(8, 9);
  script_->add_znode();
  script_->add(Status::ok);
  EXPECT_TRUE(evicts());
  EXPECT_EQ(script_->requests(), kLook + kLook + kDelete);
}

TEST_F(Evict, NoPermission_Throws) {
  script_->add_znode();
  script_->add(Status::no_auth);
  try {
    (void)evicts();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::no_auth);
  }
}

}  // namespace
}  // namespace zklock::model
