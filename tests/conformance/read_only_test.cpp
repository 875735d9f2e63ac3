// SPDX-License-Identifier: Apache-2.0
// A server without a quorum in read-only mode refuses clients that need to write.
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "zklock/testing/test_ensemble.h"

namespace zklock::testing {
namespace {

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
