// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/command_support.h"

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace zklock::cli
