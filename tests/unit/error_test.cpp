// SPDX-License-Identifier: Apache-2.0
#include "zklock/error.h"

#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace zklock {
namespace {

constexpr int kFirstCode = static_cast<int>(Errc::invalid_path);
constexpr int kLastCode = static_cast<int>(Errc::bad_data);

TEST(Error, AllParts_FormOneSentence) {
  const Error error(Errc::not_connected, "lock", "/locks/a", "no server within 2000 ms");
  EXPECT_STREQ(error.what(), "lock /locks/a: no server within 2000 ms [not_connected]");
  EXPECT_EQ(error.path(), "/locks/a");
  EXPECT_EQ(error.errc(), Errc::not_connected);
}

TEST(Error, MissingParts_AreLeftOut) {
  EXPECT_STREQ(Error(Errc::closed, "flush", "", "the client was closed").what(),
               "flush: the client was closed [closed]");
  EXPECT_STREQ(Error(Errc::closed, "", "/a", "deleted").what(), "/a: deleted [closed]");
  EXPECT_STREQ(Error(Errc::closed, "", "", "deleted").what(), "deleted [closed]");
  EXPECT_EQ(Error(Errc::session_expired, "lock", "/a").what(),
            "lock /a: " + make_error_code(Errc::session_expired).message() + " [session_expired]");
}

TEST(Error, ControlCharacters_AreReplaced) {
  const Error error(Errc::invalid_option, "lock", "/a\x1b[2J\n", "not \xff\xc2\x9b");
  EXPECT_STREQ(error.what(), "lock /a?[2J?: not ?? [invalid_option]");
  EXPECT_EQ(error.path(), "/a?[2J?");
}

// An exception that throws while it is copied ends the program.
static_assert(std::is_nothrow_copy_constructible_v<Error> &&
              std::is_nothrow_copy_assignable_v<Error>);

TEST(Error, CopiesAndSource_HaveTheSameText) {
  Error first(Errc::closed, "flush", "/a", "deleted");
  const Error copy = first;
  const Error moved = std::move(first);  // NOLINT(performance-move-const-arg)
  EXPECT_STREQ(copy.what(), "flush /a: deleted [closed]");
  EXPECT_STREQ(moved.what(), copy.what());
  EXPECT_STREQ(first.what(), copy.what());  // NOLINT(bugprone-use-after-move): a move is a copy
  first = Error(Errc::forked, "lock", "/b", "other");
  EXPECT_STREQ(first.what(), "lock /b: other [forked]");
  EXPECT_EQ(first.path(), "/b");
  EXPECT_EQ(first.errc(), Errc::forked);
  EXPECT_EQ(copy.path(), "/a");
}

TEST(Error, ErrorNumbers_AreStable) {
  EXPECT_EQ(static_cast<int>(Errc::invalid_path), 1);
  EXPECT_EQ(static_cast<int>(Errc::lock_lost), 7);
  EXPECT_EQ(static_cast<int>(Errc::no_auth), 11);
  EXPECT_EQ(static_cast<int>(Errc::sequence_exhausted), 16);
  EXPECT_EQ(static_cast<int>(Errc::would_deadlock), 22);
  EXPECT_EQ(static_cast<int>(Errc::settings_mismatch), 23);
  EXPECT_EQ(static_cast<int>(Errc::outcome_unknown), 29);
  EXPECT_EQ(static_cast<int>(Errc::bad_data), 30);
}

TEST(Error, EveryCode_HasItsOwnMessage) {
  EXPECT_EQ(error_category().message(0), "unknown error");
  EXPECT_EQ(error_category().message(kLastCode + 1), "unknown error");
  std::set<std::string> messages;
  for (int code = kFirstCode; code <= kLastCode; ++code) {
    const std::string message = error_category().message(code);
    EXPECT_NE(message, error_category().message(0)) << code;
    EXPECT_TRUE(messages.insert(message).second) << message;
    EXPECT_NE(message.back(), '.') << message;
  }
}

TEST(Error, ErrorCode_ComparesWithErrc) {
  EXPECT_STREQ(error_category().name(), "zklock");
  const std::error_code code = Errc::no_auth;
  EXPECT_EQ(code, Errc::no_auth);
  EXPECT_NE(code, std::error_code(11, std::generic_category()));
  try {
    throw Error(Errc::no_auth, "lock", "/a");
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), Errc::no_auth);
  }
}

}  // namespace
}  // namespace zklock
