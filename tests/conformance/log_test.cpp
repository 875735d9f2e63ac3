// SPDX-License-Identifier: Apache-2.0
// The lines that zklock writes to the user's logger, or to stderr.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/log_capture.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class Log : public LockTest {
 protected:
  const LogCapture log_;
  ClientOptions logged() const {
    ClientOptions logged = options();
    logged.logger = log_.logger();
    return logged;
  }
};

TEST_F(Log, GrantedSessionTimeoutDiffers_IsLoggedAsAWarning) {
  ClientOptions long_session = logged();
  long_session.session_timeout = std::chrono::hours(1);
  const auto client = connect(long_session);
  ASSERT_LT(client->session_timeout(), long_session.session_timeout);
  const std::string granted = std::to_string(client->session_timeout().count());
  const std::string warning =
      "the server granted a timeout of " + granted + " ms, not 3600000 ms; a crashed holder's lock";
  EXPECT_TRUE(eventually([&] { return log_.contains(warning); }, kTestTimeout)) << log_.text();
  expire_session(chroot_.hosts(), client->session_id());
  ReentrantMutex mutex(*client, kPath);
  EXPECT_TRUE(static_cast<bool>(mutex.acquire({.deadline = kTestTimeout})));
  client->close();  // all lines are written before it returns
  const std::string text = log_.text();
  EXPECT_EQ(text.find(warning), text.rfind(warning)) << "once, until it changes";
}

TEST_F(Log, LoggerOfTheUser_ReceivesTheLinesOfTheCClient) {
  const auto client = connect(logged());
  // The C client logs this text for an established connection.
  EXPECT_TRUE(eventually([this] { return log_.contains("session establishment complete"); }))
      << log_.text();
}

TEST_F(Log, NoLoggerAndNoSink_WarningGoesToStderr) {
  ::testing::internal::CaptureStderr();
  const auto client = connect();
  {
    ReentrantMutex mutex(*client, kPath);
    mutex.lock();
  }
  client->close();  // the lines are written before it returns
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("zklock: lock " + kPath + ": the mutex is destroyed while locked\n"),
            std::string::npos)
      << text;
}

TEST_F(Log, SinkThatDoesNothing_SilencesTheLog) {
  ::testing::internal::CaptureStderr();
  ClientOptions silent = options();
  silent.log_sink = [](LogLevel, std::string_view) {};
  const auto client = connect(silent);
  {
    ReentrantMutex mutex(*client, kPath);
    mutex.lock();
  }
  client->close();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace zklock::testing
