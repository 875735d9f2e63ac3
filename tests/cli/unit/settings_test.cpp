// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/settings.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/outer_locks.h"
#include "zklock/cli/run_options.h"

namespace zklock::cli {
namespace {

/// Returns the failure of a check, or one with the exit code 0.
Failure failure_of(const std::function<void()>& check) {
  try {
    check();
    return {0, ""};
  } catch (const Failure& failure) {
    return failure;
  }
}

/// A folder for files, and an environment without the variables of zklock.
class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() {
    std::string name = ::testing::TempDir() + "zklock-settings.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    for (const char* const each :
         {"ZKLOCK_HOSTS", "ZKLOCK_CONFIG", "ZKLOCK_DIGEST_FILE", "ZKLOCK_SESSION_TIMEOUT"}) {
      ::unsetenv(each);
    }
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  }
  ~SettingsTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    std::string file = folder_ + '/' + name;
    std::ofstream(file) << text;
    ::chmod(file.c_str(), mode);
    return file;
  }
  static int code_of(const SettingTexts& options) {
    return failure_of([&] { (void)read_settings({}, options); }).exit_code();
  }

  std::string folder_;
};

TEST_F(SettingsTest, FlagBeatsVariableBeatsFile) {
  write("zklock.conf", "# servers\n hosts = file:1 # here\nsession-timeout=40s\n");
  SettingTexts options;
  EXPECT_EQ(read_settings({}, options).client.hosts, "file:1");
  EXPECT_EQ(read_settings({}, options).session_timeout, std::chrono::seconds(40));
  ::setenv("ZKLOCK_HOSTS", "variable:1", 1);
  ::setenv("ZKLOCK_SESSION_TIMEOUT", "20s", 1);
  EXPECT_EQ(read_settings({}, options).client.hosts, "variable:1");
  EXPECT_EQ(read_settings({}, options).session_timeout, std::chrono::seconds(20));
  options["hosts"] = "flag:1";
  EXPECT_EQ(read_settings({}, options).client.hosts, "flag:1");
}

TEST_F(SettingsTest, WrongFile_IsRefusedWithItsLine) {
  SettingTexts options;
  options["config"] = write("a.conf", "hosts=h:1\n\nhost=x\n");
  const Failure failure = failure_of([&] { (void)read_settings({}, options); });
  EXPECT_EQ(failure.exit_code(), ExitCode::kConfiguration);
  EXPECT_EQ(failure.what(), options["config"] + ":3: unknown key \"host\"");
  options["config"] = folder_ + "/missing";
  EXPECT_EQ(code_of(options), ExitCode::kConfiguration);
}

TEST_F(SettingsTest, ReadableSecret_IsRefused) {
  SettingTexts options;
  options["hosts"] = "h:1";
  options["digest-file"] = write("digest", "user:pass:word\n");
  const auto digest = read_settings({}, options).client.digest;
  ASSERT_TRUE(digest);
  EXPECT_EQ(digest->user, "user");
  EXPECT_EQ(digest->password, "pass:word");
  for (const mode_t mode : {0640U, 0604U, 0610U}) {
    options["digest-file"] = write("digest", "user:password\n", mode);
    EXPECT_EQ(code_of(options), ExitCode::kConfiguration) << mode;
  }
  options["digest-file"] = folder_;
  EXPECT_EQ(code_of(options), ExitCode::kConfiguration);
  options["digest-file"] = write("empty", "");
  EXPECT_EQ(code_of(options), ExitCode::kConfiguration);
}

TEST_F(SettingsTest, BlanksAroundTheDigest_AreDropped) {
  SettingTexts options;
  options["hosts"] = "h:1";
  for (const char* const text :
       {"user:pass word\r\n", "user:pass word \t\n", " user:pass word\r"}) {
    options["digest-file"] = write("digest", text);
    const auto digest = read_settings({}, options).client.digest;
    ASSERT_TRUE(digest);
    EXPECT_EQ(digest->user, "user") << text;
    EXPECT_EQ(digest->password, "pass word") << text;
  }
}

TEST(OuterLocks, NestedRun_IsRefused) {
  const std::string outer = held_with("", 812, "b:2,a:1/c", "/x");
  EXPECT_EQ(outer, "812 a:1,b:2/c/x");
  EXPECT_NO_THROW((void)held_with(outer, 813, "a:1,b:2/c", "/y"));
  const std::string both = held_with(outer, 813, "a:1,b:2/c", "/y");
  for (const char* const path : {"/x", "/y"}) {
    EXPECT_THROW((void)held_with(both, 814, "a:1,b:2/c", path), Failure) << path;
  }
  EXPECT_NO_THROW((void)held_with(both, 814, "a:1,b:2", "/x"));
}

TEST(RunOptions, Signal_IsANameOrANumber) {
  EXPECT_EQ(parse_signal("TERM"), SIGTERM);
  EXPECT_EQ(parse_signal("SIGINT"), SIGINT);
  EXPECT_EQ(parse_signal("9"), SIGKILL);
  EXPECT_THROW((void)parse_signal("term"), Failure);
  EXPECT_THROW((void)parse_signal("0"), Failure);
}

Failure failure_of_permits(const std::string& text) {
  LockChoice lock;
  return failure_of([&] { read_permits(text, lock); });
}

TEST(RunOptions, PermitsOfAnyForm_AreChecked) {
  for (const char* const text : {"1/4", "4/4", "2/shared"}) {
    EXPECT_EQ(failure_of_permits(text).exit_code(), 0) << text;
  }
  for (const char* const text :
       {"0/4", "5/4", "4", "/4", "4/", "a/b", "1/2/3", "-1/2", "/shared"}) {
    EXPECT_EQ(failure_of_permits(text).exit_code(), ExitCode::kUsage) << text;
  }
}

TEST(RunOptions, TooManyPermits_LimitIsNamed) {
  EXPECT_EQ(failure_of_permits("1/1000000").exit_code(), 0);
  for (const std::string text : {"1/1000001", "1/10000000", "1000001/shared"}) {
    EXPECT_STREQ(
        failure_of_permits(text).what(),
        ("-k \"" + text + "\" is not valid: write K/N with 1 <= K <= N <= 1000000, or K/shared")
            .c_str());
  }
}

TEST(RunOptions, OptionsThatExcludeEachOther_AreRefused) {
  Invocation invocation;
  invocation.settings.client.hosts = "h:1";
  invocation.program = {"true"};
  const auto code_of = [&](RunOptions options) {
    options.path = "/x";
    return failure_of([&] { check_options(options, invocation); }).exit_code();
  };
  EXPECT_EQ(code_of({}), 0);
  EXPECT_EQ(code_of({.lock = {.shared = true, .permits = 1}}), ExitCode::kUsage);
  EXPECT_EQ(code_of({.lock = {.shared = true, .weight = 3}}), ExitCode::kUsage);
  EXPECT_EQ(code_of({.nonblock = true, .wait = std::chrono::seconds(1)}), ExitCode::kUsage);
  EXPECT_EQ(code_of({.shell_command = "true"}), ExitCode::kUsage);
}

TEST(Program, MissingAndUnusable_HaveTheirCodes) {
  const auto code = [](const std::string& name) {
    return failure_of([&] { (void)find_program(name); }).exit_code();
  };
  EXPECT_EQ(code("sh"), 0);
  EXPECT_EQ(code("/bin/sh"), 0);
  EXPECT_EQ(code("frobnicate"), ExitCode::kNotFound);
  EXPECT_EQ(code("/bin/frobnicate"), ExitCode::kNotFound);
  EXPECT_EQ(code("/etc/passwd"), ExitCode::kNotExecutable);
  EXPECT_EQ(code("/tmp"), ExitCode::kNotExecutable);
  EXPECT_EQ(code(""), ExitCode::kNotFound);
}

}  // namespace
}  // namespace zklock::cli
