// SPDX-License-Identifier: Apache-2.0
// The faults of a FakeLink. The znodes of a FakeEnsemble, as an operator or another kind of client
// changes them.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/zklock.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;

ClientOptions options_of_client() {
  ClientOptions options;
  options.session_timeout = 9s;
  options.connection_timeout = 20s;
  return options;
}

/// A client with a hold. T is 9 s, so a lease ends after 6 s.
class FakeLinkTest : public ::testing::Test {
 protected:
  FakeEnsemble ensemble_;
  std::unique_ptr<Client> client_ = ensemble_.client(options_of_client());
  FakeLink link_ = ensemble_.link(*client_);
  Mutex mutex_{*client_, "/locks/job"};
  Hold hold_ = mutex_.acquire();

  Hold acquire(Mutex& mutex) {
    return ensemble_.during([&mutex] { return mutex.acquire(); });
  }
  std::size_t nodes() const { return ensemble_.children("/locks/job").size(); }
};

TEST_F(FakeLinkTest, Cut_ClientNoticesAfterTwoThirdsOfT) {
  link_.cut();
  EXPECT_TRUE(client_->is_connected());
  ensemble_.advance(6s - 1ns);
  EXPECT_TRUE(client_->is_connected());
  ensemble_.advance(1ns);
  EXPECT_FALSE(client_->is_connected());
  EXPECT_EQ(hold_.state(), HoldState::lost);
  const auto session = client_->session_id();
  ensemble_.advance(9s - 1ns);
  EXPECT_EQ(client_->session_id(), session);
  ensemble_.advance(1ns);
  EXPECT_EQ(client_->session_id(), 0);
  ensemble_.advance(2min);
  EXPECT_FALSE(client_->is_connected());
  link_.mend();
  EXPECT_TRUE(client_->is_connected());
}

TEST_F(FakeLinkTest, CutAndMended_HoldStays) {
  link_.cut();
  ensemble_.advance(5s);
  link_.mend();
  ensemble_.advance(2min);
  EXPECT_EQ(hold_.state(), HoldState::held);
}

TEST_F(FakeLinkTest, CutWhileDown_ConnectsAfterMend) {
  link_.refuse();
  link_.cut();
  link_.accept();
  EXPECT_FALSE(client_->is_connected());
  ensemble_.advance(4s);
  EXPECT_FALSE(client_->is_connected());
  link_.mend();
  EXPECT_TRUE(client_->is_connected());
  EXPECT_EQ(hold_.state(), HoldState::held);
}

TEST_F(FakeLinkTest, Refused_ConnectsAfterAccept) {
  link_.refuse();
  EXPECT_FALSE(client_->is_connected());
  EXPECT_EQ(hold_.state(), HoldState::suspended);
  ensemble_.advance(4s);
  EXPECT_FALSE(client_->is_connected());
  link_.accept();
  EXPECT_TRUE(client_->is_connected());
  EXPECT_EQ(hold_.state(), HoldState::held);
}

TEST_F(FakeLinkTest, HoldReleasedWhileRefused_CandidateLeadsSuspended) {
  LeaderLatch latch(*client_, "/locks/job");
  latch.start();
  ensemble_.settle();
  link_.refuse();
  hold_ = {};
  ensemble_.settle();
  EXPECT_TRUE(latch.has_leadership());
  EXPECT_EQ(latch.leadership().state(), HoldState::suspended);
}

TEST_F(FakeLinkTest, LeaderEndsWhileRefused_NextOneWaits) {
  LeaderLatch first(*client_, "/locks/leader");
  LeaderLatch second(*client_, "/locks/leader");
  first.start();
  ensemble_.settle();
  second.start();
  ensemble_.settle();
  link_.refuse();
  first.close();
  ensemble_.settle();
  EXPECT_FALSE(second.has_leadership());
  link_.accept();
  EXPECT_TRUE(second.has_leadership());
}

TEST_F(FakeLinkTest, Refused_TextOfErrorSaysSo) {
  link_.refuse();
  std::string text;
  ensemble_.during([&] {
    try {
      static_cast<void>(mutex_.participants(1s));
    } catch (const Error& error) {
      text = error.what();
    }
    return true;
  });
  EXPECT_NE(text.find("the FakeEnsemble refuses connections"), std::string::npos) << text;
}

TEST_F(FakeLinkTest, ConnectionBreaks_ClientIsBackAtOnce) {
  const auto session = client_->session_id();
  link_.break_connection();
  EXPECT_TRUE(client_->is_connected());
  EXPECT_EQ(client_->session_id(), session);
  EXPECT_EQ(client_->metrics().reconnects, 1U);
}

TEST_F(FakeLinkTest, ServerIsolated_ReadsAreAnsweredWritesWait) {
  link_.isolate_server();
  EXPECT_EQ(ensemble_.during([&] { return mutex_.participants(1s); }).size(), 1U);
  hold_ = {};
  ensemble_.settle();
  EXPECT_EQ(nodes(), 1U);
  link_.rejoin_server();
  EXPECT_EQ(nodes(), 0U);
}

TEST_F(FakeLinkTest, CreateLost_IsSentAgain) {
  hold_ = {};
  ensemble_.settle();
  const auto before = link_.requests(RequestKind::create);
  link_.lose_request(RequestKind::create);
  EXPECT_TRUE((hold_ = acquire(mutex_)));
  EXPECT_GE(link_.requests(RequestKind::create), before + 2);
  EXPECT_EQ(nodes(), 1U);
}

TEST_F(FakeLinkTest, ServerRefusesCreate_AcquireThrows) {
  Mutex other(*client_, "/locks/other");
  link_.fail_next(RequestKind::create, Errc::no_auth);
  try {
    static_cast<void>(acquire(other));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::no_auth);
  }
  EXPECT_TRUE(acquire(other));
}

TEST_F(FakeLinkTest, ErrorOfNoServer_IsRefused) {
  EXPECT_THROW(link_.fail_next(RequestKind::create, Errc::closed), std::invalid_argument);
}

TEST_F(FakeLinkTest, ProcessPausedForLong_HoldIsLostAfterwards) {
  const auto other = ensemble_.client();
  Mutex mutex(*other, "/locks/job");
  auto waiting = mutex.async_acquire();
  link_.pause_process();
  ensemble_.advance(20s);
  EXPECT_EQ(hold_.state(), HoldState::lost);
  const Hold next = waiting.get();
  EXPECT_GT(next.token(), hold_.token());
  link_.resume_process();
  EXPECT_TRUE(client_->is_connected());
  EXPECT_EQ(hold_.state(), HoldState::lost);
}

TEST_F(FakeLinkTest, ProcessPausedBriefly_HoldStays) {
  link_.pause_process();
  ensemble_.advance(5s);
  link_.resume_process();
  ensemble_.advance(1min);
  EXPECT_EQ(hold_.state(), HoldState::held);
}

TEST_F(FakeLinkTest, LinkOfAnotherEnsemble_IsRefused) {
  FakeEnsemble other;
  EXPECT_THROW(static_cast<void>(other.link(*client_)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(other.link(0)), std::out_of_range);
}

TEST(FakeZnodes, Znodes_AreReadAndChanged) {
  FakeEnsemble ensemble;
  EXPECT_TRUE(ensemble.create("/a/b/c", "data"));
  EXPECT_FALSE(ensemble.create("/a/b/c"));
  EXPECT_EQ(ensemble.data("/a/b/c"), "data");
  EXPECT_TRUE(ensemble.set_data("/a/b/c", "more"));
  EXPECT_EQ(ensemble.data("/a/b/c"), "more");
  EXPECT_EQ(ensemble.children("/a/b"), std::vector<std::string>{"c"});
  EXPECT_FALSE(ensemble.remove("/a"));
  EXPECT_TRUE(ensemble.remove("/a/b/c"));
  EXPECT_EQ(ensemble.data("/a/b/c"), std::nullopt);
}

TEST(FakeZnodes, SequentialZnode_HasNextNumber) {
  FakeEnsemble ensemble;
  EXPECT_EQ(ensemble.create_sequential("no-path"), std::nullopt);
  EXPECT_EQ(ensemble.create_sequential("/a/lock-"), std::nullopt);
  EXPECT_EQ(ensemble.create_sequential("/lock-"), "/lock-0000000000");
  EXPECT_TRUE(ensemble.create("/a"));
  EXPECT_EQ(ensemble.create_sequential("/a/lock-", "data"), "/a/lock-0000000000");
  EXPECT_EQ(ensemble.create_sequential("/a/lock-"), "/a/lock-0000000001");
  EXPECT_EQ(ensemble.data("/a/lock-0000000000"), "data");
}

}  // namespace
}  // namespace zklock::testing
