// SPDX-License-Identifier: Apache-2.0
// A client whose server has lost the quorum. The connection stays up and pings are answered, while
// another client can be granted the lock. The old hold must be lost before that grant. A server in
// read-only mode refuses clients that need to write.
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "zklock/testing/test_ensemble.h"

namespace zklock::testing {
namespace {

// The server notices the loss of its peers only long after every session timeout of this test.
const std::string kSyncLimit = "syncLimit=60";

// Member 0 is isolated. It is a follower, and the others continue.
class Isolation : public ::testing::Test {
 protected:
  static TestServerOptions patient() {
    TestServerOptions patient;
    patient.extra_config = {kSyncLimit};
    return patient;
  }
  static std::unique_ptr<Client> connect(const std::string& hosts) {
    ClientOptions options;
    options.hosts = hosts;
    options.session_timeout = 6s;
    auto client = std::make_unique<Client>(options);
    EXPECT_TRUE(client->wait_until_connected(kTestTimeout));
    return client;
  }
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

class QuorumLost : public ::testing::Test {
 protected:
  QuorumLost() : ensemble_({.extra_jvm_flags = {"-Dreadonlymode.enabled=true"}}) {
    ensemble_.start();
    EXPECT_TRUE(ensemble_.wait_until_serving(kTestTimeout)) << ensemble_.log();
  }

  std::unique_ptr<Client> client() const { return client(ensemble_.hosts()); }
  static std::unique_ptr<Client> client(const std::string& hosts) {
    ClientOptions options;
    options.hosts = hosts;
    options.session_timeout = 6s;
    return std::make_unique<Client>(options);
  }

  TestEnsemble ensemble_;
};

TEST_F(QuorumLost, ServerBecomesReadOnly_HoldEndsAndNoneIsGranted) {
  const auto holder = client();
  const auto other = client();
  ASSERT_TRUE(holder->wait_until_connected(kTestTimeout));
  ASSERT_TRUE(other->wait_until_connected(kTestTimeout));
  ReentrantMutex mutex(*holder, kPath);
  ReentrantMutex others_mutex(*other, kPath);
  const Hold hold = mutex.acquire({.deadline = kTestTimeout});
  ASSERT_TRUE(static_cast<bool>(hold));
  Chronicle<std::string> losses;
  const std::stop_callback on_loss(hold.loss_token(), [&] { losses.add("lost"); });
  auto waiting = others_mutex.async_acquire();
  ASSERT_TRUE(eventually([&] { return mutex.participants().size() == 2; }, kTestTimeout));

  ensemble_[1].kill();
  ensemble_[2].kill();
  ASSERT_TRUE(eventually([&] { return ensemble_[0].mode() == "read-only"; }, kTestTimeout))
      << ensemble_.log();
  EXPECT_TRUE(losses.has("lost"));
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_FALSE(is_ready(waiting));

  const auto late = client();
  ReentrantMutex late_mutex(*late, kPath);
  const auto deadline = LeaseClock::now() + 3s;
  const std::string text =
      error_text_of([&] { return late_mutex.acquire({.deadline = deadline}); });
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_EQ(text.rfind("lock /lock: ", 0), 0U) << text;
  EXPECT_NE(text.find("[not_connected]"), std::string::npos) << text;
  EXPECT_EQ(error_of([&] { return late_mutex.participants(1s); }), Errc::not_connected);
  EXPECT_EQ(late->health().state, HealthState::degraded);
  // A client that knows only the read-only server learns why it is refused.
  const auto at_read_only = client(ensemble_[0].hosts());
  EXPECT_FALSE(at_read_only->wait_until_connected(2s));
  ReentrantMutex refused(*at_read_only, kPath);
  const std::string cause = error_text_of([&] { return refused.acquire({.deadline = 1s}); });
  EXPECT_NE(cause.find(ensemble_[0].hosts() + " closed the connection; check its quorum"),
            std::string::npos)
      << cause;
  EXPECT_FALSE(is_ready(waiting));
  EXPECT_EQ(ensemble_[0].mode(), "read-only");

  ensemble_[1].start();
  ensemble_[2].start();
  EXPECT_GT(get(waiting).token(), hold.token());
  EXPECT_TRUE(static_cast<bool>(late_mutex.acquire({.deadline = kTestTimeout})));
  EXPECT_EQ(losses.size(), 1U);
}

}  // namespace
}  // namespace zklock::testing
