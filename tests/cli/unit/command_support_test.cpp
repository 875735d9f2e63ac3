// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/command_support.h"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include "zklock/cli/run_report.h"
#include "zklock/error.h"

namespace zklock::cli {
namespace {

TEST(ErrorText, ApiNames_AreReplaced) {
  EXPECT_EQ(
      text_of(Error(Errc::not_connected, "acquire", "/x",
                    "a:1 refused the connection; check ClientOptions::hosts and the servers")),
      "a:1 refused the connection; check the hosts and the servers [not_connected]");
  EXPECT_EQ(text_of(Error(Errc::invalid_acl, "", "",
                          "AclPolicy::creator_all() needs ClientOptions::digest")),
            "\"acl = creator-all\" needs a digest file [invalid_acl]");
}

TEST(FailureOf, Exception_HasItsExitCodeAndText) {
  const auto failure = [](const auto& exception) {
    const Failure found = failure_of(std::make_exception_ptr(exception));
    return std::to_string(found.exit_code()) + ' ' + found.what();
  };
  EXPECT_EQ(failure(Failure(ExitCode::kData, "text")), "65 text");
  EXPECT_EQ(failure(Error(Errc::no_auth, "acquire", "/x", "denied")), "77 denied [no_auth]");
  EXPECT_EQ(failure(std::system_error(EAGAIN, std::generic_category(), "thread")),
            "71 thread: Resource temporarily unavailable");
  EXPECT_EQ(failure(std::runtime_error("bug")), "70 bug");
}

TEST(BlockerText, NoHolder_SaysWhy) {
  LockState state;
  LockChoice lock;
  EXPECT_EQ(blocker_text(state, lock), "");
  state.waiting = 3;
  EXPECT_EQ(blocker_text(state, lock), "the last holder has just released; 3 wait");
  state.lock_delay = std::chrono::seconds(4);
  EXPECT_EQ(blocker_text(state, lock), "lock delay of 4 s; 3 wait");
  state.waiting = 0;
  EXPECT_EQ(blocker_text(state, lock), "lock delay of 4 s; none waits");
  state.lock_delay.reset();
  lock.permits = 1;
  state.waiting = 1;
  EXPECT_EQ(blocker_text(state, lock),
            "no permit is held; the stored count may be too low; 1 waits");
}

}  // namespace
}  // namespace zklock::cli
