// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lock_path.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zklock/error.h"

namespace zklock::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the text of the refusal, or "accepted".
std::string refusal(const std::string& path) {
  try {
    const LockPath accepted(path);
    EXPECT_EQ(accepted.str(), path);
    return "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.errc(), Errc::invalid_path);
    return e.what();
  }
}

TEST(LockPath, ValidForZooKeeper_IsAccepted) {
  for (const std::string path :
       {"/a", "/locks/a", "/a b", "/...", "/.a", "/a.", "/..a/b..", "/zookeepers", "/a/zookeeper",
        "/zookeeper2/a", "/ä/€/\xEF\xBF\xAF", "/\xC2\xA0", "/\xED\x9F\xBF", "/\xEF\xA4\x80", "/a~",
        "/lock-0000000001"}) {
    EXPECT_EQ(refusal(path), "accepted") << path;
  }
}

TEST(LockPath, Invalid_ErrorNamesTheCause) {
  EXPECT_EQ(refusal(""), "lock: the path is empty [invalid_path]");
  EXPECT_EQ(refusal("a/b"), "lock a/b: the path does not begin with a slash [invalid_path]");
  EXPECT_EQ(refusal("/"), "lock /: the root cannot be a lock path [invalid_path]");
  EXPECT_EQ(refusal("/a/"), "lock /a/: the path ends with a slash [invalid_path]");
  EXPECT_EQ(refusal("/a\xFFz"), "lock /a?z: the path is not valid UTF-8 [invalid_path]");
  struct Case {
    std::vector<std::string> paths;
    std::string cause;
  };
  for (const auto& [paths, cause] : {
           Case{{"//", "//a", "/a//b"}, "empty component"},
           Case{{"/./a", "/a/."}, "\".\" component"},
           Case{{"/a/../b", "/.."}, "\"..\" component"},
           Case{{"/zookeeper", "/zookeeper/", "/zookeeper/quota/a"}, "reserved"},
           Case{{std::string("/a\0b", 4),
                 "/a\x01"
                 "b",
                 "/a\nb",
                 "/a\x1f"
                 "b",
                 "/a\x7f"
                 "b",
                 "/a\xC2\x80"
                 "b",
                 "/a\xC2\x9F"
                 "b"},
                "lock /a?b: the path has a control character"},
           // U+E000, U+F8FF, U+FFF0, U+FFFF, and U+10000, U+1F600, U+10FFFF, which are surrogates
           // on the servers.
           Case{{"/\xEE\x80\x80", "/\xEF\xA3\xBF", "/\xEF\xBF\xB0", "/\xEF\xBF\xBF",
                 "/\xF0\x90\x80\x80", "/\xF0\x9F\x98\x80", "/\xF4\x8F\xBF\xBF"},
                "a character that ZooKeeper does not allow"},
           Case{{"/\x80", "/\xC3", "/\xC0\xAF", "/\xED\xA0\x80", "/\xFF"}, "not valid UTF-8"},
       }) {
    for (const std::string& path : paths) EXPECT_THAT(refusal(path), HasSubstr(cause));
  }
}

TEST(LockPath, TooLong_IsRefusedWithItsBeginningShown) {
  EXPECT_EQ(refusal("/" + std::string(1023, 'a')), "accepted");
  const std::string text = refusal("/" + std::string(1024, 'a'));
  EXPECT_THAT(text, HasSubstr("longer than 1024 bytes"));
  EXPECT_THAT(text, HasSubstr("/aaaa"));
  EXPECT_THAT(text, Not(HasSubstr(std::string(200, 'a'))));
}

TEST(LockPath, Child_IsAppendedToThePath) {
  EXPECT_EQ(LockPath("/a/b").child("lock-0000000001"), "/a/b/lock-0000000001");
}

TEST(LockPath, DataPath_CanBeRootOrReserved) {
  for (const std::string path : {"/", "/zookeeper", "/zookeeper/config", "/a"}) {
    EXPECT_NO_THROW(check_path("set", path)) << path;
  }
  for (const std::string path : {"", "a", "/a/", "/a//b", "/.", "/a/../b", "/\n", "/\xFF"}) {
    EXPECT_THROW(check_path("set", path), Error) << path;
  }
  try {
    check_path("set", "/a\n/");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::StartsWith("set /a"));
    EXPECT_THAT(e.what(), HasSubstr("control character"));
  }
}

}  // namespace
}  // namespace zklock::core
