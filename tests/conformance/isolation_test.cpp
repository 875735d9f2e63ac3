// SPDX-License-Identifier: Apache-2.0
// A client whose server has lost the quorum. The connection stays up and pings are answered, while
// another client can be granted the lock. The old hold must be lost before that grant.
#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "zklock/testing/test_ensemble.h"

namespace zklock::testing {
namespace {

// The server notices the loss of its peers only long after every session timeout of this test.
const std::string kSyncLimit = "syncLimit=60";

class IsolationTest : public ::testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kTimeout{6000};

  static TestServerOptions patient() {
    TestServerOptions patient;
    patient.extra_config = {kSyncLimit};
    return patient;
  }

  std::unique_ptr<Client> connect(const std::string& hosts) const {
    ClientOptions options;
    options.hosts = hosts;
    options.session_timeout = kTimeout;
    auto client = std::make_unique<Client>(options);
    EXPECT_TRUE(client->wait_until_connected(kTestTimeout));
    return client;
  }
};

// Member 0 is isolated. It is a follower, and the others continue.
class Isolation : public IsolationTest {
 protected:
  void SetUp() override {
    // Members 1 and 2 elect a leader before member 0 starts, so member 0 is a follower.
    for (const std::size_t member : {1U, 2U}) members_[member].start();
    ASSERT_TRUE(members_.wait_until_serving(kTestTimeout)) << members_.log();
    members_[0].start();
    ASSERT_TRUE(members_.wait_until_serving(kTestTimeout)) << members_.log();
    ASSERT_EQ(members_[0].mode(), "follower");
  }

  void cut() { members_.isolate(0); }
  void mend() { members_.rejoin(); }
  std::string majority() const { return members_[1].hosts() + "," + members_[2].hosts(); }

  TestEnsemble members_{patient(), 3, TestEnsemble::Links::cuttable};
};

TEST_F(Isolation, HolderIsIsolated_HoldIsLostBeforeTheNextGrant) {
  const auto isolated = connect(members_[0].hosts());
  const auto other = connect(majority());
  ReentrantMutex mutex(*isolated, kPath);
  ReentrantMutex others_mutex(*other, kPath);
  Chronicle<std::string> events;
  RawClient reader(members_[0].hosts(), {.session_timeout = 20s});

  Hold hold = mutex.acquire();
  const std::stop_callback on_loss(hold.loss_token(), [&] {
    EXPECT_EQ(hold.state(), HoldState::lost);
    events.add("lost");
  });
  std::promise<FencingToken> granted;
  others_mutex.async_acquire({}, [&](Hold others, const std::exception_ptr&) {
    // Reads the state at the earliest moment at which another holder exists.
    EXPECT_EQ(hold.state(), HoldState::lost);
    events.add("granted");
    granted.set_value(others.token());
  });
  ASSERT_TRUE(eventually([&] { return others_mutex.participants().size() == 2; }, kTestTimeout));
  EXPECT_EQ(hold.state(), HoldState::held);

  cut();
  auto grant = granted.get_future();
  EXPECT_GT(get(grant), hold.token());
  ASSERT_TRUE(events.reaches(2));
  EXPECT_EQ(events.all(), (std::vector<std::string>{"lost", "granted"}));
  // On the isolated server, the znode of the old hold still exists.
  EXPECT_EQ(reader.exists(hold.node()).rc, ZOK);

  mend();
  const auto later = mutex.acquire({.owner = Owner::unique(), .deadline = kTestTimeout});
  EXPECT_TRUE(static_cast<bool>(later));  // the client is usable again
  EXPECT_GT(later.token(), hold.token());
}

TEST_F(Isolation, WaiterIsIsolated_IsNotGranted) {
  const auto isolated = connect(members_[0].hosts());
  const auto other = connect(majority());
  ReentrantMutex mutex(*isolated, kPath);
  ReentrantMutex others_mutex(*other, kPath);
  Hold others_hold = others_mutex.acquire();
  auto waiting = mutex.async_acquire();
  ASSERT_TRUE(eventually([&] { return others_mutex.participants().size() == 2; }, kTestTimeout));
  cut();
  // The majority expires its session, so the next contender is granted.
  ASSERT_TRUE(eventually([&] { return others_mutex.participants().size() == 1; }, kTestTimeout));
  others_hold.release();
  Hold second = others_mutex.acquire({.deadline = kTestTimeout});
  EXPECT_TRUE(static_cast<bool>(second));
  EXPECT_FALSE(is_ready(waiting));
  const FencingToken token = second.token();
  mend();
  ASSERT_TRUE(eventually([&] { return others_mutex.participants().size() == 2; }, kTestTimeout));
  EXPECT_FALSE(is_ready(waiting));
  second.release();
  EXPECT_GT(get(waiting).token(), token);
}

class IsolationWithoutQuorum : public IsolationTest {
 protected:
  IsolationWithoutQuorum() : ensemble_(patient()) {
    ensemble_.start();
    EXPECT_TRUE(ensemble_.wait_until_serving(kTestTimeout)) << ensemble_.log();
  }
  TestEnsemble ensemble_;
};

TEST_F(IsolationWithoutQuorum, QuorumIsLost_HoldIsLostAndNextGrantNeedsAQuorum) {
  const auto followers = ensemble_.followers();
  ASSERT_FALSE(followers.empty());
  const std::size_t follower = followers[0];
  const auto client = connect(ensemble_[follower].hosts());
  const auto other = connect(ensemble_.hosts());
  ReentrantMutex mutex(*client, kPath);
  ReentrantMutex others_mutex(*other, kPath);
  RawClient reader(ensemble_[follower].hosts(), {.session_timeout = 20s});
  Hold hold = mutex.acquire();
  auto waiting = others_mutex.async_acquire();
  ASSERT_TRUE(eventually([&] { return mutex.participants().size() == 2; }, kTestTimeout));

  std::promise<void> lost;
  const std::stop_callback on_loss(hold.loss_token(), [&] { lost.set_value(); });
  for (std::size_t i = 0; i < ensemble_.size(); ++i) {
    if (i != follower) ensemble_[i].pause();
  }
  const auto paused = LeaseClock::now();
  // The end of the lease. On a busy machine the test may notice the loss later.
  auto lease_ends = hold.valid_until();
  ASSERT_TRUE(eventually(
      [&] {
        lease_ends = std::max(lease_ends, hold.valid_until());
        return hold.state() == HoldState::lost;
      },
      kTestTimeout));
  auto loss = lost.get_future();
  get(loss);
  EXPECT_EQ(reader.exists(hold.node()).rc, ZOK) << "its server does not know of it";
  EXPECT_LT(lease_ends, paused + client->session_timeout()) << "when the servers could grant";
  EXPECT_FALSE(is_ready(waiting));

  for (std::size_t i = 0; i < ensemble_.size(); ++i) ensemble_[i].resume();
  EXPECT_GT(get(waiting).token(), hold.token());
}

}  // namespace
}  // namespace zklock::testing
