// SPDX-License-Identifier: Apache-2.0
// The servers limit the session timeout. Leases follow the timeout that they granted.
#include <algorithm>
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class SessionTimeout : public OwnServerTest {
 protected:
  explicit SessionTimeout(const TestServerOptions& server) : OwnServerTest(server) {}

  std::unique_ptr<Client> client_with(std::chrono::milliseconds timeout) const {
    ClientOptions settings = options();
    settings.session_timeout = timeout;
    return connect(settings);
  }

  // Expects a lease of two thirds of `granted` at most. It begins when a request is sent, so on a
  // busy machine a single one may be short.
  static void expect_lease_of(Client& client, std::chrono::milliseconds granted) {
    EXPECT_EQ(client.session_timeout(), granted);
    ReentrantMutex mutex(client, kPath);
    LeaseClock::duration longest{};
    for (int i = 0; i < 20; ++i) {
      const Hold hold = mutex.acquire();
      ASSERT_TRUE(static_cast<bool>(hold));
      const auto until = hold.valid_until();
      const auto now = LeaseClock::now();
      if (until > now) longest = std::max(longest, until - now);
    }
    EXPECT_LE(longest, LeaseClock::duration(granted) * 2 / 3);
    EXPECT_GE(longest, granted / 4);
  }
};

// tickTime is 2 s by default, minSessionTimeout two ticks, and maxSessionTimeout 20.
class DefaultTimeouts : public SessionTimeout {
 protected:
  DefaultTimeouts()
      : SessionTimeout({.tick_time = 2s,
                        .min_session_timeout = std::chrono::milliseconds(-1),
                        .max_session_timeout = std::chrono::milliseconds(-1)}) {}
};

TEST_F(DefaultTimeouts, OutsideOfTheLimits_AreClamped) {
  expect_lease_of(*client_with(1s), 4s);
  expect_lease_of(*client_with(4s), 4s);
  expect_lease_of(*client_with(40s), 40s);
  expect_lease_of(*client_with(1h), 40s);
}

class WideTimeouts : public SessionTimeout {
 protected:
  WideTimeouts()
      : SessionTimeout(
            {.tick_time = 100ms, .min_session_timeout = 200ms, .max_session_timeout = 5h}) {}
};

TEST_F(WideTimeouts, FifthOfASecondAndAnHour_AreGranted) {
  expect_lease_of(*client_with(200ms), 200ms);
  expect_lease_of(*client_with(1h), 1h);
}

}  // namespace
}  // namespace zklock::testing
